"""`compare`: several policies on one log, which of them may be promoted, and which can be given up."""

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from .evaluation import Evaluation, Options, Pass, assembled, check_support
from .logs import Log
from .sequences import shown_times
from .targets import LOGGED, Judged, Target

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies on one log, all judged in one pass.

    evaluations: by name, each at level 1 - alpha / m, so that all m hold together. baseline: of the baseline, at level 1 - alpha.
    alive: names of the policies that may still be the best: those whose upper bound was never below another's lower bound, looked at
    in rounds 1, 2, 3, .., about 1.05^j, which a longer log has as well, so that no policy comes back. winner: the policy that is left
    alone and was promoted; None while there is none. alpha: the error of all statements together.
    """

    evaluations: dict[str, Evaluation]
    baseline: Evaluation
    alive: tuple[str, ...]
    winner: str | None
    alpha: float

    def __str__(self) -> str:
        lines = [f"{'policy':20s} {'value':>10s} {'se':>9s} {'lower':>10s} {'upper':>10s} {'ess':>9s}  verdict"]
        for name, e in {**self.evaluations, "(baseline)": self.baseline}.items():
            low, high = e.interval
            gone = "" if name in self.alive or e is self.baseline else ", cannot be the best"
            lines.append(f"{name:20s} {e.value:10.4g} {e.se:9.2g} {low:10.4g} {high:10.4g} {e.ess:9,.0f}  {e.verdict}{gone}")
        return "\n".join([*lines, self.conclusion])

    @property
    def conclusion(self) -> str:
        """Who won, or who still may, in a sentence."""
        if not self.alive:
            return "Each of them was certainly worse than another at some time: the world has changed, and none is the best throughout."
        if self.winner is not None:
            return f"The winner is {self.winner}."
        if len(self.alive) == 1:
            return f"Only {self.alive[0]} can be the best of these; against the baseline: {self.evaluations[self.alive[0]].verdict}."
        return f"No winner yet: {', '.join(self.alive)} may still be the best."

    def record(self) -> dict[str, Any]:
        """All of it as numbers, text, lists and dicts, ready for JSON."""
        policies = {name: each.record() for name, each in self.evaluations.items()}
        given = {"winner": self.winner, "alive": list(self.alive), "alpha": self.alpha}
        return given | {"policies": policies, "baseline": self.baseline.record()}

    def frame(self) -> "pd.DataFrame":
        """A pandas DataFrame, a row for each policy and one for the baseline: value, se, lower, upper, ess, difference, verdict, alive."""
        import pandas as pd

        rows = []
        for name, e in {**self.evaluations, "(baseline)": self.baseline}.items():
            gap = (np.nan, np.nan) if e.difference is None else (float(e.difference.lower[-1]), float(e.difference.upper[-1]))
            rows.append((name, e.value, e.se, *e.interval, e.ess, *gap, e.verdict, e.decided, e is self.baseline or name in self.alive))
        names = ["policy", "value", "se", "lower", "upper", "ess", "difference_lower", "difference_upper", "verdict", "decided", "alive"]
        return pd.DataFrame(rows, columns=names)

    def plot(self, path: str | pathlib.Path, **options: Any) -> pathlib.Path:
        """Draw every policy's sequence over time to an SVG, PNG or PDF file; returns its path."""
        from ..reports.inference import save_comparison

        return save_comparison(self, pathlib.Path(path), **options)


def compare(
    log: Log, policies: Mapping[str, Judged], *, baseline: Judged = LOGGED,
    estimator: Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"] = "dr",
    model: Literal["ridge"] | ArrayLike | None = "ridge", alpha: float = 0.05, clip: float = 10.0, k: float = 1.0, rho: float = 1.0,
) -> Comparison:  # fmt: skip
    """Judge several policies on a log at once, against a baseline.

    policies: name -> policy, as in `evaluate`. baseline: what they would replace; default: the logger. The other arguments are those
    of `evaluate`. alpha is shared: each of m policies has intervals and a gate at level alpha / m, so with probability 1 - alpha
    nothing that is said of any of them, at any round, is wrong.

    Returns a `Comparison`. Raises ValueError as `evaluate` does, naming the policy.
    """
    options = Options.checked(estimator, alpha, k, rho, clip)
    if not isinstance(log, Log):
        raise ValueError(f"log = {checks.show(log)} is not a log; make one with tr.logs.from_frame or another function of tr.logs.")
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies = {checks.show(policies)} must be a dict of name -> policy with at least one entry.")
    m = len(policies)
    targets = [Target(log, given, f"policies[{name!r}]") for name, given in policies.items()]
    read = Pass(log, targets, Target(log, baseline, "baseline"), model, options, share=m)
    assert read.baseline is not None
    check_support(log, read.baseline)
    found = {
        name: assembled(read, item, duel, anytime=True, alpha=options.alpha / m, name=name)
        for name, item, duel in zip(policies, read.targets, read.duels, strict=True)
    }
    against = assembled(read, read.baseline, None, anytime=True, alpha=options.alpha, name="baseline")
    bounds = [read.bounds(item.seen, options.alpha / m) for item in read.targets]
    best = np.max([pair[0] for pair in bounds], axis=0)
    looked = np.isin(read.times, shown_times(log.rounds + 1))
    alive = tuple(name for name, pair in zip(found, bounds, strict=True) if (pair[1] >= best)[looked].all())
    winner = alive[0] if len(alive) == 1 and found[alive[0]].verdict == "promote" else None
    return Comparison(found, against, alive, winner, options.alpha)
