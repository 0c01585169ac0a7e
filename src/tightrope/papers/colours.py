"""The order of each paper's policies, so that a name has the same colour in all figures of its page; names that are not here come after."""

from ..plots.style import Palette

NAMES: dict[str, tuple[str, ...]] = {
    "conservative": (
        "UCB", "CUCB-Or", "CUCB", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2", "LinUCB", "CLUCB", "CLUCB2", "CLUCB-Or", "CLUCB-L", "CLUCB-M",
        "CLUCB-S", "CLUCB2, literal", "CLUCB2, sub-Gaussian", "CLUCB-S, clipped", "CLUCB-S, literal",
        "CLUCB2T 5 %", "CLUCB2T 10 %", "CLUCB2T 12 %",
    ),
    "lingape": (
        "LinGapE, ε = 0", "LinGapE, ε = gap/2", "LinGapE, ε = gap/2, by ratio", "XY-oracle, K in its bound",
    ),
    "lipschitz": ("CKL-UCB", "TrackCKLUCB", "OSLB", "KL-UCB", "UCB1", "UCB, sqrt(ln n / 2t)", "HOO", "Zooming"),
    "semibandits": ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "PC2UCB", "round-wise TS", "arm-wise TS"),
}  # fmt: skip


def palette(paper: str) -> Palette:
    return Palette(NAMES[paper])
