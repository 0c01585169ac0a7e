"""A ledger without estimates: of no arm more is known than that it earns at least the lowest reward. O(K) a round.

The bound of what was earned is the martingale's, which asks nothing of the arms. So this is for rounds whose arms change and where no
linear model is assumed. The baseline's mean must be known.
"""

from typing import NamedTuple

from ...compiled.kernels import jit, lean
from ...core.kinds import Count
from .ledger import Bounds, Ledger, bounds_of_segment, known_slack, martingale_bound, value_of


class TrivialLedger(NamedTuple):
    ledger: Ledger  # (1,)
    bounds: Bounds  # lower is the lowest reward, upper infinite
    open: Count  # (K,) decisions of P by arm

    @lean
    def bound_arms(self, policy, context):
        pass

    @lean
    def index_by_rounds(self, t):
        pass  # nothing is learned of arms

    @lean
    def bound_open(self):
        return 0.0

    @lean
    def bound_totals(self, policy, context, baseline, mean, ahead):
        ledger, total = self.ledger[0], self.bounds.total
        ledger.bound = martingale_bound(policy, ledger)
        for k in range(total.shape[0]):
            total[k] = ledger.bound + ledger.low
        return known_slack(policy, context, ledger, mean, ahead)

    @lean
    def count_decision(self, policy, context, baseline, mean, arm, explored, sign):
        if explored:
            self.open[arm] += sign

    @lean
    def close_decision(self, policy, context, arm):
        self.open[arm] -= 1.0

    @lean
    def learn_reward(self, policy, context, arm, reward):
        pass

    @jit
    def in_segment(self, s):
        return TrivialLedger(self.ledger[s : s + 1], bounds_of_segment(self.bounds, s), self.open[s])

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        ledger = self.ledger[0]
        return ledger.bound + value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
