"""SafeSets: the conservative guarantee around a policy that plays sets of arms.

When to use it: a list, a mailing or a shelf is composed by a policy over sets beside a known baseline set, and the total reward must
never fall more than alpha behind the baseline's.
Bound: sum of the sets' mean rewards >= (1 - alpha) times the baseline's in every round (checkpoint) with probability 1 - delta,
whatever the inner policy does; docs/explanation/conservative-guarantee.md derives it.
Source: the condition of Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020 (Eq 5, 7, 12) for the total reward of a set; nearest published:
Takemura et al. 2023 (sets under a stepwise constraint).
Deviations: the range in Freedman's radius is that of a set, k. All rewards enter the estimates, also the baseline's. An open decision
has earned nothing; so has an arm of the baseline set that is answered alone, since it may belong to a round of the baseline.
Per round: the inner policy's cost, plus O(N M d^2 / 2), a second call of the oracle where the inner set is not safe, O(M d^3 / 3).
"""

from typing import Any

import numpy as np

from ...numerics.batch_ridge import check_features, learn_batch, new_batch_ridge, predict_solved
from ...parameters import arm_set, checkpoints, choice, inner_policy, optional_integer, optional_real, policy, real
from ...registry import Policy, find
from ...rng import same
from ...solvers.oracles import set_size
from ...types import Explanation
from ...verbs import Context, admit, commit, event, explain, grow, inform, init, propensity, reward_range, select, update, withdraw
from ._guarantee import TOLERANCE, Limits, check_norms
from ._ledger import BASELINE, EVENTS, OWN, UNSAFE, add, value_of
from ._set_guarantee import LEDGER, SetState, Setting, bound_round, choose_set, enter, features_of, joint_lower, total

DRAWS = 100  # selections behind a chance that nobody computes exactly, where no number is asked for


