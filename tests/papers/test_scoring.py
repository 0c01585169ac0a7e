"""Every rule says yes, partly and no where it must, and its reason is computed from the numbers."""

import math
import re
from dataclasses import replace

import make_results
import numpy as np
import pytest

from tightrope_papers import names, scoring
from tightrope_papers.experiment import claim_standings, register_of
from tightrope_papers.scoring import (
    ASYMPTOTIC,
    CONTRADICTED,
    DEPENDS,
    IN_READING,
    JUDGED,
    NO_DATA,
    NOT_JUDGED,
    NOT_SHOWN,
    OURS,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Estimate,
    Judgement,
    Reading,
    Row,
    counts,
    estimate,
    in_reading,
    paired_mean,
    quotient,
    ratio,
    read_register,
    register_claims,
    row_of,
    share,
    standings,
)

YES, PARTLY, NO, OPEN = scoring.VERDICTS
INF, NAN = math.inf, math.nan


def e(value, se):
    return Estimate(value, se)


CASES = [
    # rule, arguments, verdict
    ("below", (e(-1.0, 0.2),), YES),
    ("below", (e(-0.5, 0.2),), OPEN),
    ("below", (e(-1.0, INF),), OPEN),  # one run decides nothing
    ("below", (e(0.1, 0.2),), OPEN),
    ("below", (e(1.0, 0.2),), NO),
    ("below", (e(0.0, 0.0),), NO),
    ("below", (e(NAN, NAN),), OPEN),
    ("below", (e(4.0, 0.2), 5.0), YES),
    ("below", (e(4.9, 0.2), 5.0), OPEN),
    ("below", (e(6.1, 0.2), 5.0), NO),
    ("above", (e(1.0, 0.2),), YES),
    ("above", (e(0.5, 0.2),), OPEN),
    ("above", (e(1.0, INF),), OPEN),
    ("above", (e(-1.0, 0.2),), NO),
    ("above", (e(NAN, NAN),), OPEN),
    ("above", (e(11.0, 0.2), 10.0), YES),
    ("above", (e(10.5, 0.2), 10.0), OPEN),
    ("above", (e(8.9, 0.2), 10.0), NO),
    ("near", (e(0.52, 0.01), 0.5, 0.1), YES),
    ("near", (e(0.48, 9.0), 0.5, 0.1), OPEN),  # right by chance
    ("near", (e(0.58, 0.01), 0.5, 0.1), PARTLY),
    ("near", (e(0.9, 0.01), 0.5, 0.1), NO),
    ("near", (e(0.9, INF), 0.5, 0.1), OPEN),
    ("gain", (e(45.0, 1.0), 51.0, 10.0), YES),
    ("gain", (e(30.0, 6.0), 51.0, 10.0), OPEN),  # errors that reach the target make no match
    ("gain", (e(30.0, 1.0), 51.0, 10.0), PARTLY),
    ("gain", (e(3.0, 1.0), 51.0, 10.0), NO),
    ("gain", (e(-51.0, 1.0), 51.0, 10.0), NO),
    ("within", (e(45.0, 1.0), 51.0, 10.0), YES),
    ("within", (e(45.0, 5.0), 51.0, 10.0), OPEN),
    ("within", (e(30.0, 1.0), 51.0, 10.0), NO),
    ("agree", (e(-0.7, 0.2), 1.0), YES),
    ("agree", (e(0.9, 0.2), 1.0), NO),
    ("agree", (e(0.9, 0.3), 1.0), OPEN),
    ("agree", (e(1.9, 0.3), 1.0), NO),
    ("agree", (e(0.0, INF), 1.0), OPEN),
    ("agree", (e(NAN, 0.2), 1.0), OPEN),
    ("at_most", (0.05, 0.05), YES),
    ("at_most", (0.06, 0.05), NO),
    ("at_most", (0.06, 0.05, 0.1), PARTLY),
    ("at_most", (0.2, 0.05, 0.1), NO),
    ("at_most", (NAN, 0.05, 0.1), NO),
    ("at_least", (5.0, 5.0, 2.5), YES),
    ("at_least", (3.0, 5.0, 2.5), PARTLY),
    ("at_least", (3.0, 5.0), NO),
    ("at_least", (2.0, 5.0, 2.5), NO),
    ("never", (0, 10), YES),
    ("never", (1, 10), NO),
    ("every", ([True, True],), YES),
    ("every", ([True, False],), PARTLY),
    ("every", ([False, False],), NO),
    ("every", ([],), OPEN),
    ("rare", (0, 1000, 0.01), YES),
    ("rare", (0, 100, 0.01), OPEN),  # so few runs show nothing
    ("rare", (3, 100, 0.01), OPEN),
    ("rare", (30, 1000, 0.01), NO),
    ("rare", (5, 5, 0.01), NO),
    ("falls", ([e(-1.0, 0.2), e(-1.0, 0.2)], e(-2.0, 0.2)), YES),
    (
        "falls",
        ([e(-1.0, 0.2), e(0.5, 0.2)], e(-2.0, 0.2)),
        YES,
    ),  # no step up that is larger than its errors
    ("falls", ([e(2.0, 0.2), e(-4.0, 0.2)], e(-2.0, 0.2)), PARTLY),  # a peak
    ("falls", ([e(1.0, 0.2), e(1.0, 0.2)], e(2.0, 0.2)), NO),
    ("falls", ([e(1.0, 0.2), e(-1.2, 0.2)], e(-0.2, 0.2)), OPEN),
    ("most", (6, 10), YES),
    ("most", (5, 10), PARTLY),
    ("most", (0, 10), NO),
    ("everywhere_above", ([e(1.0, 0.2), e(2.0, 0.2)],), YES),
    ("everywhere_above", ([e(1.0, 0.2), e(0.5, 0.2)],), PARTLY),
    ("everywhere_above", ([e(1.0, 0.2), e(-2.0, 0.2)],), NO),
    ("everywhere_above", ([e(-1.0, 0.2), e(0.5, 0.2)],), NO),
    ("everywhere_above", ([e(-0.1, 0.2), e(0.5, 0.2)],), OPEN),
    ("among_draws", (np.linspace(20.0, 50.0, 31), 43.0, 1.0), YES),
    ("among_draws", (np.linspace(20.0, 40.0, 31), 43.0, 1.0), NO),
    (
        "among_draws",
        (np.linspace(45.0, 60.0, 31), 43.0, 1.0),
        NO,
    ),  # a number is missed on either side
    (
        "among_draws",
        (np.linspace(-20.0, 50.0, 31), 43.0, 1.0),
        OPEN,
    ),  # no gain at all would be among them, too
    (
        "among_draws",
        (np.linspace(20.0, 50.0, 31), 43.0, 9.0),
        OPEN,
    ),  # the noise of runs alone would make such a range
    ("among_draws", (np.linspace(20.0, 50.0, 31), 43.0, INF), OPEN),  # so may that of a single run
    ("among_draws", (np.full(31, 43.0), 43.0, 1.0), OPEN),  # one world is no distribution
    ("in_most_draws", (np.linspace(-0.2, -0.1, 31), 0.01), YES),
    ("in_most_draws", (np.linspace(-0.2, 0.1, 31), 0.01), PARTLY),
    ("in_most_draws", (np.linspace(0.1, 0.2, 31), 0.01), NO),
    (
        "in_most_draws",
        (np.linspace(-0.2, 0.1, 31), 0.1),
        OPEN,
    ),  # the noise of runs alone would make such a range
    ("in_most_draws", (np.linspace(-0.2, -0.1, 31), 0.1), OPEN),
    ("in_most_draws", (np.linspace(0.1, 0.2, 31), 0.1), OPEN),
    ("in_most_draws", (np.linspace(-0.2, -0.1, 31), INF), OPEN),
    ("both_signs", ([e(-1.0, 0.2), e(1.0, 0.2)],), YES),
    ("both_signs", ([e(-1.0, 0.2), e(0.5, 0.2)],), NO),
    ("both_signs", ([e(-1.0, 0.2), e(-2.0, 0.2)],), NO),
    ("both_signs", ([e(-0.1, 0.2), e(0.2, 0.2)],), OPEN),
    ("ahead", (e(10.0, 1.0), 0.1, 0.05), YES),
    ("ahead", (e(10.0, 1.0), 0.03, 0.05), PARTLY),
    ("ahead", (e(3.0, 1.0), 0.1, 0.05), OPEN),
    ("ahead", (e(-5.0, 1.0), -0.1, 0.05), NO),
]


