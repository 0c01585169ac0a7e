"""The example with known variances against a plain loop over single runs."""

import math

import numpy as np
import pytest

from tightrope_papers.conservative import theory
from tightrope_papers.conservative.measures import ALPHA, DELTA

MEANS, SPREADS, BASELINE = np.array([0.65, 0.6, 0.5, 0.2]), np.array([0.3, 0.0, 0.1, 0.2]), 2


def plain(selection, bound, signs):
    """Arms of one run for the signs (horizon, K) of its rewards."""
    K = MEANS.size
    pulls, sums, baseline_rounds, arms = [0] * K, [0.0] * K, 0, []
    for t, sign in enumerate(signs, start=1):
        upper, lower = [math.inf] * K, [0.0] * K
        for a in range(K):
            if pulls[a]:
                level = math.log(K * pulls[a] ** 3 / DELTA)
                width = SPREADS[a] * (math.sqrt(2 * level / pulls[a]) + level / (3 * pulls[a]))
                upper[a], lower[a] = (
                    sums[a] / pulls[a] + width,
                    max(sums[a] / pulls[a] - width, 0.0),
                )
        if bound == "confidence":
            total = sum(n * low for n, low in zip(pulls, lower, strict=True))
        else:
            variance = sum(n * spread**2 for n, spread in zip(pulls, SPREADS, strict=True))
            level = math.log(3 * max(sum(pulls), 1) ** 2 / DELTA)
            total = sum(sums) - math.sqrt(2 * variance * level) - 2 / 3 * level
        slack = (baseline_rounds - (1 - ALPHA) * t) * MEANS[BASELINE]
        safe = [a for a in range(K) if a != BASELINE and total + slack + lower[a] >= -1e-9]
        upper[BASELINE] = MEANS[BASELINE]
        optimistic = max(range(K), key=lambda a: upper[a])
        if selection == "two-step":
            arm = optimistic if optimistic in safe else BASELINE
        else:
            best = max(safe, key=lambda a: upper[a], default=BASELINE)
            arm = best if upper[best] >= MEANS[BASELINE] else BASELINE
        if arm == BASELINE:
            baseline_rounds += 1
        else:
            pulls[arm] += 1
            sums[arm] += MEANS[arm] + SPREADS[arm] * sign[arm]
        arms.append((arm, optimistic))
    return arms


@pytest.mark.parametrize("label", theory.ALGORITHMS)
def test_all_runs_at_once_are_the_runs_one_by_one(label):
    selection, bound = theory.ALGORITHMS[label]
    runs, horizon = 3, 700
    found = theory.play_example(
        MEANS, SPREADS, selection, bound, runs, horizon, np.random.default_rng(5)
    )
    rng = np.random.default_rng(5)
    signs = np.where(
        np.stack([rng.random((runs, MEANS.size)) for _ in range(horizon)]) < 0.5, -1.0, 1.0
    )
    for r in range(runs):
        arms = plain(selection, bound, signs[:, r])
        events = [
            2 if arm == BASELINE else 0 if arm == optimistic else 1 for arm, optimistic in arms
        ]
        assert found.events[r].tolist() == [events.count(event) for event in range(3)]
        assert found.second[r] == sum(
            event == 1 and arm == 1 for event, (arm, _) in zip(events, arms, strict=True)
        )
        budget = np.cumsum([MEANS[arm] - (1 - ALPHA) * MEANS[BASELINE] for arm, _ in arms])
        assert found.lowest[r] == pytest.approx(budget.min(), abs=1e-9)
        assert found.regret[r] == pytest.approx(
            sum(MEANS.max() - MEANS[arm] for arm, _ in arms), abs=1e-9
        )
    assert found.events[:, 2].min() > 0
    assert found.events[:, 2].max() < horizon
