"""The rollout of a policy beside a baseline: which of both is served, with what propensity, and
what is learned of them.

apprentice: the baseline is served, the policy learns from it. shadow: the same, and the log has
what the policy would have played.
capped: with probability `share` the policy's choice is served, else the baseline. full: the
policy's choice. In every mode the policy learns from what was served, and the logged propensity is
the chance with which the served arm was served.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import NamedTuple, Self

import numpy as np

from tightrope.core import streams
from tightrope.extend import ConfidenceSequence

from . import JsonObject
from .errors import Refused
from .events import Decided, ModeChanged, Reward, Round
from .spec import REWARD, ExperimentSpec, Mode, RolloutSpec

# Evidence of a rollout: is the policy better than the baseline, or worse? From propensities and
# rewards, with bounds that hold at all times at once.


LEAST_ESS, LEAST_SHARE, MOST_UNREACHABLE = (
    100.0,
    0.01,
    0.05,
)  # as in `tr.evaluate`: with less overlap nothing is said


class Weights(NamedTuple):
    """Of one decision. policy, baseline: the chance of the played arm with each, over its logged
    propensity. reachable: whether the policy's choice could have been played."""

    policy: float
    baseline: float
    reachable: bool


class Evidence:
    """The evidence of one stage of a rollout. error: of each of the two statements, better and
    worse."""

    def __init__(self, error: float) -> None:
        self.error = error
        self.difference_scores = ConfidenceSequence(
            2.0 * error, k=0.0
        )  # lower: for policy minus baseline, upper: for baseline minus policy
        self.sums = [0.0] * 8  # of w, w^2, v, v^2, w R, (w R)^2, v R, (v R)^2
        self.unreachable = 0  # decisions whose wanted arm could not have been played
        self.outside = 0  # rewards outside the declared range
        self.waiting: OrderedDict[str, Weights] = (
            OrderedDict()
        )  # decisions without a reward yet, and those behind them
        self.ended: dict[
            str, float | None
        ] = {}  # of those behind: their rewards; None: they have none

    def open(self, decision: str, weights: Weights) -> None:
        self.waiting[decision] = weights

    def end(self, decision: str, reward: float | None) -> None:
        if decision not in self.waiting or decision in self.ended:
            return
        self.ended[decision] = reward
        while self.waiting:
            first = next(iter(self.waiting))
            if first not in self.ended:
                return
            weights, reward = self.waiting.pop(first), self.ended.pop(first)
            if reward is not None:
                self._add(weights, reward)

    def _add(self, weights: Weights, reward: float) -> None:
        if not 0.0 <= reward <= 1.0:
            self.outside += 1
            return
        w, v, reachable = weights
        self.unreachable += not reachable
        self.difference_scores.add(
            0.5 * (w * reward + v * (1.0 - reward)), 0.5 * (v * reward + w * (1.0 - reward))
        )
        for place, value in enumerate(
            (w, w * w, v, v * v, w * reward, (w * reward) ** 2, v * reward, (v * reward) ** 2)
        ):
            self.sums[place] += value

    @property
    def rounds(self) -> int:
        return self.difference_scores.rounds

    def difference(self) -> tuple[float, float]:
        """Bounds on V(policy) - V(baseline), the mean of the stage's rounds so far, rewards in [0,
        1]."""
        low, high = self.difference_scores.bounds
        return 2.0 * low - 1.0, 2.0 * high - 1.0

    def ess(self) -> float:
        return self.sums[0] ** 2 / self.sums[1] if self.sums[1] > 0.0 else 0.0

    def verdict(self, mode: str) -> str:
        """ "better", "worse", "undecided", or a sentence why nothing is said."""
        if self.outside:
            return (
                f"{self.outside} rewards are outside the declared range; nothing is said; create "
                "the experiment with the range that holds."
            )
        if not self.rounds:
            return "no reward yet"
        n, ess = self.rounds, self.ess()
        if self.unreachable > MOST_UNREACHABLE * n:
            remedy = (
                "say what production plays (rollout.production), or go on to mode capped, which "
                "plays them"
            )
            return (
                f"not enough overlap: {self.unreachable / n:.0%} of what the policy wants are "
                f"arms that mode {mode} never plays; {remedy}."
            )
        if ess < max(LEAST_ESS, LEAST_SHARE * n):
            return (
                f"not enough overlap: effective sample size {ess:.0f} of {n}; wait, or raise the "
                "share."
            )
        low, high = self.difference()
        return "better" if low > 0.0 else "worse" if high < 0.0 else "undecided"

    def report(self, mode: str, rewards: tuple[float, float]) -> JsonObject:
        """The evidence so far, in units of the reward; estimates are null where the verdict refuses
        them."""
        n, scale, verdict = self.rounds, rewards[1] - rewards[0], self.verdict(mode)
        report: JsonObject = {
            "verdict": verdict,
            "rounds": n,
            "waiting": len(self.waiting),
            "effective_sample_size": self.ess(),
            "error": self.error,
            "policy": None,
            "baseline": None,
            "difference": None,
        }
        if verdict not in ("better", "worse", "undecided"):
            return report
        low, high = self.difference()
        values = {}
        for name, place in (("policy", 4), ("baseline", 6)):
            mean = self.sums[place] / n
            se = math.sqrt(max(self.sums[place + 1] / n - mean * mean, 0.0) / n)
            values[name] = {"value": rewards[0] + scale * mean, "se": scale * se}
        return report | values | {"difference": [scale * low, scale * high]}

    def pack(self) -> JsonObject:
        better, worse = self.difference_scores.state
        return {
            "error": self.error,
            "better": better,
            "worse": worse,
            "sums": self.sums,
            "unseen": self.unreachable,
            "outside": self.outside,
            "held": [
                [
                    decision,
                    None
                    if reward is None
                    else [*self.waiting[decision][:2], reward, self.waiting[decision].reachable],
                ]
                for decision, reward in self.ended.items()
            ],
            "waiting": [[decision, *weights] for decision, weights in self.waiting.items()],
        }

    @classmethod
    def unpack(cls, packed: JsonObject) -> Self:
        evidence = cls(packed["error"])
        evidence.difference_scores.state = [list(packed["better"]), list(packed["worse"])]
        evidence.sums, evidence.unreachable, evidence.outside = (
            list(packed["sums"]),
            packed["unseen"],
            packed["outside"],
        )
        evidence.waiting.update(
            (decision, Weights(*weights)) for decision, *weights in packed["waiting"]
        )
        evidence.ended = {
            decision: None if score is None else score[2] for decision, score in packed["held"]
        }
        return evidence


