"""The budget where requests leave arms out, of which none knows why.

A shop that offers an arm to some visitors only may offer it to those with whom the baseline earns most. So the baseline has a mean of its
own wherever other arms are left out, a mask; each is learned from the baseline's rounds with that mask, and the rounds with another arm are
charged with what the baseline earns there at most. Of the rounds of a promise, X with another arm and B with the baseline's,

    sum_X mu + alpha sum_B mu_b - (1 - alpha) sum_X mu_b >= L(X) + alpha L(B) - (1 - alpha) sum_masks n_X U

with `sum_bound` (`policies.conservative.ledger`) for L and, of 1 - reward, for U, which hold at all times. A round whose reward is not in
counts as the worst. The errors: SHARE of delta, half of it for L of the promises, half for U of the masks, of which the j-th may fail with
1 / (j (j + 1)) of that.
"""

import math
from collections.abc import Collection
from typing import NamedTuple

from ...core.types import JsonObject
from ...policies.conservative.ledger import SLOPES, sum_bound
from .spec import OTHER, ExperimentSpec

SHARE = 0.1  # of delta, with which the bounds of this file may fail
MOST_MASKS = 256  # that have a mean of their own; the baseline of all others is taken to earn the most that there can be
REST = ""  # in place of the arms of a mask behind those

Mask = tuple[str, ...]  # what the promise is about, then ids of the arms that were left out


def left_out(question: JsonObject, arms: Collection[str]) -> list[str]:
    eligible, excluded = question.get("eligible"), question.get("excluded", ())
    if eligible is None and not excluded:  # as in nearly every request: no look at every arm
        return []
    return sorted(arm for arm in arms if arm in excluded or (eligible is not None and arm not in eligible))


