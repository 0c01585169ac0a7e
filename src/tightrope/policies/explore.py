"""Explore: a floor under every arm's probability, around any policy.

When to use it: decisions are logged so that other policies can be evaluated on them later; without
a floor an arm that the policy never plays says nothing of what it would have earned.
Bound: at most floor times K of the rounds are spent uniformly; the inner policy learns from them
too.
Source: epsilon-mixing as in Strehl, Langford, Li, Kakade 2010, "Learning from logged implicit
exploration data", section 3. A floor under an arm and a guarantee that forbids it exclude each
other: Explore refuses a conservative policy inside it. Put the guarantee outside,
Safe(Explore(policy)); then only the arms that are safe in a round keep the floor.
Per round: the inner policy's cost, plus O(K) with a mask.
"""

from typing import Annotated, NamedTuple

from ..compiled.kernels import jit, lean
from ..core import types
from ..core.fields import StateOf, real
from ..core.policy import Policy, inner_policy, label, policy
from ..core.types import Sampled, draws_of
from ..core.verbs import (
    allowed,
    commit,
    event,
    explain,
    grow,
    inform,
    init,
    merge,
    propensity,
    select,
    update,
    withdraw,
)
from ..numerics.counts import count_eligible, uniform_arm
from .bases import Wrapper


class ExploreState(NamedTuple):
    inner: Annotated[types.State, StateOf("inner")]
    number: int  # K


@policy(
    "arms",
    "features",
    "contexts",
    "points",
    "line",
    paper="Strehl, Langford, Li, Kakade 2010",
    examples=(
        {"inner": {"policy": "UCB"}, "floor": 0.05},
        {"inner": {"policy": "LinTS", "scale": 0.3}, "floor": 0.02},
    ),
)
class Explore(Wrapper):
    """An inner policy's choice, or with probability floor times the number of eligible arms a
    uniform one.

    Parameters
    ----------
    inner : a policy
        Any policy that plays single arms.
    floor : number in [0, 1], default 0.01
        The least probability of every eligible arm, in [0, 1]; floor times the number of arms must
        not exceed 1.
    """

    inner: Policy = inner_policy()
    floor: float = real(default=0.01, least=0, most=1)

    def init(self, arms):
        if self.floor * arms.number > 1.0 + 1e-12:
            most = 1.0 / arms.number
            raise ValueError(
                f"floor = {self.floor:g} is too much for {arms.number} arms; give at most 1 / "
                f"{arms.number} = {most:.4g}."
            )
        if event.answers(self.inner):
            name = label(self.inner)
            raise ValueError(
                f"inner = {name} keeps a guarantee that a floor would break; put it outside: "
                "Safe(Explore(policy), ...)."
            )
        return ExploreState(init(self.inner, arms), arms.number)

    @jit
    def select(self, state, context, rng):
        if rng.random() < share_of_uniform(self, state.number, context.eligible):
            return uniform_arm(state.number, context.eligible, rng)
        return select(self.inner, state.inner, context, rng)

    @jit
    def commit(self, state, context, action):
        return ExploreState(commit(self.inner, state.inner, context, action), state.number)

    @jit
    def withdraw(self, state, context, action):
        return ExploreState(withdraw(self.inner, state.inner, context, action), state.number)

    @jit
    def update(self, state, context, action, reward):
        return ExploreState(update(self.inner, state.inner, context, action, reward), state.number)

    @jit
    def inform(self, state, context, action, reward):
        return ExploreState(inform(self.inner, state.inner, context, action, reward), state.number)

    def propensity(self, state, context, action, rng, draws=None):
        if not allowed(context.eligible, action):
            return 0.0, 0.0
        uniform = share_of_uniform(self, state.number, context.eligible)
        stated = propensity(self.inner, state.inner, context, action, rng, draws)
        p, error = stated
        mixed = (
            uniform / count_eligible(state.number, context.eligible) + (1.0 - uniform) * p,
            (1.0 - uniform) * error,
        )
        behind = draws_of(stated)
        return mixed if behind is None else Sampled(*mixed, behind)

    def grow(self, state, arms):
        return ExploreState(grow(self.inner, state.inner, arms), self.init(arms).number)

    def merge(self, first, second):
        return ExploreState(merge(self.inner, first.inner, second.inner), first.number)

    def explain(self, state, context, rng, draws=None):
        inner = explain(self.inner, state.inner, context, rng, draws)
        uniform, number = (
            share_of_uniform(self, state.number, context.eligible),
            count_eligible(state.number, context.eligible),
        )
        floor = (
            uniform / number if context.eligible is None else uniform / number * context.eligible
        )
        own = {
            "probability": floor + (1.0 - uniform) * inner["probability"],
            "uniform": float(uniform),
        }
        if "probability_se" in inner:
            own["probability_se"] = (1.0 - uniform) * inner["probability_se"]
        return inner | own


@lean
def share_of_uniform(policy, number, eligible):
    return min(policy.floor * count_eligible(number, eligible), 1.0)
