"""The gate: is the policy better than the baseline, or worse? From propensities and rewards, with bounds that hold at all times at once.

With w and v the weights of the policy and of the baseline (chance of the played arm over its logged propensity) and R in [0, 1],
(w R + v (1 - R)) / 2 has the mean (1 + V(policy) - V(baseline)) / 2 and is never below 0, so a confidence sequence on it with k = 0 bounds
the difference from below, and the same with the two exchanged from above (specs of `inference.sequences`). Arms that the log could not
play only lower both scores, which keeps both bounds. Scores enter in the order of decisions, whenever rewards come, so that a delay that
depends on the reward does not bias.
"""

import math
from collections import OrderedDict
from typing import Any

import numpy as np

from ..inference.sequences import lower_bounds

LEAST_ESS, LEAST_SHARE, UNSEEN = 100.0, 0.01, 0.05  # as in `tr.evaluate`: with less overlap nothing is said
Score = tuple[float, float, float, bool]  # w, v, reward in [0, 1], whether the policy's choice could have been played


class Gate:
    """The evidence of one stage of a rollout. error: of each of the two statements, better and worse."""

    def __init__(self, error: float) -> None:
        self.error = error
        self.better, self.worse = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]  # (t, sum, V) of the two sequences
        self.sums = [0.0] * 8  # of w, w^2, v, v^2, w R, (w R)^2, v R, (v R)^2
        self.unseen = 0  # decisions whose wanted arm could not have been played
        self.outside = 0  # rewards outside the declared range
        self.waiting: OrderedDict[str, tuple[float, float, bool]] = OrderedDict()  # decisions without a reward yet, and those behind them
        self.held: dict[str, Score | None] = {}  # of those behind: what they will add

    def opened(self, id: str, w: float, v: float, seen: bool) -> None:
        """A decision was made."""
        self.waiting[id] = (w, v, seen)

    def ended(self, id: str, reward: float | None) -> None:
        """It has its reward, in [0, 1] where it is in its range; None: it will have none."""
        found = self.waiting.get(id)
        if found is None:
            return
        w, v, seen = found
        self.held[id] = None if reward is None else (w, v, reward, seen)
        while self.waiting:
            first = next(iter(self.waiting))
            if first not in self.held:
                return
            del self.waiting[first]
            score = self.held.pop(first)
            if score is not None:
                self._take(*score)

    def _take(self, w: float, v: float, reward: float, seen: bool) -> None:
        if not 0.0 <= reward <= 1.0:
            self.outside += 1
            return
        self.unseen += not seen
        advance(self.better, 0.5 * (w * reward + v * (1.0 - reward)))
        advance(self.worse, 0.5 * (v * reward + w * (1.0 - reward)))
        for place, value in enumerate((w, w * w, v, v * v, w * reward, (w * reward) ** 2, v * reward, (v * reward) ** 2)):
            self.sums[place] += value

    @property
    def rounds(self) -> int:
        """Rewards taken in."""
        return int(self.better[0])

    def difference(self) -> tuple[float, float]:
        """Bounds on V(policy) - V(baseline), the mean of the stage's rounds so far, rewards in [0, 1]."""
        low, high = lower_bounds(np.array([self.better, self.worse]), self.error, 0.0).tolist()
        return 2.0 * low - 1.0, 1.0 - 2.0 * high

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
        if self.unseen > UNSEEN * n:
            remedy = "say what production plays (rollout.production), or go on to mode capped, which plays them"
            return f"not enough overlap: {self.unseen / n:.0%} of what the policy wants are arms that mode {mode} never plays; {remedy}."
        if ess < max(LEAST_ESS, LEAST_SHARE * n):
            return f"not enough overlap: effective sample size {ess:.0f} of {n}; wait, or raise the share."
        low, high = self.difference()
        return "better" if low > 0.0 else "worse" if high < 0.0 else "undecided"

    def report(self, mode: str, rewards: tuple[float, float]) -> dict[str, Any]:
        """What is known, in units of the reward; estimates are null where the verdict refuses them."""
        n, scale, verdict = self.rounds, rewards[1] - rewards[0], self.verdict(mode)
        told: dict[str, Any] = {"verdict": verdict, "rounds": n, "waiting": len(self.waiting), "effective_sample_size": self.ess(),
                                "error": self.error, "policy": None, "baseline": None, "difference": None}  # fmt: skip
        if verdict not in ("better", "worse", "undecided"):
            return told
        low, high = self.difference()
        values = {}
        for name, place in (("policy", 4), ("baseline", 6)):
            mean = self.sums[place] / n
            se = math.sqrt(max(self.sums[place + 1] / n - mean * mean, 0.0) / n)
            values[name] = {"value": rewards[0] + scale * mean, "se": scale * se}
        return told | values | {"difference": [scale * low, scale * high]}

    def pack(self) -> dict[str, Any]:
        """All of it in JSON's terms."""
        return {"error": self.error, "better": self.better, "worse": self.worse, "sums": self.sums, "unseen": self.unseen,
                "outside": self.outside, "held": list(self.held.items()),
                "waiting": [[id, *one] for id, one in self.waiting.items()]}  # fmt: skip

    @classmethod
    def unpack(cls, told: dict[str, Any]) -> "Gate":
        """The gate that `pack` wrote."""
        made = cls(told["error"])
        made.better, made.worse, made.sums = list(told["better"]), list(told["worse"]), list(told["sums"])
        made.unseen, made.outside = told["unseen"], told["outside"]
        made.waiting.update((id, (w, v, seen)) for id, w, v, seen in told["waiting"])
        made.held = {id: None if score is None else tuple(score) for id, score in told["held"]}
        return made


def advance(state: list[float], score: float) -> None:
    """Add a score to a sequence's (t, sum, V), as `inference.kernels.advance` does with k = 0."""
    t, total, variance = state
    guess = min(total / t, 1.0) if t > 0.0 else 0.0
    state[0], state[1], state[2] = t + 1.0, total + score, variance + (score - guess) ** 2
