"""SafeSets: the conservative guarantee around a policy that plays sets of arms.

When to use it: a list, a mailing or a shelf is composed by a policy over sets beside a known
baseline set, and the total reward must never fall more than alpha behind the baseline's.
Bound: sum of the sets' mean rewards >= (1 - alpha) times the baseline's in every round (checkpoint)
with probability 1 - delta, whatever the inner policy does;
docs/explanation/conservative-guarantee.md derives it.
Source: the condition of Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020 (Eq 5, 7, 12) for the total
reward of a set; nearest published: Takemura et al. 2023 (sets under a stepwise constraint).
Deviations: where the range of an arm's reward is known, the sum of all rewards of the inner
policy's sets is bounded as in `ledger`; else the range in Freedman's radius is that of a set, k.
All rewards enter the estimates, also the baseline's. An open decision has earned nothing; so has an
arm of the baseline set that is answered alone, since it may belong to a round of the baseline.
Per round: the inner policy's cost, plus O(N M d^2 / 2), a second call of the oracle where the inner
set is not safe, O(M d^3 / 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...core.fields import (
    Count,
    Derived,
    Finite,
    Given,
    NonNegative,
    Record,
    StateOf,
    Stored,
    arm_set,
    checkpoints,
    choice,
    integer,
    real,
    reward_ends,
)
from ...core.policy import Policy, inner_policy, policy
from ...core.streams import same
from ...core.types import Oracle, Sampled, State
from ...core.verbs import (
    Context,
    admit,
    commit,
    explain,
    grow,
    inform,
    init,
    select,
    update,
    withdraw,
)
from ...numerics.batch_ridge import (
    BatchRidge,
    check_features,
    learn_batch,
    new_batch_ridge,
    predict_solved,
    solve,
)
from ...numerics.counts import remaining
from ...solvers.oracles import choose, set_size
from ..bases import Wrapper
from .guarantee import TOLERANCE, check_norms, check_premises, declared_range, with_range
from .indices import ellipsoid_radius
from .ledger import (
    BASELINE,
    EVENTS,
    OWN,
    SAFE_OTHER,
    SUBGAUSSIAN,
    UNSAFE,
    Checkpoint,
    Event,
    add,
    martingale_radius,
    premises,
    sum_bound,
    value_of,
)

DRAWS = 100  # selections behind a chance that nobody computes exactly, where no number is asked for

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


@policy(
    "sets",
    paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020",
    compiled=False,
    examples=(
        {
            "inner": {"policy": "C2UCB", "alpha": 1.0},
            "baseline": [0, 1],
            "baseline_mean": 0.1,
            "alpha": 0.3,
            "sigma": 0.3,
        },
        {"inner": {"policy": "CombTS", "v": 0.3}, "baseline": [1, 2], "alpha": 0.5},
    ),
)
class SafeSets(Wrapper):
    """A policy over sets whose set is played when it is safe, else the best safe set by lower
    bounds, else the baseline set.

    Parameters
    ----------
    inner : a policy
        Any policy over sets.
    baseline : the arms of the baseline set
        The arms of the baseline set.
    baseline_mean : number in [0, inf), or None (learn it), default None
        Its known total mean reward, >= 0; None: learn it.
    alpha : number in (0, 1), default 0.05
        Share of the baseline's reward that may be lost.
    delta : number in (0, 1), default 0.01
        Probability that the constraint is broken at any time.
    sigma : number in [0, inf), or None (half the range of rewards, else 1), default None
        Sub-Gaussian scale of one arm's reward, rewards of a set being independent given their
        means.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||.
    arm_bound : number in (0, inf), default 1.0
        Bound on the norms of all features.
    checkpoint : whole number T from 1 (every T rounds), or increasing rounds, default 1
        As for `Conservative`.
    min_gap : whole number from 1, or None (checkpoints are known beforehand), default None
        As for `Conservative`.
    baseline_floor : number in [0, inf), or None (baseline_mean if known, else 0), default None
        What the baseline set earns at least in rounds to come. Without `rewards` none may be
        negative. They may come late, in any order or never.
    martingale : 'bernoulli' or 'freedman' or 'subgaussian', or None (by rewards), default None
        As for `Conservative`.
    rewards : (lowest, highest), or None (the inner policy's or the problem's), default None
        Of an arm, as for `Conservative`.
    constants : 'proved' or 'paper', default 'proved'
        As for `Conservative`.
    """

    inner: Policy = inner_policy(kw_only=False)
    baseline: Given[ArrayLike, np.ndarray] = arm_set("the arms of the baseline set")
    baseline_mean: Given[float | None, float] = real(default=None, least=0, none="learn it")
    alpha: float = real(default=0.05, above=0, below=1)
    delta: float = real(default=0.01, above=0, below=1)
    sigma: Given[float | None, float] = real(
        default=None, least=0, none="half the range of rewards, else 1"
    )
    lam: float = real(default=1.0, above=0)
    theta_bound: float = real(default=1.0, least=0)
    arm_bound: float = real(default=1.0, above=0)
    checkpoint: Given[int | Iterable[int], np.ndarray] = checkpoints(default=1)
    min_gap: Given[int | None, int] = integer(
        default=None, least=1, none="checkpoints are known beforehand"
    )
    baseline_floor: Given[float | None, float] = real(
        default=None, least=0, none="baseline_mean if known, else 0"
    )
    martingale: Given[Literal["bernoulli", "freedman", "subgaussian"] | None, int] = choice(
        "bernoulli", "freedman", "subgaussian", default=None, none="by rewards"
    )
    rewards: Given[tuple[float, float] | None, tuple[float, float]] = reward_ends(
        default=None, words="the inner policy's or the problem's"
    )
    constants: Given[Literal["proved", "paper"], int] = choice("proved", "paper", default="proved")

    @staticmethod
    def complete(stored: Stored) -> Stored:
        check_premises(stored)
        return stored

    def reward_range(self):
        return declared_range(self)

    def with_rewards(self, arms):
        return with_range(self, arms)

    def init(self, arms):
        if self.baseline[-1] >= arms.number:
            raise ValueError(
                f"baseline has arm {self.baseline[-1]}, but the arms are 0 to {arms.number - 1}."
            )
        inner = init(self.inner, arms)
        if arms.features is not None:
            check_norms(self, arms.features)
            check_features("arms", arms.features, self.lam)
        ledger = np.zeros(1, dtype=LEDGER).view(np.recarray)
        ledger["event"] = BASELINE
        model = new_batch_ridge(arms.blocks, arms.dimension, self.lam)
        for name, value in (
            premises(self, arms.rewards, model.response.size, arms.number)._asdict().items()
        ):
            ledger[name] = value
        setting = GuaranteeSetting(arms.features, arms.oracle, set_size(arms.oracle, arms.number))
        return SetState(ledger, model, np.zeros_like(model.response), setting, inner)

    def select(self, state, context, rng):
        chosen, why = choose_set(
            self, state, context, select(self.inner, state.inner, context, rng)
        )
        state.ledger[0].event = why
        return chosen

    def commit(self, state, context, action):
        ledger, listed = state.ledger[0], self.checkpoint
        enter(self, state, context, action, 1.0)
        if ledger.place < listed.size and listed[int(ledger.place)] == ledger.rounds:
            ledger.place += 1.0
        return state._replace(inner=commit(self.inner, state.inner, context, action))

    def withdraw(self, state, context, action):
        ledger = state.ledger[0]
        enter(self, state, context, action, -1.0)
        if ledger.place > 0 and self.checkpoint[int(ledger.place) - 1] > ledger.rounds:
            ledger.place -= 1.0
        return state._replace(inner=withdraw(self.inner, state.inner, context, action))

    def update(self, state, context, action, reward):
        arms, rewards = np.atleast_1d(action), np.atleast_1d(reward)
        state.ledger[0].awaited -= arms.size
        if not set(arms.tolist()).issubset(
            self.baseline.tolist()
        ):  # arms of the baseline alone may belong to one of its rounds
            add(state.ledger[0].rewards, float(rewards.sum()))
            state.ledger[0].answered += arms.size
        learn_batch(state.model, features_of(state, context), arms, rewards)
        return state._replace(inner=update(self.inner, state.inner, context, action, reward))

    def inform(self, state, context, action, reward):
        learn_batch(
            state.model, features_of(state, context), np.atleast_1d(action), np.atleast_1d(reward)
        )
        return state._replace(inner=inform(self.inner, state.inner, context, action, reward))

    def event(self, state, action):
        return int(state.ledger[0].event)

    def admit(self, state, context):
        if context.features is not None:
            check_norms(self, context.features)
            check_features("context", context.features, self.lam)
        admit(self.inner, state.inner, context)

    def grow(self, state, arms):
        longer = init(self, arms)
        return state._replace(setting=longer.setting, inner=grow(self.inner, state.inner, arms))

    def propensity(self, state, context, action, rng, draws=None):
        probability, error, number = chances(
            self, state, context, rng, DRAWS if draws is None else draws
        )
        return (
            Sampled(probability[action], error[action], number)
            if number > 1
            else (probability[action], error[action])
        )

    def explain(self, state, context, rng, draws=None):
        draws = DRAWS if draws is None else draws
        inner = explain(self.inner, state.inner, context, rng, draws)
        known = bound_round(self, state, context)
        mean, width = predict_solved(known.theta, known.factor, known.features)
        wanted = select(self.inner, state.inner, context, rng)
        chosen, why = choose_set(self, state, context, wanted)
        probability, error, _ = chances(self, state, context, rng, draws)
        budget = known.base + (
            value_of(state.ledger[0].earned)
            - (1.0 - self.alpha) * value_of(state.ledger[0].promised)
        )
        if known.point is not None:
            budget = known.base + joint_lower(known, state.owed)
        left = total(state, known, wanted)
        report = {
            "mean": mean,
            "width": known.beta * width,
            "lower": mean - known.beta * width,
            "upper": mean + known.beta * width,
            "index": inner.get("index", mean),
            "probability": probability,
            "probability_se": error,
            "safe": left >= -TOLERANCE,
            "total": left,
            "slack": known.slack,
            "budget_bound": float(budget),
            "psi": known.psi,
            "beta": known.beta,
            "event": EVENTS[why],
            "open": {"arms": int(state.ledger[0].awaited), "charged": 0.0},
            "reason": sentence(wanted, chosen, why, left),
        }
        return report | {
            "inner": {
                key: inner[key]
                for key in ("mean", "width", "lower", "upper", "probability")
                if key in inner
            }
        }


def chances(
    policy: SafeSets, state: SetState, context: Context, rng: np.random.Generator, most: int = DRAWS
) -> tuple[np.ndarray, np.ndarray, int]:
    """The chance of every arm to be in the set that is played: exact where nothing is drawn, else
    by `most` selections; their errors, and how many selections there were, 1 where nothing is
    drawn."""
    rows = features_of(state, context).shape[0] * state.model.response.shape[0]
    hits, draws, drawn = np.zeros(rows), 0, True
    while draws < most and drawn:
        before = rng.bit_generator.state
        chosen, _ = choose_set(
            policy, state, context, select(policy.inner, state.inner, context, rng)
        )
        hits[chosen] += 1.0
        draws += 1
        drawn = draws > 1 or not same(before, rng.bit_generator.state)
    share = hits / draws
    return share, np.sqrt(share * (1.0 - share) / draws), draws


def sentence(wanted: np.ndarray, chosen: np.ndarray, why: int, left: float) -> str:
    def shown(arms: np.ndarray) -> str:
        return (
            "{" + ", ".join(map(str, arms[:10].tolist())) + (", .." if arms.size > 10 else "") + "}"
        )

    if why == OWN:
        return (
            f"set {shown(chosen)}: the policy's choice; whatever happens, the budget stays at "
            f"{left:.3g} or above"
        )
    if why == UNSAFE:
        return (
            f"set {shown(chosen)}: the baseline set is not eligible and no set is safe; this one "
            "risks least, and the promise does not hold in this round"
        )
    if np.array_equal(np.sort(wanted), np.sort(chosen)):
        return f"set {shown(chosen)}: the policy's choice is the baseline"
    short = f"the policy's choice {shown(wanted)} could take the budget to {left:.3g}"
    if why == BASELINE:
        return f"baseline {shown(chosen)}: {short}"
    return f"set {shown(chosen)}: {short}, but this one is safe and promises more than the baseline"


# The guarantee: a ledger of set rewards and one ellipsoid for all arms. D and S^b are the rounds
# decided so far where a set of the inner policy's and where the baseline set was played, z_S the
# sum of a set's features. Set S is safe iff
#
#     TOT(S) + slack >= -1e-9,   TOT(S) = max(sum_D r - psi(|D|), 0) + max(<theta, z_S> - beta
#     ||z_S||_{V^-1}, 0)
#
# with the slack of single arms. Where the range of an arm's reward is known, the first part is the
# bound of `ledger` for the rewards of all arms that the sets of D had, taken one after the other:
# given their means they are independent. Where the baseline's total mean v_b is learned, the
# ellipsoid's minimum is taken of everything together.


def features_of(state: SetState, context: Context) -> np.ndarray:
    return np.asarray(state.setting.features if context.features is None else context.features)


def sum_features(state: SetState, features: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """z_S, by block: (M, d)."""
    z = np.zeros_like(state.model.response)
    rows, blocks = np.divmod(chosen, z.shape[0])
    np.add.at(z, blocks, features[rows])
    return z


def sets_bound(policy: SafeSets, state: SetState) -> float:
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


def set_radius(policy: SafeSets, state: SetState) -> float:
    """psi(|D|) for totals of at most k rewards: noise sigma sqrt(k), range k times that of a
    reward."""
    ledger, k = state.ledger[0], state.setting.size
    reach = 0.0 if policy.martingale == SUBGAUSSIAN else float(k * ledger.span)
    return float(
        martingale_radius(
            float(ledger.sigma) * math.sqrt(k), policy.delta, float(ledger.explored), reach
        )
    )


def set_beta(policy: SafeSets, state: SetState) -> float:
    dimension, m = float(state.model.response.size), float(state.model.seen[0])
    sigma, delta = float(state.ledger[0].sigma), float(state.ledger[0].arm_delta)
    return float(
        ellipsoid_radius(
            sigma, delta, dimension, m, policy.lam, policy.arm_bound, policy.theta_bound
        )
    )


def bound_round(policy: SafeSets, state: SetState, context: Context) -> SetRound:
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
    policy: SafeSets, state: SetState, context: Context, wanted: np.ndarray
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


def reference(policy: SafeSets, state: SetState, known: SetRound) -> float:
    """The value that another set must promise to exceed: v_b, or its upper bound where it is
    learned."""
    if not math.isnan(policy.baseline_mean):
        return float(policy.baseline_mean)
    return -joint_lower(known, -sum_features(state, known.features, policy.baseline))


def enter(
    policy: SafeSets, state: SetState, context: Context, action: np.ndarray, sign: float
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