@policy("sets", paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020", compiled=False)
class SafeSets(Policy):
    """A policy over sets whose set is played when it is safe, else the best safe set by lower bounds, else the baseline set.

    inner: any policy over sets. baseline: the arms of the baseline set. baseline_mean: its known total mean reward, >= 0; None:
    learn it. alpha, delta: level of the constraint, probability of breaking it. sigma: sub-Gaussian scale of one arm's reward, rewards
    of a set being independent given their means. lam, theta_bound, arm_bound: ridge parameter, bounds of ||theta|| and of all ||x||.
    checkpoint, min_gap, martingale: as for `Conservative`. baseline_floor: what the baseline set earns at least in rounds to come.
    Rewards must not be negative. They may come late, in any order or never.
    """

    inner: Any = inner_policy()
    baseline: np.ndarray = arm_set("the arms of the baseline set")
    baseline_mean: float = optional_real(least=0, words="learn it")
    alpha: float = real(0.05, above=0, below=1)
    delta: float = real(0.01, above=0, below=1)
    sigma: float = real(1.0, least=0)
    lam: float = real(1.0, above=0)
    theta_bound: float = real(1.0, least=0)
    arm_bound: float = real(1.0, above=0)
    checkpoint: np.ndarray = checkpoints(1)
    min_gap: int = optional_integer(least=1, words="checkpoints are known beforehand")
    baseline_floor: float = optional_real(least=0, words="baseline_mean if that is known, else 0")
    martingale: int = choice("freedman", "subgaussian")
    complete = staticmethod(Limits.complete)


@init.register(SafeSets)
def init_safesets(policy, arms):
    if policy.baseline[-1] >= arms.number:
        raise ValueError(f"baseline has arm {policy.baseline[-1]}, but the arms are 0 to {arms.number - 1}.")
    inner = init(policy.inner, arms)
    if arms.features is not None:
        check_norms(policy, arms.features)
        check_features("arms", arms.features, policy.lam)
    ledger = np.zeros(1, dtype=LEDGER).view(np.recarray)
    ledger["event"] = BASELINE
    model = new_batch_ridge(arms.blocks, arms.dimension, policy.lam)
    setting = Setting(arms.features, arms.oracle, set_size(arms.oracle, arms.number))
    return SetState(ledger, model, np.zeros_like(model.response), setting, inner)


@select.register(SafeSets)
def select_safesets(policy, state, context, rng):
    chosen, why = choose_set(policy, state, context, select(policy.inner, state.inner, context, rng))
    state.ledger[0].event = why
    return chosen


@commit.register(SafeSets)
def commit_safesets(policy, state, context, action):
    ledger, listed = state.ledger[0], policy.checkpoint
    enter(policy, state, context, action, 1.0)
    if ledger.place < listed.size and listed[int(ledger.place)] == ledger.rounds:
        ledger.place += 1.0
    return state._replace(inner=commit(policy.inner, state.inner, context, action))


@withdraw.register(SafeSets)
def withdraw_safesets(policy, state, context, action):
    ledger = state.ledger[0]
    enter(policy, state, context, action, -1.0)
    if ledger.place > 0 and policy.checkpoint[int(ledger.place) - 1] > ledger.rounds:
        ledger.place -= 1.0
    return state._replace(inner=withdraw(policy.inner, state.inner, context, action))


@update.register(SafeSets)
def update_safesets(policy, state, context, action, reward):
    arms, rewards = np.atleast_1d(action), np.atleast_1d(reward)
    state.ledger[0].awaited -= arms.size
    if not set(arms.tolist()).issubset(policy.baseline.tolist()):  # arms of the baseline alone may belong to one of its rounds
        add(state.ledger[0].rewards, float(rewards.sum()))
    learn_batch(state.model, features_of(state, context), arms, rewards)
    return state._replace(inner=update(policy.inner, state.inner, context, action, reward))


@inform.register(SafeSets)
def inform_safesets(policy, state, context, action, reward):
    learn_batch(state.model, features_of(state, context), np.atleast_1d(action), np.atleast_1d(reward))
    return state._replace(inner=inform(policy.inner, state.inner, context, action, reward))


@event.register(SafeSets)
def event_safesets(policy, state, action):
    return int(state.ledger[0].event)


@admit.register(SafeSets)
def admit_safesets(policy, state, context):
    if context.features is not None:
        check_norms(policy, context.features)
        check_features("context", context.features, policy.lam)
    admit(policy.inner, state.inner, context)


@grow.register(SafeSets)
def grow_safesets(policy, state, arms):
    longer = init(policy, arms)
    return state._replace(setting=longer.setting, inner=grow(policy.inner, state.inner, arms))


@reward_range.register(SafeSets)
def reward_range_safesets(policy):
    return reward_range(policy.inner)


def chances(policy: Any, state: SetState, context: Context, rng: Any, most: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    """The chance of every arm to be in the set that is played: exact where nothing is drawn, else by `most` selections."""
    rows = features_of(state, context).shape[0] * state.model.response.shape[0]
    hits, draws, drawn = np.zeros(rows), 0, True
    while draws < most and drawn:
        before = rng.bit_generator.state
        chosen, _ = choose_set(policy, state, context, select(policy.inner, state.inner, context, rng))
        hits[chosen] += 1.0
        draws += 1
        drawn = draws > 1 or not same(before, rng.bit_generator.state)
    share = hits / draws
    return share, np.sqrt(share * (1.0 - share) / draws)


@propensity.register(SafeSets)
def propensity_safesets(policy, state, context, action, rng):
    probability, error = chances(policy, state, context, rng)
    return probability[action], error[action]


@explain.register(SafeSets)
def explain_safesets(policy, state, context, rng, draws):
    inner: Explanation = explain(policy.inner, state.inner, context, rng, draws)
    known = bound_round(policy, state, context)
    mean, width = predict_solved(known.theta, known.factor, known.features)
    wanted = select(policy.inner, state.inner, context, rng)
    chosen, why = choose_set(policy, state, context, wanted)
    probability, error = chances(policy, state, context, rng, DRAWS if draws is None else draws)
    budget = known.base + (value_of(state.ledger[0].earned) - (1.0 - policy.alpha) * value_of(state.ledger[0].promised))
    if known.point is not None:
        budget = known.base + joint_lower(known, state.owed)
    left = total(state, known, wanted)
    report = {
        "mean": mean, "width": known.beta * width, "lower": mean - known.beta * width, "upper": mean + known.beta * width,
        "index": inner.get("index", mean), "probability": probability, "probability_se": error,
        "safe": left >= -TOLERANCE, "total": left, "slack": known.slack, "budget_bound": float(budget),
        "psi": known.psi, "beta": known.beta, "event": EVENTS[why],
        "open": {"arms": int(state.ledger[0].awaited), "charged": 0.0}, "reason": sentence(wanted, chosen, why, left),
    }  # fmt: skip
    return report | {"inner": {key: inner[key] for key in ("mean", "width", "lower", "upper", "probability") if key in inner}}


def sentence(wanted: np.ndarray, chosen: np.ndarray, why: int, left: float) -> str:
    """Why this set, for a person."""

    def shown(arms: np.ndarray) -> str:
        return "{" + ", ".join(map(str, arms[:10].tolist())) + (", .." if arms.size > 10 else "") + "}"

    if why == OWN:
        return f"set {shown(chosen)}: the policy's choice; whatever happens, the budget stays at {left:.3g} or above"
    if why == UNSAFE:
        return (
            f"set {shown(chosen)}: the baseline set is not eligible and no set is safe; this one risks least, and the promise does not "
            "hold in this round"
        )
    if np.array_equal(np.sort(wanted), np.sort(chosen)):
        return f"set {shown(chosen)}: the policy's choice is the baseline"
    short = f"the policy's choice {shown(wanted)} could take the budget to {left:.3g}"
    if why == BASELINE:
        return f"baseline {shown(chosen)}: {short}"
    return f"set {shown(chosen)}: {short}, but this one is safe and promises more than the baseline"


def example():
    inner = find("C2UCB")(), find("CombTS")(v=0.3)
    return [SafeSets(inner[0], baseline=[0, 1], baseline_mean=0.1, alpha=0.3, sigma=0.3), SafeSets(inner[1], baseline=[1, 2], alpha=0.5)]
