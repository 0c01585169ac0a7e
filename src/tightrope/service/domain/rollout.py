"""The rollout of a policy beside a baseline: which of both is served, with what propensity, and what is learned of them.

apprentice: the baseline is served, the policy learns from it. shadow: the same, and the log has what the policy would have played.
capped: with probability `share` the policy's choice is served, else the baseline. full: the policy's choice. In every mode the policy
learns from what was served, and the logged propensity is the chance with which the served arm was served.
"""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from ...core import streams
from ...core.types import JsonObject
from .errors import Refused
from .events import Decided, ModeChanged, Reward
from .evidence import Evidence, Weights
from .rounds import Round
from .spec import ExperimentSpec, Mode, RolloutSpec

MODES: tuple[Mode, ...] = ("apprentice", "shadow", "capped", "full")  # each further from production than the one before
JUDGED = ("shadow", "capped")  # modes in which there is something to compare with
PLAYED = ("capped", "full")  # modes in which the policy's choices are served
FULL = RolloutSpec.model_validate({"mode": "full"})


class Production(NamedTuple):
    """Production's arms of a round. arms: (n,) numbers. chances: (n,) their probabilities."""

    arms: np.ndarray
    chances: np.ndarray


class ModeRule(NamedTuple):
    """The change of mode that a rule asks for. sent_back: it is a return, behind which rules wait for a command."""

    mode: Mode
    why: str
    sent_back: bool


