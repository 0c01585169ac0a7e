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

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.fields import arm_set, checkpoints, choice, integer, real, reward_ends
from ...core.policy import Policy, inner_policy, policy
from ...core.streams import same
from ...core.types import Given, Sampled, Stored
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
from ...numerics.batch_ridge import check_features, learn_batch, new_batch_ridge, predict_solved
from ...solvers.oracles import set_size
from ..bases import Wrapper
from .guarantee import TOLERANCE, check_norms, check_premises, declared_range, with_range
from .ledger import BASELINE, EVENTS, OWN, UNSAFE, add, premises, value_of
from .set_guarantee import (
    LEDGER,
    GuaranteeSetting,
    SetState,
    bound_round,
    choose_set,
    enter,
    features_of,
    joint_lower,
    total,
)

DRAWS = 100  # selections behind a chance that nobody computes exactly, where no number is asked for


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
        """Refuse what `check_premises` refuses."""
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
