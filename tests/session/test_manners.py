"""What sessions do once they are done, explanations for other programs, points by value, who wrote
a file."""

import json
import math

import numpy as np
import pytest

import tightrope as tr
from session import strangers
from tiers import tiered
from tightrope.core import files
from tightrope.session.session import forecast_range

MEANS = np.array([0.1, 0.9])


def run_to_the_end(**options):
    session, noise = (
        tr.Session(tr.UGapE(epsilon=0.2, delta=0.1, noise=0.5), 2, seed=0, **options),
        np.random.default_rng(0),
    )
    while not session.stopped:
        arm = session.select()
        session.update(arm, float(noise.random() < MEANS[arm]))
    return session


def test_the_winner_is_played_once_it_is_certified(tmp_path):
    session = run_to_the_end()
    assert [session.select() for _ in range(30)] == [1] * 30
    decision = session.decide()
    assert (decision.arm, decision.propensity, decision.propensity_se) == (1, 1.0, 0.0)
    assert decision.reason == "1: the certified answer"
    assert (
        session.propensities().tolist() == session.explain()["probability"].tolist() == [0.0, 1.0]
    )
    assert session.select(eligible=[True, False]) == 0  # the winner may not be played
    again = tr.Session.load(session.save(tmp_path / "s.npz"))
    assert again.after_stop == "winner"
    assert "certified" in repr(again)

    other = run_to_the_end(after_stop="explore")
    assert set(played_on(other)) == {0, 1}
    assert tr.Session.load(other.save(tmp_path / "o.npz")).after_stop == "explore"
    with pytest.raises(ValueError, match="Did you mean 'explore'"):
        tr.Session(tr.UCB(), 2, after_stop="explor")


def played_on(session):
    for _ in range(20):
        arm = session.select()
        session.update(arm, MEANS[arm])
        yield arm


def test_errors_of_a_file_name_the_version_that_wrote_it(tmp_path):
    path = run_to_the_end().save(tmp_path / "s.npz")
    header, arrays = strangers.opened(path)
    written = header["version"]
    strangers.write(path, header | {"version": "9.8", "rounds": -1}, arrays)
    with pytest.raises(
        ValueError, match=rf"rounds cannot be read: .* written by tightrope 9\.8; this is {written}"
    ):
        tr.Session.load(path)


def test_explanations_are_plain_and_of_chosen_arms():
    session = tr.Session(tr.KLUCB(), 3, names=["a", "b", "c"])
    session.update("b", 1.0)
    whole, told = session.explain(), session.explain(plain=True, arms=["c", "b"])
    assert json.loads(json.dumps(told)) == told
    assert told["arm"] == [2, 1]
    assert told["mean"][1] == whole["mean"][1] == 1.0
    assert len(told["upper"]) == 2
    assert files.plain({"x": np.array([1.0, np.nan]), 2: (np.int64(3), np.inf)}) == {
        "x": [1.0, None],
        "2": [3, None],
    }
    with pytest.raises(ValueError, match="'d' is not the name of an arm"):
        session.explain(arms=["d"])


FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
# sessions whose probabilities are sampled, and how many draws stand behind them by default
SAMPLED = {
    "LinTS": (tr.LinTS(scale=0.3), None, 100_000),
    "Explore": (tr.Explore(tr.LinTS(scale=0.3), floor=0.1), None, 100_000),
    "Safe": (tr.Safe(tr.LinTS(scale=0.3), baseline=0, baseline_mean=0.1, alpha=0.9), None, 100_000),
    "CombTS": (tr.CombTS(v=0.3), lambda scores: np.argsort(-scores, kind="stable")[:2], 100),
    "SafeSets": (
        tr.Safe(tr.CombTS(v=0.3), baseline=[0, 1], baseline_mean=0.1, alpha=0.9),
        tr.oracles.TopK(2),
        100,
    ),
}


@pytest.mark.parametrize("kind", tiered(SAMPLED, ["Safe"]))
def test_draws_are_those_behind_a_sampled_probability(kind):
    policy, oracle, usual = SAMPLED[kind]
    session = tr.Session(policy, FEATURES, oracle=oracle, seed=3)
    means = FEATURES @ (
        np.array([1.0, 0.5]) if oracle is None else np.array([1.0, 1.0])
    )  # two arms are as good
    for _ in range(20):
        played = session.select()
        session.update(played, means[played])
    few, many, default = session.explain(draws=50), session.explain(draws=5000), session.explain()
    share = 0.7 if kind == "Explore" else 1.0  # of decisions that are not uniform
    for told, draws in ((few, 50), (many, 5000), (default, usual)):
        hits = (told["probability"] - (1.0 - share) / 3) / share * draws
        np.testing.assert_allclose(hits, np.rint(hits), atol=1e-6)
    assert 0 < many["probability_se"].max() < few["probability_se"].max()
    apart = np.abs(few["probability"] - many["probability"])
    assert (
        apart <= 4 * np.hypot(np.maximum(few["probability_se"], 1 / 50), many["probability_se"])
    ).all()
    again = session.explain(draws=usual)
    assert np.array_equal(again["probability"], default["probability"])


