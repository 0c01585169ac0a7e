"""Figure 2: samples needed with canonical arms, where XY-static is almost optimal among static designs."""

import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row
from .comparison import STATIC, ZERO, Runs, everything, lines, no_errors, times
from .comparison import table as sample_table
from .settings import THETA_BOUND, canonical

Cases = dict[str, dict[float, Runs]]  # bound on theta -> gap -> all methods


def data(run: Run) -> Cases:
    """All methods at every gap, told both readings of the bound on theta."""
    gaps = run.at(smoke=(0.3, 0.5), laptop=(0.1, 0.2, 0.3, 0.4, 0.5), paper=(0.1, 0.2, 0.3, 0.4, 0.5))
    return {
        "2": {gap: everything(run, f"fig2-{gap:g}", canonical(gap), gap, 10**9, THETA_BOUND) for gap in gaps},
        "gap": {gap: everything(run, f"fig2-tight-{gap:g}", canonical(gap), gap, 10**9, theta_bound=gap) for gap in gaps},
    }


def score(found: Cases) -> list[Row]:
    """LinGapE against XY-static at every gap."""
    claims = [
        times(f"gap {gap:g}, θ bound {label}: LinGapE (ε = 0) needs fewer samples than XY-static", "fewer", runs, STATIC, ZERO, 1)
        for label, cases in found.items()
        for gap, runs in cases.items()
    ]
    return [*claims, no_errors([(runs, 0) for cases in found.values() for runs in cases.values()])]


def tables(found: Cases) -> dict[str, pd.DataFrame]:
    """Samples by gap and method."""
    return {f"theta_bound = {label}": sample_table(cases, "gap") for label, cases in found.items()}


def plot(found: Cases) -> dict[str, Figure]:
    """Samples against the gap."""
    return {f"samples-{label}": lines(sample_table(cases, "gap"), "gap", f"gap (theta_bound = {label})") for label, cases in found.items()}


def notes(_: Cases) -> str:
    """What the paper leaves open."""
    return "The paper's bound on θ is lost; 2, as in Figure 1, and the gap itself are shown."
