"""LinGapE: name an epsilon-best arm of a linear bandit with few samples.

When to use it: an experiment that should end as soon as the winner is known, arms with shared
features (factorial variants).
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta (Theorem 1),
for noise that is sub-Gaussian with scale `noise` and ||theta|| <= theta_bound.
Source: Xu, Honda, Sugiyama 2018, "A fully adaptive algorithm for pure exploration in linear
bandits", Algorithms 1-2, Eqs 3, 8-12.
Deviations: `union=False` drops K^2 from Eq 3 (Theorem 1 holds without it: Proposition 2 covers all
directions at once, by the norm of A); `batch_growth` > 0 decides again only when the number of
samples grew by that factor.
O(K d + d^2) a round; a new leader O(K d^2); rule="ratio" solves an LP of O(K d^2) the first time a
pair appears.
"""

from typing import Literal, NamedTuple

from ...compiled.kernels import jit, lean
from ...core.fields import Given, choice, real
from ...core.policy import policy
from ...numerics.counts import one_hot
from .models import GapRidge, checked_features, coordinates, learn, new_gap_ridge
from .sampling import Greedy, Ratio, compare, new_rule, next_arm
from .stopping import Answer, GapStop, decide_by_gaps, gap_report, new_answer


@policy(
    "features",
    paper="Xu, Honda, Sugiyama 2018, Algorithm 1",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.3},
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.3, "rule": "ratio"},
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.3, "batch_growth": 0.1, "union": False},
    ),
)
class LinGapE(GapStop):
    """Compare the apparent best arm with its most ambiguous rival, sample what tells them apart,
    stop when nothing is left open.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Probability of a worse one.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    noise : number in (0, inf), default 1.0
        Sub-Gaussian scale of the rewards.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||.
    union : True or False, default True
        The paper's K^2 in the radius (False: 10-15 % fewer samples, same guarantee).
    rule : 'greedy' or 'ratio', default 'greedy'
        Which arm to sample, Eq 9 or Eq 12.
    batch_growth : number in [0, inf), default 0.0
        Decide again after so much growth; 0 = always.
    """

    rule: Given[Literal["greedy", "ratio"], int] = choice("greedy", "ratio", default="greedy")
    batch_growth: float = real(default=0.0, least=0)

    class State(NamedTuple):
        model: GapRidge
        rule: Greedy | Ratio
        answer: Answer  # (1,) with `next_decision`, the round when it is due

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "LinGapE"), self.lam)
        return self.State(
            new_gap_ridge(start), new_rule(start.features, self.rule), new_answer(next_decision=0.0)
        )

    @jit
    def select(self, state, context, rng):
        return next_arm(state.rule, state.model, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn_and_decide(self, state, action, reward)
        return state

    def explain(self, state, context, rng):
        scores = state.rule.scores
        probability = one_hot(self.select(state, context, rng), scores.size)
        name = "design" if self.rule else "direction_scores"
        return gap_report(self, state, scores, probability) | {name: scores.copy()}


@lean
def learn_and_decide(policy, state, arm, reward):
    """Estimates, then leader, challenger and B (Algorithm 2), then what to sample (Eq 9 or Eqs
    10-11)."""
    model, rule = state.model, state.rule
    learn(model, arm, reward)
    progress, answer = model.progress[0], state.answer[0]
    if progress["unpulled"] > 0.0:
        rule.scores[arm] = 0.0
    elif progress["rounds"] >= answer["next_decision"]:
        decide_by_gaps(policy, state)
        answer["next_decision"] = progress["rounds"] * (1.0 + policy.batch_growth)
        compare(rule, model, answer["leader"], answer["challenger"])
