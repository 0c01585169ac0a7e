"""The guarantee for sets: a ledger of set rewards and one ellipsoid for all arms.

D and S^b are the rounds decided so far where a set of the inner policy's and where the baseline set
was played, z_S the sum of a set's features. Set S is safe iff

    TOT(S) + slack >= -1e-9,   TOT(S) = max(sum_D r - psi(|D|), 0) + max(<theta, z_S> - beta
    ||z_S||_{V^-1}, 0)

with the slack of single arms. Where the range of an arm's reward is known, the first part is the
bound of `ledger` for the rewards of all arms that the sets of D had, taken one after the other:
given their means they are independent. Where the baseline's total mean v_b is learned, the
ellipsoid's minimum is taken of everything together.
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol, TypeAlias

import numpy as np

from ...core.fields import Count, Derived, Finite, NonNegative, Record, StateOf
from ...core.types import Oracle, State
from ...core.verbs import Context
from ...numerics.batch_ridge import BatchRidge, predict_solved, solve
from ...numerics.counts import remaining
from ...solvers.oracles import choose
from .guarantee import TOLERANCE
from .indices import ellipsoid_radius
from .ledger import (
    BASELINE,
    OWN,
    SAFE_OTHER,
    SUBGAUSSIAN,
    UNSAFE,
    Checkpoint,
    Event,
    add,
    martingale_radius,
    sum_bound,
    value_of,
)

LEDGER = np.dtype(
    [
        ("rounds", "f8"),  # decided, t - 1
        ("explored", "f8"),  # |D|
        ("members", "f8"),  # arms of the sets of D
        ("answered", "f8"),  # those whose reward is in
        ("awaited", "f8"),  # arms whose reward is not in
        ("rewards", "f8", (2,)),  # of D that are in, compensated
        ("earned", "f8", (2,)),  # sum_{S^b} v_b, compensated
        ("promised", "f8", (2,)),  # sum_{i < t} v_b, compensated
        ("place", "f8"),  # position of the next listed checkpoint
        ("event", "f8"),  # of the last select
        ("low", "f8"),  # lowest reward of an arm
        ("span", "f8"),  # highest less lowest
        ("sigma", "f8"),  # sub-Gaussian scale of an arm's reward
        ("level", "f8"),  # L of the sum's bound by "bernoulli"; 0: psi
        ("arm_level", "f8"),  # of single arms, which have no bound here
        ("arm_delta", "f8"),  # probability with which the ellipsoid may fail
        ("failure", "f8"),  # that is proved, with which the promise fails
    ],
    align=True,
)
SetLedger: TypeAlias = Annotated[
    np.ndarray,
    Record(
        rounds=Count,
        explored=Count,
        members=Count,
        answered=Count,
        awaited=Finite,
        rewards=Finite,
        earned=Finite,
        promised=Finite,
        place=Checkpoint,
        event=Event,
        low=Derived,
        span=Derived,
        sigma=Derived,
        level=Derived,
        arm_level=NonNegative,
        arm_delta=NonNegative,
        failure=NonNegative,
    ),
]


@dataclass(frozen=True)
class GuaranteeSetting:
    """The arms as `init` met them; no part of a saved state."""

    features: np.ndarray | None  # (rows, d); None: new ones every round
    oracle: Oracle
    size: int  # k


class SetState(NamedTuple):
    ledger: SetLedger  # (1,)
    model: BatchRidge  # of the guarantee
    owed: Finite  # (M, d) sum_{S^b} z_b - (1 - alpha) sum_{i < t} z_b
    setting: GuaranteeSetting
    inner: Annotated[State, StateOf("inner")]


class SetRound(NamedTuple):
    """The estimates that the choice of a round rests on."""

    theta: np.ndarray  # (M, d)
    factor: np.ndarray  # (M, d, d) lower Cholesky factors of V
    features: np.ndarray  # (rows, d)
    beta: float
    psi: float
    base: float  # lower bound of sum_D v
    slack: float  # NaN where v_b is learned: then it is part of the ellipsoid's minimum
    point: np.ndarray | None  # (M, d) what the baseline's unknown mean is multiplied with


class GuardsSets(Protocol):
    """A policy over sets with this guarantee, as far as its parameters go (see `SafeSets`)."""

    baseline: np.ndarray  # the arms of the baseline set
    baseline_mean: float  # NaN: learned
    baseline_floor: float  # NaN: not given
    alpha: float
    delta: float
    sigma: float
    lam: float
    theta_bound: float
    arm_bound: float
    checkpoint: np.ndarray
    min_gap: int
    martingale: int
    rewards: tuple[float, float]
    constants: int


def features_of(state: SetState, context: Context) -> np.ndarray:
    return np.asarray(state.setting.features if context.features is None else context.features)


def sum_features(state: SetState, features: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """z_S, by block: (M, d)."""
    z = np.zeros_like(state.model.response)
    rows, blocks = np.divmod(chosen, z.shape[0])
    np.add.at(z, blocks, features[rows])
    return z


def sets_bound(policy: GuardsSets, state: SetState) -> float:
    """Lower bound of what the sets of D earn, open rewards counted at the lowest."""
    ledger = state.ledger[0]
    rewards, certain = float(value_of(ledger.rewards)), float(ledger.low * ledger.members)
    if ledger.level > 0.0:
        total = (rewards - ledger.low * ledger.answered) / ledger.span
        return certain + float(
            ledger.span * sum_bound(total, max(float(ledger.members), 1.0), ledger.level, 0)[0]
        )
    return max(
        rewards
        + float(ledger.low * (ledger.members - ledger.answered))
        - set_radius(policy, state),
        certain,
    )


def set_radius(policy: GuardsSets, state: SetState) -> float:
    """psi(|D|) for totals of at most k rewards: noise sigma sqrt(k), range k times that of a
    reward."""
    ledger, k = state.ledger[0], state.setting.size
    reach = 0.0 if policy.martingale == SUBGAUSSIAN else float(k * ledger.span)
    return float(
        martingale_radius(
            float(ledger.sigma) * math.sqrt(k), policy.delta, float(ledger.explored), reach
        )
    )


def set_beta(policy: GuardsSets, state: SetState) -> float:
    dimension, m = float(state.model.response.size), float(state.model.seen[0])
    sigma, delta = float(state.ledger[0].sigma), float(state.ledger[0].arm_delta)
    return float(
        ellipsoid_radius(
            sigma, delta, dimension, m, policy.lam, policy.arm_bound, policy.theta_bound
        )
    )


def bound_round(policy: GuardsSets, state: SetState, context: Context) -> SetRound:
    ledger, features = state.ledger[0], features_of(state, context)
    theta, factor = solve(state.model)
    beta = set_beta(policy, state)
    base = sets_bound(policy, state)
    psi = (
        float(value_of(ledger.rewards)) - base if ledger.level > 0.0 else set_radius(policy, state)
    )
    ahead = remaining(policy.checkpoint, policy.min_gap, int(ledger.place), int(ledger.rounds) + 1)
    floor = policy.baseline_floor
    if not math.isnan(policy.baseline_mean):
        floor = policy.baseline_mean if math.isnan(floor) else floor
        owed = (1.0 - policy.alpha) * (value_of(ledger.promised) + policy.baseline_mean)
        slack = float(value_of(ledger.earned) + policy.alpha * ahead * floor - owed)
        return SetRound(theta, factor, features, beta, psi, base, slack, None)
    z = sum_features(state, features, policy.baseline)
    point = state.owed - (1.0 - policy.alpha) * z
    if math.isnan(floor):
        point = point + (policy.alpha * ahead * z if state.setting.features is not None else 0.0)
    else:
        base += policy.alpha * ahead * floor
    return SetRound(theta, factor, features, beta, psi, base, math.nan, point)


def joint_lower(known: SetRound, z: np.ndarray) -> float:
    """min <theta, z> over the ellipsoid: <theta_hat, z> - beta ||z||_{V^-1}."""
    return float((known.theta * z).sum()) - known.beta * norm(known.factor, z)


def norm(factor: np.ndarray, z: np.ndarray) -> float:
    """||z||_{V^-1} over all blocks."""
    return math.sqrt(
        sum(float(np.sum(np.linalg.solve(L, part) ** 2)) for L, part in zip(factor, z, strict=True))
    )


def total(state: SetState, known: SetRound, chosen: np.ndarray) -> float:
    """Lower bound of the budget after this set is played: TOT(S) + slack."""
    z = sum_features(state, known.features, chosen)
    if known.point is None:
        return (
            known.base
            + max(joint_lower(known, z), float(state.ledger[0].low) * chosen.size)
            + known.slack
        )
    return known.base + joint_lower(known, z + known.point)


def choose_set(
    policy: GuardsSets, state: SetState, context: Context, wanted: np.ndarray
) -> tuple[np.ndarray, int]:
    known, baseline = bound_round(policy, state, context), policy.baseline
    playable = context.eligible is None or bool(context.eligible[baseline].all())
    if np.array_equal(np.sort(wanted), baseline):
        return wanted, BASELINE
    if total(state, known, wanted) >= -TOLERANCE:
        return wanted, OWN
    mean, width = predict_solved(known.theta, known.factor, known.features)
    other = choose(state.setting.oracle, mean - known.beta * width, context.eligible)
    offered = joint_lower(known, sum_features(state, known.features, other))
    safe = total(state, known, other) >= -TOLERANCE
    if (
        safe
        and (offered > reference(policy, state, known) or not playable)
        and not np.array_equal(np.sort(other), baseline)
    ):
        return other, SAFE_OTHER
    if playable:
        return baseline.copy(), BASELINE
    return max((wanted, other), key=lambda chosen: total(state, known, chosen)), UNSAFE


def reference(policy: GuardsSets, state: SetState, known: SetRound) -> float:
    """The value that another set must promise to exceed: v_b, or its upper bound where it is
    learned."""
    if not math.isnan(policy.baseline_mean):
        return float(policy.baseline_mean)
    return -joint_lower(known, -sum_features(state, known.features, policy.baseline))


def enter(
    policy: GuardsSets, state: SetState, context: Context, action: np.ndarray, sign: float
) -> None:
    """Add a decision to the ledger: sign 1.0; take it out again: sign -1.0."""
    ledger, conserved = state.ledger[0], np.array_equal(np.sort(action), policy.baseline)
    ledger.rounds += sign
    ledger.awaited += sign * np.size(action)
    if not conserved:
        ledger.explored += sign
        ledger.members += sign * np.size(action)
    if math.isnan(policy.baseline_mean):
        z = sum_features(state, features_of(state, context), policy.baseline)
        state.owed[...] += sign * (policy.alpha - 1.0 + conserved) * z
        return
    add(ledger.promised, sign * policy.baseline_mean)
    if conserved:
        add(ledger.earned, sign * policy.baseline_mean)
