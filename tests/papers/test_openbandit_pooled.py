"""Estimates pooled over campaigns: what agrees passes, a planted bias fails, and logs that are too
short leave it open."""

from types import SimpleNamespace

from tightrope_papers.openbandit import DIRECTIONS, DirectionCase, pooled_score
from tightrope_papers.scoring import Estimate

OWN = 0.004


def case(value, se, campaign="men", verdict="better"):
    return DirectionCase(
        campaign,
        next(iter(DIRECTIONS)),
        SimpleNamespace(estimates={"ips": (value, se)}, verdict=verdict),
        Estimate(OWN, 0.0),
    )


def verdict(*cases):
    (row,) = pooled_score(list(cases))
    return row.verdict


def test_a_bias_fails_and_one_short_log_decides_nothing():
    se = 0.3 * OWN
    assert verdict(case(1.2 * OWN, se)) == "undecided"  # 4 se exceed the value itself
    assert verdict(case(1.2 * OWN, se), case(0.9 * OWN, se)) == "reproduced"
    assert verdict(*[case(3.0 * OWN, se)] * 2) == "not reproduced"
    assert (
        verdict(*[case(0.5 * OWN, se)] * 36) == "not reproduced"
    )  # small, and seen because there are many logs


def test_refused_cases_are_left_out():
    refused = case(100.0, 1.0, verdict="not enough overlap: nothing can be said")
    assert refused.refused
    assert verdict(refused, *[case(OWN, 0.1 * OWN)] * 2) == "reproduced"
    assert list(pooled_score([refused])) == []
