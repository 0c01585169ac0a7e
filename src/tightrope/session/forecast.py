"""How sure a forecast of the samples that remain is."""

import math
from statistics import NormalDist

ERRORS = 2.0  # standard errors of the lead
LEAST = 1e-300  # probability below which the lead is certain


def forecast_range(rounds: int, remaining: float, error: float) -> tuple[float, float]:
    """(lowest, highest) samples that remain, for leads ERRORS standard errors larger and smaller
    than the estimated one.

    rounds: samples so far. remaining: the forecast. error: probability that the leader is worse
    than promised; as that of a normal lead it says how many standard errors the lead has. Samples
    in all are inversely proportional to the square of the lead.
    """
    if remaining <= 0.0:
        return 0.0, 0.0
    leads = -NormalDist().inv_cdf(min(max(error, LEAST), 0.5))
    if leads <= 0.0 or not math.isfinite(remaining):
        return 0.0, math.inf
    total = rounds + remaining
    low = max(total / (1.0 + ERRORS / leads) ** 2 - rounds, 0.0)
    high = total / (1.0 - ERRORS / leads) ** 2 - rounds if leads > ERRORS else math.inf
    return float(math.floor(low)), high if math.isinf(high) else float(math.ceil(high))
