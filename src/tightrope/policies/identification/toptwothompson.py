"""TopTwoThompson: name the best of a few variants by sampling the two that may be the best.

When to use it: variants that share no features, above all clicks and other 0/1 rewards; it is the simplest of the rules that are near
the fewest samples possible. Its choices vary while rewards are out, so batches and delays suit it.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for threshold="proven" and rewards in [0, 1]
("bernoulli") or noise that is sub-Gaussian with scale `noise` ("gaussian"). As delta falls, samples approach the fewest possible among
all rules that give the best arm the share leader_share (for epsilon = 0, Gaussian rewards, a best arm and no ties; Shang et al. 2020).
Source: Russo 2020, "Simple Bayesian algorithms for best-arm identification", top-two Thompson sampling; Shang, de Heide, Kaufmann,
Menard, Valko 2020, "Fixed-confidence guarantees for Bayesian best-arm identification", where the challenger is the arm of the least
transportation cost; stopping: Garivier, Kaufmann 2016.
Deviations: a challenger is drawn at most `redraws` times, as Russo does it, and then is that of Shang et al., since a leader that is
almost certain would be drawn again and again; every arm is pulled once first; uniform priors; Z with epsilon.
O(K) a round: 1 to 1 + redraws posterior draws per arm, and a transportation cost per arm.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import integer
from ...core.policy import policy
from ...core.verbs import allowed, evidence
from ...numerics.counts import Counts, count_reward, means, new_counts
from ...numerics.sampling import beta_draw
from ...numerics.selection import count_eligible, first_unpulled
from .chernoff import answer_without_data, decide, hardest_rival
from .stopping import Answer
from .support import chernoff_report
from .top_two import TopTwo, chance_to_lead, chances, top_two_evidence


@policy("arms", paper="Russo 2020", stops=True)
class TopTwoThompson(TopTwo):
    """Draw the best arm from the posterior, or half of the time another that may be it; stop when the data exclude all rivals.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. rewards: their family. noise: standard
    deviation of Gaussian rewards. threshold: of the stop, proven, or the smaller heuristic of the literature. leader_share: how often the
    first of the two is played. redraws: how often a challenger is drawn before it is computed (0: always computed).
    """

    redraws: int = integer(default=10, least=0)

    class State(NamedTuple):
        counts: Counts
        answer: Answer  # (1,) with information, required

    def init(self, arms):
        return self.State(new_counts(arms.number), answer_without_data())

    @jit
    def select(self, state, context, rng):
        counts, eligible = state.counts, context.eligible
        arm = first_unpulled(counts.pulls, eligible)
        if arm >= 0:
            return arm
        leader = best_of_draws(self, counts, eligible, rng)
        if rng.random() < self.leader_share or count_eligible(counts.pulls.shape[0], eligible) == 1:
            return leader
        for _ in range(self.redraws):
            arm = best_of_draws(self, counts, eligible, rng)
            if arm != leader:
                return arm
        return hardest_rival(self, counts, leader, eligible)

    @jit
    def update(self, state, context, action, reward):
        count_reward(state.counts, action, reward)
        if first_unpulled(state.counts.pulls, None) < 0:
            decide(self, state)
        return state

    def propensity(self, state, context, action, rng):
        return float(chances_now(self, state.counts, context.eligible)[action]), 0.0

    def evidence(self, state):
        return top_two_evidence(self, state)

    def explain(self, state, context, rng):
        probability = chances_now(self, state.counts, context.eligible)
        return chernoff_report(self, state, means(state.counts), probability) | evidence(self, state)


@lean
def best_of_draws(policy, counts, eligible, rng):
    """The eligible arm of the largest draw from its posterior."""
    best, top = -1, -math.inf
    for k in range(counts.pulls.shape[0]):
        if allowed(eligible, k):
            n = counts.pulls[k]
            if policy.rewards == 0:
                draw = beta_draw(1.0 + counts.sums[k], 1.0 + (n - counts.sums[k]), rng)
            else:
                draw = counts.sums[k] / n + policy.noise / math.sqrt(n) * rng.standard_normal()
            if draw > top or best < 0:
                best, top = k, draw
    return best


def chances_now(policy: TopTwoThompson, counts: Counts, eligible: np.ndarray | None) -> np.ndarray:
    """(K,) probability of every arm to be played now."""
    return chances(policy, counts, eligible, lambda: chance_to_lead(policy, counts, eligible), policy.redraws)


def example():
    return [TopTwoThompson(epsilon=0.1, delta=0.1), TopTwoThompson(delta=0.1, rewards="gaussian", noise=0.5, threshold="heuristic")]
