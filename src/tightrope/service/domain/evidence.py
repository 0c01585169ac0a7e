"""Evidence of a rollout: is the policy better than the baseline, or worse? From propensities and rewards, with bounds that hold at all
times at once.

With w and v the weights of the policy and of the baseline (chance of the played arm over its logged propensity) and R in [0, 1],
(w R + v (1 - R)) / 2 has the mean (1 + V(policy) - V(baseline)) / 2 and is never below 0, so a confidence sequence on it with k = 0 bounds
the difference from below, and the same with the two exchanged from above (see `evaluation.sequences`). Arms that the log could not
play only lower both scores, which keeps both bounds. Scores enter in the order of decisions, whenever rewards come, so that a delay that
depends on the reward does not bias.
"""

import math
from collections import OrderedDict
from typing import NamedTuple, Self

from ...core.types import JsonObject
from ...evaluation.estimators import ConfidenceSequence

LEAST_ESS, LEAST_SHARE, MOST_UNREACHABLE = 100.0, 0.01, 0.05  # as in `tr.evaluate`: with less overlap nothing is said


class Weights(NamedTuple):
    """Of one decision. policy, baseline: the chance of the played arm with each, over its logged propensity. reachable: whether the
    policy's choice could have been played."""

    policy: float
    baseline: float
    reachable: bool


class Evidence:
    """The evidence of one stage of a rollout. error: of each of the two statements, better and worse."""

    def __init__(self, error: float) -> None:
        self.error = error
        self.difference_scores = ConfidenceSequence(
            2.0 * error, k=0.0
        )  # lower: for policy minus baseline, upper: for baseline minus policy
        self.sums = [0.0] * 8  # of w, w^2, v, v^2, w R, (w R)^2, v R, (v R)^2
        self.unreachable = 0  # decisions whose wanted arm could not have been played
        self.outside = 0  # rewards outside the declared range
        self.waiting: OrderedDict[str, Weights] = OrderedDict()  # decisions without a reward yet, and those behind them
        self.ended: dict[str, float | None] = {}  # of those behind: their rewards; None: they have none

    def open(self, decision: str, weights: Weights) -> None:
        self.waiting[decision] = weights

    def end(self, decision: str, reward: float | None) -> None:
        if decision not in self.waiting:
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
        self.difference_scores.add(0.5 * (w * reward + v * (1.0 - reward)), 0.5 * (v * reward + w * (1.0 - reward)))
        for place, value in enumerate((w, w * w, v, v * v, w * reward, (w * reward) ** 2, v * reward, (v * reward) ** 2)):
            self.sums[place] += value

    @property
    def rounds(self) -> int:
        return self.difference_scores.rounds

    def difference(self) -> tuple[float, float]:
        """Bounds on V(policy) - V(baseline), the mean of the stage's rounds so far, rewards in [0, 1]."""
        low, high = self.difference_scores.bounds
        return 2.0 * low - 1.0, 2.0 * high - 1.0

    def ess(self) -> float:
        """Effective sample size of the policy's weights, in rounds."""
        return self.sums[0] ** 2 / self.sums[1] if self.sums[1] > 0.0 else 0.0

    def verdict(self, mode: str) -> str:
        """ "better", "worse", "undecided", or a sentence why nothing is said."""
        if self.outside:
            return (
                f"{self.outside} rewards are outside the declared range; nothing is said; create the experiment with the range that holds."
            )
        if not self.rounds:
            return "no reward yet"
        n, ess = self.rounds, self.ess()
        if self.unreachable > MOST_UNREACHABLE * n:
            remedy = "say what production plays (rollout.production), or go on to mode capped, which plays them"
            return (
                f"not enough overlap: {self.unreachable / n:.0%} of what the policy wants are arms that mode {mode} never plays; {remedy}."
            )
        if ess < max(LEAST_ESS, LEAST_SHARE * n):
            return f"not enough overlap: effective sample size {ess:.0f} of {n}; wait, or raise the share."
        low, high = self.difference()
        return "better" if low > 0.0 else "worse" if high < 0.0 else "undecided"

    def report(self, mode: str, rewards: tuple[float, float]) -> JsonObject:
        """The evidence so far, in units of the reward; estimates are null where the verdict refuses them."""
        n, scale, verdict = self.rounds, rewards[1] - rewards[0], self.verdict(mode)
        report: JsonObject = {"verdict": verdict, "rounds": n, "waiting": len(self.waiting), "effective_sample_size": self.ess(),
                                  "error": self.error, "policy": None, "baseline": None, "difference": None}  # fmt: skip
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
        ended = [
            [decision, None if reward is None else [*self.waiting[decision][:2], reward, self.waiting[decision].reachable]]
            for decision, reward in self.ended.items()
        ]
        return {"error": self.error, "better": better, "worse": worse, "sums": self.sums, "unseen": self.unreachable,
                "outside": self.outside, "held": ended,
                "waiting": [[decision, *weights] for decision, weights in self.waiting.items()]}  # fmt: skip

    @classmethod
    def unpack(cls, packed: JsonObject) -> Self:
        evidence = cls(packed["error"])
        evidence.difference_scores.state = [list(packed["better"]), list(packed["worse"])]
        evidence.sums, evidence.unreachable, evidence.outside = list(packed["sums"]), packed["unseen"], packed["outside"]
        evidence.waiting.update((decision, Weights(*weights)) for decision, *weights in packed["waiting"])
        evidence.ended = {decision: None if score is None else score[2] for decision, score in packed["held"]}
        return evidence