@pytest.mark.parametrize(("rule", "arguments", "verdict"), CASES)
def test_rules_say_yes_partly_no_and_undecided_where_they_must(rule, arguments, verdict):
    more = {"partly": False, "words": "never"} if rule == "within" else {}
    found = getattr(scoring, rule)(*arguments, **more)
    assert found.verdict == verdict
    assert found.test
    assert (found.reason == "") == (verdict == YES)


def test_every_rule_has_a_case_for_yes_and_for_no():
    rules = {
        name
        for name, item in vars(scoring).items()
        if getattr(item, "__annotations__", {}).get("return") is Judgement
    }
    rules -= {"_judgement", "_beyond"}
    assert {"below", "near", "ahead"} < rules
    for verdict in (YES, NO):
        assert {rule for rule, _, said in CASES if said == verdict} == rules


@pytest.mark.parametrize(
    ("rule", "found", "target", "verdict"),
    [
        ("below", e(0.45, 0.005), 0.5, YES),
        ("below", e(0.536, 0.005), 0.5, PARTLY),
        ("below", e(0.51, 0.005), 0.5, OPEN),
        ("below", e(1.2, 0.005), 0.5, NO),
        ("above", e(6.0, 0.1), 5.0, YES),
        ("above", e(2.0, 0.1), 5.0, PARTLY),
    ],
)
def test_less_than_half_is_not_an_order(rule, found, target, verdict):
    """A weaker order that holds makes a one-sided number partly right, never right."""
    assert getattr(scoring, rule)(found, target, partly=1.0).verdict == verdict


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("0.1, 0.5 standard errors", scoring.below(e(0.1, 0.2))),
        ("-1, 5.0 standard errors", scoring.above(e(9.0, 0.2), 10.0)),
        ("differs from 0.5 by +0.4", scoring.near(e(0.9, 0.01), 0.5, 0.1)),
        ("It holds in 1 of 3 cases.", scoring.every([True, False, False])),
        ("standard error inf", scoring.below(e(-1.0, INF))),
    ],
)
def test_reasons_come_from_the_numbers(words, found):
    assert words in found.reason