def test_exact_probabilities_need_no_draws_and_some_numbers_are_refused():
    session = tr.Session(tr.UCB(), 3)
    assert (
        session.explain(draws=10)["probability"].tolist()
        == session.explain()["probability"].tolist()
    )
    for wrong in (9, 0.5, True):
        with pytest.raises(ValueError, match=f"draws = {wrong} is not a whole number from 10 to "):
            session.explain(draws=wrong)


@pytest.mark.parametrize("policy", [tr.LinTS(scale=0.3), tr.CombTS(v=0.3)], ids=["LinTS", "CombTS"])
def test_who_needs_no_propensity_does_not_pay_for_one(policy, tmp_path, monkeypatch):
    """Its choices are the same, and what reads propensities says why there is none."""
    oracle = tr.oracles.TopK(2) if isinstance(policy, tr.CombTS) else None
    usual, free = (
        tr.Session(policy, FEATURES, oracle=oracle, seed=3, measured=measured)
        for measured in (True, False)
    )
    monkeypatch.setattr(
        tr.Session,
        "_propensity",
        lambda self, *rest: pytest.fail("asked") if not self.measured else (0.5, 0.0, None),
    )
    for n in range(8):
        if n == 4:
            free = tr.Session.load(free.save(tmp_path / "s.npz"))
        one, other = usual.decide(), free.decide()
        assert np.array_equal(one.arm, other.arm)
        assert math.isnan(other.propensity) and math.isnan(other.propensity_se)
        value = 0.5 if oracle is None else [0.5, 0.25]
        usual.reward(one.id, value)
        free.reward(other.id, value)
    assert not free.measured
    with pytest.raises(
        ValueError, match=r"8 without a propensity, by a session with measured=False"
    ):
        tr.logs.from_session(free)
    with pytest.raises(ValueError, match="measured = 1"):
        tr.Session(policy, FEATURES, oracle=oracle, measured=1)


def test_points_are_found_by_value():
    session = tr.Session(tr.CKLUCB(lipschitz=1.0), points=[0.1, 0.1 + 0.2, 0.7])
    assert [session.arm_at(session.point(k)) for k in range(3)] == [0, 1, 2]
    assert session.arm_at(0.3) == 1  # but for rounding
    with pytest.raises(
        ValueError, match=r"point = 0\.31 is no point of this session; the nearest is 0\.3"
    ):
        session.arm_at(0.31)
    with pytest.raises(ValueError, match="these arms have no points"):
        tr.Session(tr.UCB(), 2).point(0)


def test_a_forecast_is_between_its_bounds_and_narrows_as_the_lead_grows():
    wide, narrow = forecast_range(1000, 500, 0.01), forecast_range(1000, 500, 1e-12)
    assert wide[0] <= narrow[0] < 500 < narrow[1] < wide[1]
    assert forecast_range(1000, 500, 0.4) == (0.0, math.inf)
    assert forecast_range(1000, 0.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("lead", [1e-7, 1e-9, 1e-12, 0.0])
def test_arms_that_are_nearly_equal_have_no_forecast(lead):
    """Failed before: after so many samples the design is singular to rounding, and `recommend`
    raised NumPy's error."""
    session = tr.Session(
        tr.LinGapE(epsilon=0.0, noise=0.1), arms=[[1.0, 0.0, 0.2], [0.6, 0.8, 0.0], [0.0, 0.5, 0.5]]
    )
    theta = np.linalg.solve(
        [[1.0, 0.0, 0.2], [0.6, 0.8, 0.0], [0.0, 0.5, 0.5]], [0.3 + lead, 0.3, 0.2]
    )
    for arm in [0, 1, 2] * 4:
        session.update(
            arm, float(np.dot([[1.0, 0.0, 0.2], [0.6, 0.8, 0.0], [0.0, 0.5, 0.5]][arm], theta))
        )
    told = session.recommend()
    assert told["status"] == "not certified yet" and told["samples_remaining"] > 0


def test_what_notebooks_show_is_escaped_and_short():
    session = tr.Session(tr.UCB(), 2, names=["<b>", "c"])
    assert "&lt;b&gt;" in session._repr_html_()
    assert "<b>:" not in session._repr_html_()
    assert "alpha" in tr.KLUCB._repr_html_(tr.UCB())
    for item in (
        session,
        tr.problems.Bernoulli(np.full(500, 0.5)),
        tr.problems.Linear(np.eye(30), np.ones(30)),
    ):
        assert repr(item).count("\n") == 2 * (item is session) and len(repr(item)) < 200
        assert str(item).count("\n") == item._repr_html_().count("<br>") == 2
    assert "baseline_mean = None   number in [0, inf), or None" in tr.CUCB2.__doc__
