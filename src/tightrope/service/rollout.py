"""The rollout of a policy beside a baseline: which of both is served, with what propensity, and what is learned of them.

apprentice: the baseline is served, the policy learns from it. shadow: the same, and the log has what the policy would have played.
capped: with probability `share` the policy's choice is served, else the baseline. full: the policy's choice. In every mode the policy
learns from what was served, and the logged propensity is the chance with which the served arm was served.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import rng
from ..serving.decisions import Decision
from .errors import Refused
from .gate import Gate
from .spec import ExperimentSpec, Mode, RolloutSpec

if TYPE_CHECKING:
    from .experiment import Experiment

MODES: tuple[Mode, ...] = ("apprentice", "shadow", "capped", "full")
JUDGED = ("shadow", "capped")  # modes in which there is something to compare with
PLAYED = ("capped", "full")  # modes in which the policy's choices are served
WHOLE = RolloutSpec.model_validate({"mode": "full"})


class Rollout:
    """Mode and evidence of an experiment. Changed by events only, so a replay finds the same."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.spec = WHOLE if spec.rollout is None else spec.rollout
        self.mode: Mode = self.spec.mode
        self.share = self.spec.share
        self.returns = spec.oracle is None  # sets are not served beside a baseline
        self.held = False  # sent back: rules wait for a command
        self.stage = 0  # judged stages so far
        self.seen = 0  # rewards of this mode
        self.decided = self.usual = 0  # decisions of the experiment, and of them the baseline's by mode or by choice
        self.budget: float | None = None  # its lower bound, as the last decision that looked has told it
        self.armed = self.spec.least_budget <= 0.0  # whether the budget was ever above its least
        self.gate = self._new_gate()

    def _new_gate(self) -> Gate:
        """Stage j may err with error / (j (j + 1)), so that all stages together keep `error`; half of it is for each direction."""
        if self.mode in JUDGED:
            self.stage += 1
        j = max(self.stage, 1)
        return Gate(self.spec.error / (j * (j + 1)) / 2.0)

    def change(self, body: dict[str, Any]) -> None:
        """The event "mode changed"."""
        self.mode, self.share, self.held = body["mode"], body["share"], body["held"]
        self.seen, self.armed = 0, self.spec.least_budget <= 0.0
        self.gate = self._new_gate()

    # Decisions ------------------------------------------------------------------------------------------------------------

    def decide(
        self, live: "Experiment", context: Any, eligible: np.ndarray | None, id: str, names: list[str] | None
    ) -> tuple[Decision, dict[str, Any], str]:
        """The decision in a mode other than full, what the log notes beside it, and why it was made."""
        numbers, chances = self.production(live, context, eligible)
        coin = rng.stream(live.spec.seed, live.session.decided, rng.MODE)
        share = self.share if self.mode == "capped" else 0.0
        arm = None if share and coin.random() < share else int(coin.choice(numbers, p=chances))
        usual = dict(zip(numbers.tolist(), chances.tolist(), strict=True))

        def chance(played: int, own: float) -> float:
            """Of what is served: the mixture of both."""
            return usual.get(played, 0.0) if share == 0.0 else share * own + (1.0 - share) * usual.get(played, 0.0)

        made, wanted, own = live.session.decide_beside(arm, chance, context, eligible, id, names, self.mode != "apprentice")
        told: dict[str, Any] = {"mode": self.mode, "wanted": wanted}
        if self.mode == "apprentice":
            return made, told, f"{made.name}: production's choice; the policy learns from it (mode apprentice)"
        told |= {"own": own, "usual": usual.get(made.arm, 0.0), "seen": share > 0.0 or wanted in usual, "policys": arm is None}
        if arm is None:
            return made, told, f"{made.reason} (mode capped: {share:.3g} of the decisions are the policy's)"
        other = names[wanted] if names is not None else live.session.names[wanted] if live.session.names else wanted
        return made, told, f"{made.name}: production's choice (mode {self.mode}); the policy would have played {other}"

    def production(self, live: "Experiment", context: Any, eligible: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """What production plays in a round: numbers of arms, and their probabilities. Refused where none of it is eligible."""
        given: int | None = None if context is None else context.baseline
        if given is None and self.spec.production is not None:
            shares = {live.number("production", arm): p for arm, p in self.spec.production.items()}
        else:
            if given is None and isinstance(live.spec.baseline, str):
                given = live.number("baseline", live.spec.baseline)
            elif given is None and live.spec.baseline is None:  # made before a spec that hides it in the policy was refused
                own = getattr(live.session.policy, "baseline", -1)
                given = own if isinstance(own, int) and own >= 0 else None
            if given is None:
                raise Refused(422, f"baseline is missing; mode {self.mode} serves it, so say which arm it is.", "baseline")
            shares = {given: 1.0}
        retired = {live.number("arm", str(arm)) for arm in live.session.retired}
        left = {k: p for k, p in shares.items() if k not in retired and (eligible is None or eligible[k])}
        if not left:
            raise Refused(422, f"eligible has no arm of production, which mode {self.mode} serves; make its arm eligible.", "eligible")
        numbers, chances = np.array(list(left), dtype=np.int64), np.array(list(left.values()))
        return numbers, chances / chances.sum()

    def coin_agrees(self, live: "Experiment", context: Any, eligible: np.ndarray | None, body: dict[str, Any]) -> bool:
        """Whether the mode's coin falls in a replay as it did then. Asked before the decision is made again."""
        told = body["rollout"]
        numbers, chances = self.production(live, context, eligible)
        coin = rng.stream(live.spec.seed, live.session.decided, rng.MODE)
        policys = told["mode"] == "capped" and coin.random() < self.share
        if policys:
            return bool(told["policys"] and body["arm"] == told["wanted"])
        return int(coin.choice(numbers, p=chances)) == body["arm"]

    def opened(self, id: str, body: dict[str, Any]) -> None:
        """A decision was made."""
        told = body.get("rollout")
        self.decided += 1
        self.usual += told is not None and not told.get("policys", False)
        if "budget" in body:
            self.budget = body["budget"]
            self.armed = self.armed or body["budget"] >= self.spec.least_budget
        h = body["propensity"]
        if told is not None and told["mode"] in JUDGED and h > 0.0:  # a chance found by draws may be 0
            self.gate.opened(id, told["own"] / h, told["usual"] / h, told["seen"])

    def ended(self, id: str, value: Any) -> None:
        """A decision has its reward, or (None) will have none."""
        if value is None or isinstance(value, dict):
            self.gate.ended(id, None)
            return
        self.seen += 1
        low, high = self.spec.rewards
        self.gate.ended(id, (value - low) / (high - low))

    # Reading --------------------------------------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Mode, rules and evidence."""
        told: dict[str, Any] = {
            "mode": self.mode,
            "share": self.share if self.mode == "capped" else float(self.mode == "full"),
            "held": self.held,
            "rewards_in_mode": self.seen,
            "rules": {mode: rule.model_dump(exclude_defaults=True) for mode, rule in self.spec.promote.items()},
            "least_budget": self.spec.least_budget,
        }
        return told | {"estimate": self.gate.report(self.mode, self.spec.rewards) if self.mode in JUDGED else None}

    def pack(self) -> dict[str, Any]:
        """All of it in JSON's terms."""
        return {"mode": self.mode, "share": self.share, "held": self.held, "stage": self.stage, "seen": self.seen,
                "decided": self.decided, "usual": self.usual, "budget": self.budget, "armed": self.armed,
                "gate": self.gate.pack()}  # fmt: skip

    def unpack(self, told: dict[str, Any]) -> None:
        """Become what `pack` wrote."""
        self.mode, self.share, self.held, self.stage = told["mode"], told["share"], told["held"], told["stage"]
        self.seen, self.decided, self.usual, self.armed = told["seen"], told["decided"], told["usual"], told["armed"]
        self.budget, self.gate = told["budget"], Gate.unpack(told["gate"])

    # Rules ----------------------------------------------------------------------------------------------------------------

    def due(self) -> tuple[Mode, str, bool] | None:
        """The change that a rule asks for: mode, why, and whether it is a return."""
        budget = self.budget
        if budget is not None and self.armed and self.returns and self.mode in PLAYED and budget < self.spec.least_budget - 1e-9:
            return "shadow", f"the lower bound of the budget, {budget:.4g}, fell below {self.spec.least_budget:g}", True
        if self.mode in JUDGED and self.mode != "shadow" and self.gate.verdict(self.mode) == "worse":
            return "shadow", f"the policy is worse than the baseline: difference at most {self._unit(1):.4g}", True
        rule = None if self.held or self.mode == "full" else self.spec.promote.get(self.mode)
        if rule is None or (rule.after is not None and self.seen < rule.after):
            return None
        why = f"{self.seen} rewards in mode {self.mode}"
        if rule.better:
            if self.mode not in JUDGED or self.gate.verdict(self.mode) != "better":
                return None
            why = f"the policy is better than the baseline: difference at least {self._unit(0):.4g}"
        return MODES[MODES.index(self.mode) + 1], why, False

    def _unit(self, side: int) -> float:
        """An end of the difference, in units of the reward."""
        return self.gate.difference()[side] * (self.spec.rewards[1] - self.spec.rewards[0])