def test_estimates_are_means_with_their_errors(rng):
    x, y = rng.normal(3.0, 1.0, 500), rng.normal(2.0, 0.5, 500)
    assert estimate(x) == (x.mean(), x.std(ddof=1) / math.sqrt(500))
    assert estimate([2.0]) == (2.0, INF)
    assert paired_mean(x, y) == estimate(x - y)
    assert paired_mean(x, x) == (0.0, 0.0)
    assert share(1, 4) == (0.25, math.sqrt(0.25 * 0.75 / 4))


def test_rounding_of_another_processor_decides_nothing():
    x = np.array([127.4, 189.7, 0.0])
    nearly = x * (1.0 + 1e-14 * np.array([1.0, -3.0, 1.0]))
    assert paired_mean(nearly, x) == (0.0, 0.0)  # policies that played alike on the same streams
    assert (
        scoring.below(paired_mean(nearly, x)).verdict
        == scoring.below(paired_mean(x, x)).verdict
        == "not reproduced"
    )
    assert scoring.below(paired_mean(x - np.array([1.0, 1.1, 1.2]), x)).verdict == "reproduced"


def test_standard_errors_of_ratios_are_the_spread_of_ratios(rng):
    """Against the spread of the ratio over 2,000 samples of 400 pairs, known to 1.6 %."""
    below = rng.normal(5.0, 1.0, (2000, 400))
    above = 0.6 * below + rng.normal(0.0, 0.5, below.shape)
    seen = [ratio(a, b) for a, b in zip(above, below, strict=True)]
    spread = np.std([one.value for one in seen])
    assert np.mean([one.se for one in seen]) == pytest.approx(spread, rel=0.08)
    assert np.mean([one.value for one in seen]) == pytest.approx(
        0.6, abs=4 * spread / math.sqrt(2000)
    )
    alone = rng.normal(3.0, 0.5, below.shape)
    apart = [quotient(estimate(a), estimate(b)) for a, b in zip(alone, below, strict=True)]
    assert np.mean([one.se for one in apart]) == pytest.approx(
        np.std([one.value for one in apart]), rel=0.08
    )