class RoundSums:
    """Sums over rounds of the baseline, or of other arms. total: of the rewards that came, in [0, 1]."""

    __slots__ = ("decided", "rewarded", "total")

    def __init__(self, decided: int = 0, rewarded: int = 0, total: float = 0.0) -> None:
        self.decided, self.rewarded, self.total = decided, rewarded, total

    def add(self, decided: int, rewarded: int, total: float) -> None:
        self.decided, self.rewarded, self.total = self.decided + decided, self.rewarded + rewarded, self.total + total

    def pack(self) -> list[float]:
        return [self.decided, self.rewarded, self.total]

    def lower(self, level: float, more: int = 0) -> float:
        """Lower bound of the sum of their means. more: rounds without a reward."""
        return float(sum_bound(self.total, float(max(self.decided + more, 1)), level, SLOPES.size // 2)[0])

    def upper_mean(self, level: float) -> float:
        if not self.decided:
            return 1.0
        return 1.0 - float(sum_bound(self.rewarded - self.total, float(self.decided), level, SLOPES.size // 2)[0]) / self.decided


class MaskRounds(NamedTuple):
    """The rounds with one mask. baseline, others: by the arm that was played. promise: what they count for."""

    promise: str
    baseline: RoundSums
    others: RoundSums


class NextRound(NamedTuple):
    """A round that is not counted yet. baseline: whether it plays the baseline."""

    mask: Mask
    baseline: bool


class MaskedBudget:
    """The rounds of an experiment by their masks. Changed by events only."""

    def __init__(self, spec: ExperimentSpec, alpha: float, delta: float) -> None:
        self.baseline, self.by, self.alpha, self.failure = str(spec.baseline), spec.promise_by, alpha, SHARE * delta
        self.low, high = spec.reward_range or (0.0, 1.0)
        self.span = high - self.low
        self.promises = {promise: MaskRounds(promise, RoundSums(), RoundSums()) for promise in spec.promised_values or [OTHER]}
        self.means = spec.baseline_means or ({} if spec.baseline_mean is None else dict.fromkeys([*self.promises], spec.baseline_mean))
        self.level = math.log(4.0 * len(self.promises) * SLOPES.size / self.failure)  # of L
        self.masks: dict[Mask, MaskRounds] = {}
        self.upper: dict[Mask, float] = {}  # of the baseline's mean, in [0, 1], the least so far
        self.open: dict[str, tuple[Mask, bool]] = {}  # decisions without a reward, and whether they play the baseline

    def mask(self, question: JsonObject, arms: Collection[str]) -> Mask:
        promise = OTHER if self.by is None else question["segments"][self.by]
        mask = (promise, *left_out(question, arms))
        return mask if mask in self.masks or len(self.masks) < MOST_MASKS else (promise, REST)

    # Events ---------------------------------------------------------------------------------------------------------------

    def decide(self, decision: str, arm: str, mask: Mask) -> None:
        if mask not in self.masks:
            self.masks[mask], self.upper[mask] = MaskRounds(mask[0], RoundSums(), RoundSums()), self.upper_at_first(mask)
        self.open[decision] = mask, arm == self.baseline
        self._count(*self.open[decision], 1, 0, 0.0)

    def end(self, decision: str, reward: float | None, cancelled: bool = False) -> None:
        if decision not in self.open:
            return
        mask, baseline = self.open.pop(decision)
        if cancelled:
            self._count(mask, baseline, -1, 0, 0.0)
        elif reward is not None:
            self._count(mask, baseline, 0, 1, min(max((reward - self.low) / self.span, 0.0), 1.0))

    def _count(self, mask: Mask, baseline: bool, decided: int, rewarded: int, total: float) -> None:
        for one in (self.masks[mask], self.promises[mask[0]]):
            (one.baseline if baseline else one.others).add(decided, rewarded, total)
        if baseline and mask[-1] != REST:
            place = [*self.masks].index(mask) + 1
            level = math.log(2.0 * place * (place + 1) * SLOPES.size / self.failure)
            self.upper[mask] = min(self.upper[mask], self.masks[mask].baseline.upper_mean(level))

    # What follows from it -------------------------------------------------------------------------------------------------

    def upper_at_first(self, mask: Mask) -> float:
        """Upper bound of the baseline's mean before anything is known of a mask. Where it is left out itself, which breaks the promise,
        nothing will be, and what was told of it is taken."""
        return (self.means[mask[0]] - self.low) / self.span if self.means and self.baseline in mask else 1.0

    def used(self, promise: str, more: NextRound | None = None) -> bool:
        """Whether the policy's own ledger does not do for the rounds of a promise: they had more than one mask, or a mean that was told of
        all rounds is taken for that of a mask."""
        masks = {mask for mask in (*self.masks, *(() if more is None else (more.mask,))) if mask[0] == promise}
        return len(masks) > 1 or (bool(self.means) and any(len(mask) > 1 for mask in masks))

    def bound(self, promise: str, more: NextRound | None = None) -> float:
        """Lower bound of the budget of a promise. more: one more round of it, which has earned the least."""
        own, others = self.promises[promise].baseline, self.promises[promise].others
        extra = int(more is not None and not more.baseline)
        earned = self.low * (others.decided + extra) + self.span * others.lower(self.level, extra)
        extra = int(more is not None and more.baseline)
        earned += self.alpha * (self.low * (own.decided + extra) + self.span * own.lower(self.level, extra))
        charged = [
            one.others.decided * (self.low + self.span * self.upper[mask]) for mask, one in self.masks.items() if one.promise == promise
        ]
        if more is not None and not more.baseline:
            charged.append(self.low + self.span * self.upper.get(more.mask, self.upper_at_first(more.mask)))
        return earned - (1.0 - self.alpha) * math.fsum(charged)

    def allows(self, mask: Mask) -> bool:
        more = NextRound(mask, False)
        return not self.used(mask[0], more) or self.bound(mask[0], more) >= 0.0

    def corrected(self, report: JsonObject, more: NextRound | None = None) -> JsonObject:
        """What a policy says of its budget, of which its own ledger knows no masks, with them. more: a round that the ledger has."""
        if not any(self.used(promise, more) for promise in self.promises):
            return report
        each = []
        for promise, bound in zip(self.promises, report.get("segments", [report["budget_bound"]]), strict=True):
            last = more if more is not None and more.mask[0] == promise else None
            each.append(min(bound, self.bound(promise, last)) if self.used(promise, last) else bound)
        segments = {"segments": each} if "segments" in report else {}
        return report | segments | {"budget_bound": min(each), "failure": report["failure"] + self.failure}

    # Snapshots ------------------------------------------------------------------------------------------------------------

    def pack(self) -> JsonObject:
        masks = [[[*mask], self.upper[mask], one.baseline.pack(), one.others.pack()] for mask, one in self.masks.items()]
        sums = [[one.baseline.pack(), one.others.pack()] for one in self.promises.values()]
        return {"masks": masks, "sums": sums, "open": [[id, [*mask], baseline] for id, (mask, baseline) in self.open.items()]}

    def unpack(self, packed: JsonObject) -> None:
        for mask, upper, own, others in packed["masks"]:
            self.masks[tuple(mask)] = MaskRounds(mask[0], RoundSums(*own), RoundSums(*others))
            self.upper[tuple(mask)] = upper
        for promise, (own, others) in zip(self.promises, packed["sums"], strict=True):
            self.promises[promise] = MaskRounds(promise, RoundSums(*own), RoundSums(*others))
        self.open = {id: (tuple(mask), baseline) for id, mask, baseline in packed["open"]}