class Rollout:
    """Mode and evidence of an experiment. Changed by events only, so a replay finds the same."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.least_budget = spec.least_budget
        self.spec = FULL if spec.rollout is None else spec.rollout
        self.seed, self.baseline = spec.seed, spec.baseline
        self.rewards = spec.reward_range or (0.0, 1.0)
        self.mode: Mode = self.spec.mode
        self.share = self.spec.share
        self.returns = spec.oracle is None  # sets are not served beside a baseline
        self.sent_back = False  # rules wait for a command
        self.stage = 0  # judged stages so far
        self.rewards_in_mode = 0
        self.decisions = self.baseline_decisions = 0  # of the experiment, and of them the baseline's by mode or by choice
        self.budget: float | None = None  # its lower bound, in the last decision that noted it
        self.lowest_budget: float | None = None  # of all decisions
        self.armed = self.least_budget <= 0.0  # whether the budget was ever above its least
        self.evidence = self._new_evidence()

    def _new_evidence(self) -> Evidence:
        """Stage j may err with error / (j (j + 1)), so that all stages together keep `error`; half of it is for each direction."""
        if self.mode in JUDGED:
            self.stage += 1
        j = max(self.stage, 1)
        return Evidence(self.spec.error / (j * (j + 1)) / 2.0)

    def change(self, event: ModeChanged) -> None:
        self.mode, self.share, self.sent_back = event.mode, event.share, event.sent_back
        self.rewards_in_mode, self.armed = 0, self.least_budget <= 0.0
        self.evidence = self._new_evidence()

    # Decisions ------------------------------------------------------------------------------------------------------------

    def production(self, round: Round, number: Callable[[str, str], int], retired: Collection[int]) -> Production:
        """Production's arms of a round. number: of an arm, by the field that names it and its id. Refused where none is eligible."""
        baseline: int | None = None if round.context is None else round.context.baseline
        if baseline is None and self.spec.production is not None:
            shares = {number("production", arm): chance for arm, chance in self.spec.production.items()}
        else:
            if baseline is None and isinstance(self.baseline, str):
                baseline = number("baseline", self.baseline)
            if baseline is None:
                raise Refused(422, f"baseline is missing; mode {self.mode} serves it, so say which arm it is.", "baseline")
            shares = {baseline: 1.0}
        eligible = round.eligible
        left = {k: chance for k, chance in shares.items() if k not in retired and (eligible is None or eligible[k])}
        if not left:
            raise Refused(422, f"eligible has no arm of production, which mode {self.mode} serves; make its arm eligible.", "eligible")
        chances = np.array(list(left.values()))
        return Production(np.array(list(left), dtype=np.int64), chances / chances.sum())

    @property
    def policy_share(self) -> float:
        return self.share if self.mode == "capped" else 0.0

    def production_arm(self, production: Production, decided: int) -> int | None:
        """The arm that production's coin chooses; None: the decision is the policy's. decided: decisions before this one."""
        coin = streams.stream(self.seed, decided, streams.MODE)
        if self.policy_share and coin.random() < self.policy_share:
            return None
        return int(coin.choice(production.arms, p=production.chances))

    def open(self, event: Decided) -> None:
        self.decisions += 1
        if event.budget is not None:
            self.budget = event.budget
            self.lowest_budget = event.budget if self.lowest_budget is None else min(self.lowest_budget, event.budget)
            self.armed = self.armed or event.budget >= self.least_budget
        choice, chance = event.rollout, event.propensity
        if choice is None:
            return
        self.baseline_decisions += not choice.policy_served
        if choice.policy_chance is not None and choice.baseline_chance is not None and chance > 0.0:  # a chance found by draws may be 0
            weights = Weights(choice.policy_chance / chance, choice.baseline_chance / chance, choice.reachable)
            self.evidence.open(event.decision, weights)

    def end(self, decision: str, value: Reward | None) -> None:
        if value is None or isinstance(value, dict):
            self.evidence.end(decision, None)
            return
        self.rewards_in_mode += 1
        low, high = self.rewards
        self.evidence.end(decision, (value - low) / (high - low))

    # Reading --------------------------------------------------------------------------------------------------------------

    def report(self) -> JsonObject:
        return {
            "mode": self.mode,
            "share": self.share if self.mode == "capped" else float(self.mode == "full"),
            "held": self.sent_back,
            "rewards_in_mode": self.rewards_in_mode,
            "rules": {mode: rule.model_dump(exclude_defaults=True) for mode, rule in self.spec.promote.items()},
            "least_budget": self.least_budget if math.isfinite(self.least_budget) else None,
            "estimate": self.evidence.report(self.mode, self.rewards) if self.mode in JUDGED else None,
        }

    def pack(self) -> JsonObject:
        return {"mode": self.mode, "share": self.share, "held": self.sent_back, "stage": self.stage, "seen": self.rewards_in_mode,
                "decided": self.decisions, "usual": self.baseline_decisions, "budget": self.budget,
                "lowest": self.lowest_budget, "armed": self.armed,
                "gate": self.evidence.pack()}  # fmt: skip

    def unpack(self, packed: JsonObject) -> None:
        self.mode, self.share, self.sent_back, self.stage = packed["mode"], packed["share"], packed["held"], packed["stage"]
        self.rewards_in_mode, self.decisions, self.baseline_decisions = packed["seen"], packed["decided"], packed["usual"]
        self.armed, self.budget, self.lowest_budget = packed["armed"], packed["budget"], packed["lowest"]
        self.evidence = Evidence.unpack(packed["gate"])

    # Rules ----------------------------------------------------------------------------------------------------------------

    def rule_due(self) -> ModeRule | None:
        budget, least = self.budget, self.least_budget
        if budget is not None and self.armed and self.returns and self.mode in PLAYED and budget < least - 1e-9:
            return ModeRule("shadow", f"the lower bound of the budget, {budget:.4g}, fell below {least:g}", True)
        if self.mode == "capped" and self.evidence.verdict(self.mode) == "worse":
            return ModeRule("shadow", f"the policy is worse than the baseline: difference at most {self._in_rewards(1):.4g}", True)
        rule = None if self.sent_back or self.mode == "full" else self.spec.promote.get(self.mode)
        if rule is None or (rule.after is not None and self.rewards_in_mode < rule.after):
            return None
        why = f"{self.rewards_in_mode} rewards in mode {self.mode}"
        if rule.better:
            if self.mode not in JUDGED or self.evidence.verdict(self.mode) != "better":
                return None
            why = f"the policy is better than the baseline: difference at least {self._in_rewards(0):.4g}"
        return ModeRule(MODES[MODES.index(self.mode) + 1], why, False)

    def _in_rewards(self, side: int) -> float:
        return self.evidence.difference()[side] * (self.rewards[1] - self.rewards[0])
