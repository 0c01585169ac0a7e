"""TopTwoThompson: name the best of a few variants by sampling the two that may be the best.

When to use it: variants that share no features, above all clicks and other 0/1 rewards; it is the
simplest of the rules that are near the fewest samples possible. Its choices vary while rewards are
out, so batches and delays suit it.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for
threshold="proven" and rewards in [0, 1] ("bernoulli") or noise that is sub-Gaussian with scale
`noise` ("gaussian"). As delta falls, samples approach the fewest possible among all rules that give
the best arm the share leader_share (for epsilon = 0, Gaussian rewards, a best arm and no ties;
Shang et al. 2020).
Source: Russo 2020, "Simple Bayesian algorithms for best-arm identification", top-two Thompson
sampling; Shang, de Heide, Kaufmann, Menard, Valko 2020, "Fixed-confidence guarantees for Bayesian
best-arm identification", where the challenger is the arm of the least transportation cost;
stopping: Garivier, Kaufmann 2016.
Deviations: a challenger is drawn at most `redraws` times, as Russo does it, and then is that of
Shang et al., since a leader that is almost certain would be drawn again and again; every arm is
pulled once first; uniform priors; Z with epsilon.
O(K) a round: 1 to 1 + redraws posterior draws per arm, and a transportation cost per arm.
"""

import math

from ...compiled.kernels import jit, lean
from ...core.fields import integer
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import count_eligible, means, next_untried
from ...numerics.posterior import beta_draw
from .stopping import hardest_rival
from .top_two import TopTwo, chance_to_lead, chances


@policy(
    "arms",
    paper="Russo 2020",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1},
        {"delta": 0.1, "rewards": "gaussian", "noise": 0.5, "threshold": "heuristic"},
    ),
)
class TopTwoThompson(TopTwo):
    """Draw the best arm from the posterior, or half of the time another that may be it; stop when
    the data exclude all rivals.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Probability of a worse one.
    rewards : 'bernoulli' or 'gaussian', default 'bernoulli'
        Their family.
    noise : number in (0, inf), default 1.0
        Standard deviation of Gaussian rewards.
    threshold : 'proven' or 'heuristic', default 'proven'
        Of the stop, proven, or the smaller heuristic of the literature.
    leader_share : number in (0, 1), default 0.5
        How often the first of the two is played.
    redraws : whole number from 0 to inf, default 10
        How often a challenger is drawn before it is computed (0: always computed).
    """

    redraws: int = integer(default=10, least=0)

    @jit
    def select(self, state, context, rng):
        counts, eligible = state.counts, context.eligible
        arm = next_untried(counts, eligible)
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

    def _index(self, counts):
        return means(counts)

    def _chances(self, counts, eligible):
        return chances(
            self, counts, eligible, lambda: chance_to_lead(self, counts, eligible), self.redraws
        )


@lean
def best_of_draws(policy, counts, eligible, rng):
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
