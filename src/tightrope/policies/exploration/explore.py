"""Explore: a floor under every arm's probability, around any policy.

When to use it: decisions are logged so that other policies can be evaluated on them later; without a floor an arm that the
policy never plays says nothing of what it would have earned.
Bound: at most floor times K of the rounds are spent uniformly; the inner policy learns from them too.
Source: epsilon-mixing as in Strehl, Langford, Li, Kakade 2010, "Learning from logged implicit exploration data", section 3.
A floor under an arm and a guarantee that forbids it exclude each other: Explore refuses a conservative policy inside it. Put the
guarantee outside, Safe(Explore(policy)); then only the arms that are safe in a round keep the floor.
Per round: the inner policy's cost, plus O(K) with a mask.
"""

from typing import NamedTuple

from ... import types
from ..._jit import jit, lean
from ...numerics.selection import count_eligible, uniform_arm
from ...parameters import inner_policy, policy, real
from ...registry import Policy, find, label
from ...verbs import admit, allowed, commit, event, explain, grow, inform, init, merge, propensity, reward_range, select, update, withdraw


@policy("arms", "features", "contexts", "points", "line", paper="Strehl, Langford, Li, Kakade 2010")
class Explore(Policy):
    """An inner policy's choice, or with probability floor times the number of eligible arms a uniform one.

    inner: any policy that plays single arms. floor: the least probability of every eligible arm, in [0, 1]; floor times the
    number of arms must not exceed 1.
    """

    inner: Policy = inner_policy()
    floor: float = real(0.01, least=0, most=1)


class State(NamedTuple):
    inner: types.State  # of the inner policy
    number: int  # K


@init.register(Explore)
def init_explore(policy, arms):
    if policy.floor * arms.number > 1.0 + 1e-12:
        most = 1.0 / arms.number
        raise ValueError(f"floor = {policy.floor:g} is too much for {arms.number} arms; give at most 1 / {arms.number} = {most:.4g}.")
    if event.answers(policy.inner):
        name = label(policy.inner)
        raise ValueError(f"inner = {name} keeps a guarantee that a floor would break; put it outside: Safe(Explore(policy), ...).")
    return State(init(policy.inner, arms), arms.number)


@lean
def share_of_uniform(policy, number, eligible):
    """The probability of a uniform choice this round."""
    return min(policy.floor * count_eligible(number, eligible), 1.0)


@select.register(Explore)
@jit
def select_explore(policy, state, context, rng):
    if rng.random() < share_of_uniform(policy, state.number, context.eligible):
        return uniform_arm(state.number, context.eligible, rng)
    return select(policy.inner, state.inner, context, rng)


@commit.register(Explore)
@jit
def commit_explore(policy, state, context, action):
    return State(commit(policy.inner, state.inner, context, action), state.number)


@withdraw.register(Explore)
@jit
def withdraw_explore(policy, state, context, action):
    return State(withdraw(policy.inner, state.inner, context, action), state.number)


@update.register(Explore)
@jit
def update_explore(policy, state, context, action, reward):
    return State(update(policy.inner, state.inner, context, action, reward), state.number)


@inform.register(Explore)
@jit
def inform_explore(policy, state, context, action, reward):
    return State(inform(policy.inner, state.inner, context, action, reward), state.number)


@admit.register(Explore)
def admit_explore(policy, state, context):
    admit(policy.inner, state.inner, context)


@reward_range.register(Explore)
def reward_range_explore(policy):
    return reward_range(policy.inner)


@propensity.register(Explore)
def propensity_explore(policy, state, context, action, rng):
    if not allowed(context.eligible, action):
        return 0.0, 0.0
    uniform = share_of_uniform(policy, state.number, context.eligible)
    p, error = propensity(policy.inner, state.inner, context, action, rng)
    return uniform / count_eligible(state.number, context.eligible) + (1.0 - uniform) * p, (1.0 - uniform) * error


@grow.register(Explore)
def grow_explore(policy, state, arms):
    return State(grow(policy.inner, state.inner, arms), init_explore(policy, arms).number)


@merge.register(Explore)
def merge_explore(policy, first, second):
    return State(merge(policy.inner, first.inner, second.inner), first.number)


@explain.register(Explore)
def explain_explore(policy, state, context, rng, draws):
    inner = explain(policy.inner, state.inner, context, rng, draws)
    uniform, number = share_of_uniform(policy, state.number, context.eligible), count_eligible(state.number, context.eligible)
    floor = uniform / number if context.eligible is None else uniform / number * context.eligible
    own = {"probability": floor + (1.0 - uniform) * inner["probability"], "uniform": float(uniform)}
    if "probability_se" in inner:
        own["probability_se"] = (1.0 - uniform) * inner["probability_se"]
    return inner | own


def example():
    return [Explore(find("UCB")(), floor=0.05), Explore(find("LinTS")(scale=0.3), floor=0.02)]