def test_a_row_takes_number_and_error_from_its_estimate():
    row = row_of(
        "gain",
        "less regret",
        "43 %",
        e(30.0, 2.0),
        scoring.above(e(30.0, 2.0)),
        remark="other models",
    )
    assert (row.key, row.ours, row.se, row.verdict, row.reason, row.remark) == (
        "gain",
        30.0,
        2.0,
        YES,
        "",
        "other models",
    )
    assert row_of(OURS, "less", "yes", "3 of 4", scoring.most(3, 4), se=0.1).se == 0.1
    with pytest.raises(ValueError, match="verdict = 'proved' is not one of"):
        Row("gain", "less regret", "43 %", 1.0, None, "a test", "proved")


def test_the_upper_limit_of_a_probability_is_the_one_whose_tail_has_one_per_cent():
    """Of the limits for 3 of 50, computed from the binomial distribution itself."""
    reason = scoring.rare(3, 50, 0.001).reason
    low, high = (
        float(word.strip(".")) if word.endswith(".") else float(word)
        for word in (reason.split()[4], reason.split()[6])
    )
    at_most = sum(math.comb(50, k) * high**k * (1 - high) ** (50 - k) for k in range(4))
    at_least = 1 - sum(math.comb(50, k) * low**k * (1 - low) ** (50 - k) for k in range(3))
    assert at_most == pytest.approx(0.01, rel=0.03)
    assert at_least == pytest.approx(0.01, rel=0.03)


def claim(key, not_shown=""):
    return Claim(key, "Figure 1", "words", "", "order", not_shown)


def row(key, verdict, test="test", figure="fig1", reading=""):
    return Row(key, "text", "", "", None, test, verdict, figure=figure, reading=reading)


def test_a_claim_stands_by_the_worst_of_its_rows_and_counts_once():
    claims = register_claims(
        [
            claim("good"),
            claim("bad"),
            claim("open"),
            claim("alone"),
            claim("proof", not_shown="no program shows it"),
        ]
    )
    rows = [row("good", YES)] * 5 + [
        row("bad", YES),
        row("bad", NO),
        row("bad", OPEN),
        row("open", YES),
        row("open", OPEN),
    ]
    found = standings(claims, [*rows, row(OURS, NO)])
    assert [one.verdict for one in found] == [
        REPRODUCED,
        CONTRADICTED,
        UNDECIDED,
        NOT_JUDGED,
        NOT_SHOWN,
    ]
    assert [len(one.rows) for one in found] == [5, 3, 2, 0, 0]
    number = counts(found)
    assert (number["all"], number["judged"]) == (5, 3)
    assert all(
        number[one] == 1 for one in (REPRODUCED, CONTRADICTED, UNDECIDED, NOT_JUDGED, NOT_SHOWN)
    )
    assert sum(number[one] for one in JUDGED) == 3
    with pytest.raises(ValueError, match=r"key = 'wrong' .*is no claim of the paper"):
        standings(claims, [row("wrong", YES)])
    with pytest.raises(ValueError, match="key = 'good' stands for two claims"):
        register_claims([claim("good"), claim("good")])


@pytest.mark.parametrize(
    "content",
    [
        "claims: [{key: a, where: b, words: c, kind: order, odd: 1}]",
        "claims: []\nodd: 1",
        "claims: []\nreadings: [{name: a, words: b, figures: [c], source: d, tried: 1, odd: 1}]",
    ],
)
def test_a_field_that_no_file_of_claims_has_is_refused(content, tmp_path):
    (tmp_path / "claims.yaml").write_text(content)
    with pytest.raises(ValueError, match="'odd' is none of "):
        read_register(tmp_path / "claims.yaml")


def standing(rows, named=(), **more):
    """Where a single claim stands."""
    (found,) = standings(
        register_claims([Claim("key", "Figure 1", "words", "", "order", **more)]), rows, named
    )
    return found.verdict


NAMED = (Reading("rounds", "words", ("fig1",), "a search", 25),)