MODES: tuple[Mode, ...] = (
    "apprentice",
    "shadow",
    "capped",
    "full",
)  # each further from production than the one before
JUDGED = ("shadow", "capped")  # modes in which there is something to compare with
PLAYED = ("capped", "full")  # modes in which the policy's choices are served
FULL = RolloutSpec.model_validate({"mode": "full"})


class Production(NamedTuple):
    """Production's arms of a round. arms: (n,) numbers. chances: (n,) their probabilities."""

    arms: np.ndarray
    chances: np.ndarray


def bounds_by_metric(event: Decided) -> dict[str, float]:
    budget = event.budget
    return budget if isinstance(budget, dict) else {} if budget is None else {REWARD: budget}


class ModeRule(NamedTuple):
    """The change of mode that a rule asks for. sent_back: it is a return, behind which rules wait
    for a command."""

    mode: Mode
    why: str
    sent_back: bool


class Rollout:
    """Mode and evidence of an experiment. Changed by events only, so a replay finds the same."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.least_budgets = spec.least_budgets
        self.spec = FULL if spec.rollout is None else spec.rollout
        self.seed, self.baseline = spec.seed, spec.baseline
        self.rewards = spec.reward_range or (0.0, 1.0)
        self.mode: Mode = self.spec.mode
        self.share = self.spec.share
        self.returns = spec.oracle is None  # sets are not served beside a baseline
        self.sent_back = False  # rules wait for a command
        self.stage = 0  # judged stages so far
        self.rewards_in_mode = 0
        self.decisions = self.baseline_decisions = (
            0  # of the experiment, and of them the baseline's by mode or by choice
        )
        # by metric: its lower bound in the last decision that noted it, that of all decisions, and
        # which were ever above their least
        self.budgets: dict[str, float] = {}
        self.lowest_budgets: dict[str, float] = {}
        self.armed = self._armed_at_first()
        self.evidence = self._new_evidence()

    def _armed_at_first(self) -> set[str]:
        return {metric for metric, least in self.least_budgets.items() if least <= 0.0}

    def _new_evidence(self) -> Evidence:
        """Stage j may err with error / (j (j + 1)), so that all stages together keep `error`; half
        of it is for each direction."""
        if self.mode in JUDGED:
            self.stage += 1
        j = max(self.stage, 1)
        return Evidence(self.spec.error / (j * (j + 1)) / 2.0)

    def change(self, event: ModeChanged) -> None:
        self.mode, self.share, self.sent_back = event.mode, event.share, event.sent_back
        self.rewards_in_mode, self.armed = 0, self._armed_at_first()
        self.evidence = self._new_evidence()

    # Decisions ------------------------------------------------------------------------------------

    def production(
        self, round: Round, number: Callable[[str, str], int], retired: Collection[int]
    ) -> Production:
        """Production's arms of a round. number: of an arm, by the field that names it and its id.
        Refused where none is eligible."""
        baseline: int | None = None if round.context is None else round.context.baseline
        if baseline is None and self.spec.production is not None:
            shares = {
                number("production", arm): chance for arm, chance in self.spec.production.items()
            }
        else:
            if baseline is None and isinstance(self.baseline, str):
                baseline = number("baseline", self.baseline)
            if baseline is None:
                raise Refused(
                    422,
                    f"baseline is missing; mode {self.mode} serves it, so say which arm it is.",
                    "baseline",
                )
            shares = {baseline: 1.0}
        eligible = round.eligible
        left = {
            k: chance
            for k, chance in shares.items()
            if k not in retired and (eligible is None or eligible[k])
        }
        if not left:
            raise Refused(
                422,
                f"eligible has no arm of production, which mode {self.mode} serves; make its arm "
                "eligible.",
                "eligible",
            )
        chances = np.array(list(left.values()))
        return Production(np.array(list(left), dtype=np.int64), chances / chances.sum())

    @property
    def policy_share(self) -> float:
        return self.share if self.mode == "capped" else 0.0

    def production_arm(self, production: Production, decided: int) -> int | None:
        """The arm that production's coin chooses; None: the decision is the policy's. decided:
        decisions before this one."""
        coin = streams.stream(self.seed, decided, streams.MODE)
        if self.policy_share and coin.random() < self.policy_share:
            return None
        return int(coin.choice(production.arms, p=production.chances))

    def open(self, event: Decided) -> None:
        self.decisions += 1
        for metric, bound in bounds_by_metric(event).items():
            self.budgets[metric] = bound
            self.lowest_budgets[metric] = min(bound, self.lowest_budgets.get(metric, math.inf))
            if bound >= self.least_budgets[metric]:
                self.armed.add(metric)
        choice, chance = event.rollout, event.propensity
        if choice is None:
            return
        self.baseline_decisions += not choice.policy_served
        if (
            choice.policy_chance is not None and choice.baseline_chance is not None and chance > 0.0
        ):  # a chance found by draws may be 0
            self.evidence.open(
                event.decision,
                Weights(
                    choice.policy_chance / chance,
                    choice.baseline_chance / chance,
                    bool(choice.reachable),
                ),
            )

    def end(self, decision: str, value: Reward | None) -> None:
        if value is None or isinstance(value, dict):
            self.evidence.end(decision, None)
            return
        self.rewards_in_mode += 1
        low, high = self.rewards
        self.evidence.end(decision, (value - low) / (high - low))

    # Reading --------------------------------------------------------------------------------------

    def report(self) -> JsonObject:
        finite = {
            metric: least for metric, least in self.least_budgets.items() if math.isfinite(least)
        }
        return {
            "mode": self.mode,
            "share": self.share if self.mode == "capped" else float(self.mode == "full"),
            "held": self.sent_back,
            "rewards_in_mode": self.rewards_in_mode,
            "rules": {
                mode: rule.model_dump(exclude_defaults=True)
                for mode, rule in self.spec.promote.items()
            },
            "least_budget": finite if len(self.least_budgets) > 1 else finite.get(REWARD),
            "estimate": self.evidence.report(self.mode, self.rewards)
            if self.mode in JUDGED
            else None,
        }

    def pack(self) -> JsonObject:
        return {
            "mode": self.mode,
            "share": self.share,
            "held": self.sent_back,
            "stage": self.stage,
            "seen": self.rewards_in_mode,
            "decided": self.decisions,
            "usual": self.baseline_decisions,
            "budget": self.budgets,
            "lowest": self.lowest_budgets,
            "armed": sorted(self.armed),
            "gate": self.evidence.pack(),
        }

    def unpack(self, packed: JsonObject) -> None:
        self.mode, self.share, self.sent_back, self.stage = (
            packed["mode"],
            packed["share"],
            packed["held"],
            packed["stage"],
        )
        self.rewards_in_mode, self.decisions, self.baseline_decisions = (
            packed["seen"],
            packed["decided"],
            packed["usual"],
        )
        self.budgets, self.lowest_budgets = dict(packed["budget"]), dict(packed["lowest"])
        self.armed = set(packed["armed"])
        self.evidence = Evidence.unpack(packed["gate"])

    # Rules ----------------------------------------------------------------------------------------

    def rule_due(self) -> ModeRule | None:
        for metric, bound in self.budgets.items() if self.returns and self.mode in PLAYED else ():
            least = self.least_budgets[metric]
            if metric in self.armed and bound < least - 1e-9:
                what = f"the budget of {metric}" if metric else "the budget"
                return ModeRule(
                    "shadow", f"the lower bound of {what}, {bound:.4g}, fell below {least:g}", True
                )
        if self.mode == "capped" and self.evidence.verdict(self.mode) == "worse":
            return ModeRule(
                "shadow",
                "the policy is worse than the baseline: difference at most "
                f"{self._in_rewards(1):.4g}",
                True,
            )
        rule = None if self.sent_back or self.mode == "full" else self.spec.promote.get(self.mode)
        if rule is None or (rule.after is not None and self.rewards_in_mode < rule.after):
            return None
        why = f"{self.rewards_in_mode} rewards in mode {self.mode}"
        if rule.better:
            if self.mode not in JUDGED or self.evidence.verdict(self.mode) != "better":
                return None
            why = (
                "the policy is better than the baseline: difference at least "
                f"{self._in_rewards(0):.4g}"
            )
        return ModeRule(MODES[MODES.index(self.mode) + 1], why, False)

    def _in_rewards(self, side: int) -> float:
        return self.evidence.difference()[side] * (self.rewards[1] - self.rewards[0])