def test_only_the_primary_reading_counts_and_says_its_name():
    """Planted: a failing row in another reading must not hide, nor a holding one replace, what the
    primary reading says."""
    yes, no, undecided = (row("key", verdict) for verdict in (YES, NO, OPEN))
    other_no, other_yes = in_reading("other", [no]), in_reading("other", [yes])
    for rows, named, verdict in (
        ([yes, *other_no], (), REPRODUCED),  # the paper's own words: no reading to name
        ([yes, *other_no], NAMED, IN_READING),
        ([yes, *other_yes], NAMED, REPRODUCED),  # in every reading that was tried
        ([row("key", YES, figure="fig9"), *other_no], NAMED, REPRODUCED),
        ([no, *other_no], NAMED, CONTRADICTED),
        ([no, *other_yes], NAMED, DEPENDS),
        ([undecided, *other_yes], NAMED, UNDECIDED),
        (other_yes, NAMED, NOT_JUDGED),  # another reading alone judges nothing
    ):
        assert standing(rows, named) == verdict, (rows, named)
    (found,) = standings(register_claims([claim("key")]), [yes, *other_no], NAMED)
    assert "25 readings tried" in found.why


def test_partly_is_no_verdict_of_a_claim():
    """What a rule calls partly is a setting, an open place, or the wrong size, by the rule that
    says it."""
    for found, verdict in (
        (scoring.every([True, False]), DEPENDS),
        (scoring.in_most_draws(np.linspace(-0.2, 0.1, 31), 0.01), DEPENDS),
        (scoring.everywhere_above([e(1.0, 0.2), e(0.5, 0.2)]), UNDECIDED),
        (scoring.above(e(45.7, 0.4), 50.0, partly=0.0), DEPENDS),
        (scoring.most(3, 10), DEPENDS),
        (scoring.near(e(0.58, 0.01), 0.5, 0.1), DEPENDS),
    ):
        assert (found.verdict, standing([row("key", PARTLY, found.test)])) == (PARTLY, verdict)


@pytest.mark.parametrize(
    ("said", "more", "verdict"),
    [
        ([YES, NO], {}, CONTRADICTED),
        ([YES, NO], {"settings": "worlds"}, DEPENDS),
        ([NO, OPEN], {"settings": "worlds"}, CONTRADICTED),  # it holds in none of them
        # planted: rows that hold, on other data or at a finite horizon
        ([YES], {"data": "ML-20M"}, NO_DATA),
        ([YES], {"asymptotic": "a limit"}, ASYMPTOTIC),
        ([OPEN], {"core_hours": 1.9}, UNDECIDED),
        ([NO], {"depends": "a draw that is not printed"}, DEPENDS),
        ([NO], {"allows": ("other",)}, UNDECIDED),  # which was not played
    ],
)
def test_a_claim_fails_with_one_of_its_parts_and_is_what_its_settings_let_it_be(
    said, more, verdict
):
    assert standing([row("key", one) for one in said], **more) == verdict


def test_a_claim_is_contradicted_once_it_fails_in_all_readings_that_the_text_allows():
    no, other = row("key", NO), in_reading("other", [row("key", NO)])
    assert standing([no, *other], allows=("other",)) == CONTRADICTED
    assert standing([no, *other], allows=("other", "third")) == UNDECIDED


def test_a_reading_may_be_of_some_claims_of_a_figure():
    for claims, verdict in ((("key",), IN_READING), (("another",), REPRODUCED)):
        assert standing([row("key", YES)], [NAMED[0]._replace(claims=claims)]) == verdict


def test_what_no_run_here_can_judge_says_what_it_would_take():
    (found,) = standings(
        register_claims([Claim("key", "", "", "", "order", core_hours=1.9)]), [row("key", OPEN)]
    )
    assert "1.9" in found.why


def test_more_than_a_number_is_judged_on_one_side_of_its_draws():
    for low, high, verdict in ((39.0, 53.0, YES), (60.0, 70.0, YES), (20.0, 45.0, NO)):
        found = scoring.among_draws(np.linspace(low, high, 31), 51.0, 1.0, at_least=True)
        assert found.verdict == verdict


def test_one_run_says_that_it_decides_nothing():
    """It was printed as "± inf"."""
    rows = [
        Row("k", "t", 1.0, 2.0, INF, "below 1", "undecided"),
        Row("k", "t", 1.0, 2.0, 0.25, "below 1", "reproduced"),
        Row("k", "t", "1", "about 2", None, "below 1", "reproduced"),
    ]
    assert [scoring.ours_in_words(row) for row in rows] == [
        "2 (one run, which decides nothing)",
        "2 ± 0.25",
        "about 2",
    ]


# Planted results: every row of every claim that stands as reproduced, at the standard error and the
# number of runs that it has, with a number that the paper would be wrong about.


def clear(row):
    """Five standard errors of a row; where it has none, a little."""
    return 5 * row.se if isinstance(row.se, float) and 0 < row.se < INF else 1e-6


def counted(row):
    found = re.search(r"of ([\d,]+)", str(row.ours))
    return int(found[1].replace(",", "")) if found else 1000


def against_bound(row, bound, sign):
    error = clear(row) / 5
    rule = scoring.below if sign < 0 else scoring.above
    return rule(e(float(bound) - sign * clear(row), error), float(bound))


PLANTS = (
    (
        r"above (\S+) by \S+ standard errors and",
        lambda row, b: scoring.ahead(e(-1.0, 0.1), -0.1, 0.1),
    ),
    (r"above (\S+) by \S+ standard errors;", lambda row, b: against_bound(row, b, 1)),
    (r"below (\S+) by \S+ standard errors;", lambda row, b: against_bound(row, b, -1)),
    (r"further than", lambda row: against_bound(row, 0.0, 1)),
    (
        r"within (\S+) of (\S+),",
        lambda row, band, target: scoring.within(
            e(float(target) + float(band) + clear(row), clear(row) / 5), float(target), float(band)
        ),
    ),
    (r"at most ([\d.e+-]+)", lambda row, b: scoring.at_most(float(b) * 1.01 + 1e-9, float(b))),
    (r"at least ([\d.e+-]+)", lambda row, b: scoring.at_least(float(b) * 0.99 - 1e-9, float(b))),
    (r"none at all", lambda row: scoring.never(1, counted(row))),
    (r"in all cases", lambda row: scoring.every([True, False])),
    (
        r"the upper \S+ limit of the probability is at most ([\d.e+-]+)",
        lambda row, b: scoring.rare(math.ceil(float(b) * counted(row)), counted(row), float(b)),
    ),
    (
        r"the difference is within \S+ joint standard errors; .* exceed (\S+),",
        lambda row, size: scoring.agree(e(clear(row), clear(row) / 5), float(size)),
    ),
    (r"in more than half", lambda row: scoring.most(counted(row) // 2, counted(row))),
    (
        r"above \S+ by \S+ standard errors at every place",
        lambda row: scoring.everywhere_above([e(1.0, 0.1), e(-1.0, 0.1)]),
    ),
    (
        r"(\S+) is within the",
        lambda row, t: scoring.among_draws(float(t) * np.linspace(1.2, 1.5, 30), float(t), 0.01),
    ),
    (
        r"(\S+) is not above the",
        lambda row, t: scoring.among_draws(
            float(t) * np.linspace(0.5, 0.9, 30), float(t), 0.01, at_least=True
        ),
    ),
    (r"below \S+ in at least", lambda row: scoring.in_most_draws(np.linspace(-1, 1, 40), 0.001)),
    (r"last below first", lambda row: scoring.falls([e(-2.0, 0.1), e(1.0, 0.1)], e(-1.0, 0.1))),
    (r"below \S+ somewhere", lambda row: scoring.both_signs([e(1.0, 0.1), e(2.0, 0.1)])),
)


def planted(row):
    """The row as it would be were the paper wrong about it."""
    rule, groups = next(
        (rule, found.groups()) for pattern, rule in PLANTS if (found := re.match(pattern, row.test))
    )
    judgement = rule(row, *groups)
    return replace(row, test=judgement.test, verdict=judgement.verdict, reason=judgement.reason)


@pytest.mark.parametrize("paper", names())
def test_a_planted_result_turns_the_verdict_of_every_claim(paper):
    found = claim_standings(paper, make_results.outcomes_of(paper, make_results.known(paper)))
    register, turned = register_of(paper), 0
    for claim, verdict, rows, _ in found:
        if verdict not in (REPRODUCED, IN_READING):
            continue
        for place, one in enumerate(rows):
            if one.reading:
                continue
            assert scoring.what_passes(one)
            wrong = [*rows[:place], planted(one), *rows[place + 1 :]]
            (now,) = standings({claim.key: claim}, wrong, register.readings)
            assert now.verdict not in (REPRODUCED, IN_READING), (claim.key, one.text)
            turned += 1
    assert turned
