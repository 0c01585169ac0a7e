"""`until`: the error that holds under peeking, the same bits as a fixed run, resuming, several
problems, what is refused."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import main
from tightrope.simulation.loops import Interrupted
from tightrope.simulation.stopping import _evidence, judged, sentence

PROBLEM = tr.problems.Bernoulli([0.2, 0.8])
THREE = {"UCB": tr.UCB(), "Thompson": tr.BetaThompson(), "dice": tr.EpsilonGreedy(epsilon=1.0)}


def test_a_rare_large_regret_is_not_forgotten():
    """Differences of mean 0 that are small gains but for a rare large loss: wrong in 5 % of runs at
    most (4 s.e.); a peeking t-test is wrong in most of them."""
    rng, runs, n, gain = np.random.default_rng(0), 400, 200, 0.05
    wrong = peeked = 0
    for _ in range(runs):
        x = np.where(rng.random(n) < gain / (1.0 + gain), -1.0, gain)
        cost = {"a": np.zeros(n), "b": x}
        wrong += bool(judged(cost, 1.0, 0.05, 1).decided)
        means = np.cumsum(x) / np.arange(1, n + 1)
        spread = np.sqrt(
            np.maximum(np.cumsum(x * x) / np.arange(1, n + 1) - means**2, 1e-12)
            / np.arange(1, n + 1)
        )
        peeked += bool((np.abs(means[9:]) > 1.96 * spread[9:]).any())
    assert wrong / runs <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)
    assert peeked / runs > 0.3


def test_decisions_come_in_time_and_with_the_right_sign():
    rng, n = np.random.default_rng(1), 300
    base = rng.uniform(0.2, 0.3, size=n)
    cost = {"a": base + 0.1, "b": base, "twin": base.copy(), "far": base + 0.5}
    found = judged(cost, 1.0, 0.05, 1)
    after = {(lower, higher): t for lower, higher, t in found.decided}
    assert set(after) == {("b", "a"), ("twin", "a"), ("b", "far"), ("twin", "far"), ("a", "far")}
    assert found.undecided == [("b", "twin")]
    assert after["b", "far"] < after["a", "far"] < after["b", "a"] < 2 * 2 * np.log(6 / 0.05) / 0.1
    short = judged({name: x[: after["b", "a"] - 1] for name, x in cost.items()}, 1.0, 0.05, 1)
    assert ("b", "a") not in {(lower, higher) for lower, higher, _ in short.decided}


def test_both_orders_of_all_pairs_share_the_error():
    """Holm's steps over 2 m one-sided p-values, look by look. Over m pairs, which is too early: the
    order of a pair is wrong or right."""
    rng, alpha, earlier = np.random.default_rng(2), 0.05, 0
    for _ in range(20):
        cost = {
            name: rng.uniform(0.0, 0.2, size=150) + mean
            for name, mean in zip("abcd", rng.uniform(0.0, 0.3, size=4), strict=True)
        }
        names = list(cost)
        pairs = [(i, j) for i in names for j in names if i != j]
        evidence = {
            (i, j): np.maximum.accumulate(_evidence((cost[j] - cost[i])[None])[0]) for i, j in pairs
        }
        decided, of_pairs = {}, {}
        for t in range(150):
            ordered = sorted(pairs, key=lambda pair: -evidence[pair][t])
            for step, pair in enumerate(ordered):
                if np.exp(-evidence[pair][t]) * (len(pairs) - step) > alpha:
                    break
                decided.setdefault(pair, t + 1)
            best = [pair for pair in ordered if evidence[pair][t] >= evidence[pair[::-1]][t]]
            for step, pair in enumerate(best):
                if 2.0 * np.exp(-evidence[pair][t]) * (len(best) - step) > alpha:
                    break
                of_pairs.setdefault(pair, t + 1)
        assert {
            (lower, higher): after for lower, higher, after in judged(cost, 1.0, alpha, 1).decided
        } == decided
        earlier += of_pairs != decided
    assert earlier > 10


def test_regret_is_measured_by_the_rounds_up_to_the_last_checkpoint():
    rule = tr.stopping.Ranking(least=2, most=2)
    found = tr.simulate(
        PROBLEM, THREE, horizon=300, checkpoints=[50, 100], seed=3, until=rule, workers=1
    )
    assert found.settings["until"]["largest_regret_of_a_replication"] == pytest.approx(100 * 0.6)


def test_replications_are_those_of_a_fixed_run_and_are_found_again(tmp_path):
    rule = tr.stopping.Ranking(alpha=0.1, least=10, most=200)
    found = tr.simulate(PROBLEM, THREE, horizon=300, seed=3, until=rule, workers=1)
    made = found.settings["until"]
    assert made["certain"]
    assert made["replications"] == found.replications == found.settings["replications"] < 200
    assert {(item["lower"], item["higher"]) for item in made["decided"]} == {
        ("Thompson", "UCB"),
        ("UCB", "dice"),
        ("Thompson", "dice"),
    }
    assert max(item["after"] for item in made["decided"]) <= found.replications
    fixed = tr.simulate(
        PROBLEM, THREE, horizon=300, seed=3, replications=found.replications, workers=2
    )
    for name in THREE:
        assert np.array_equal(found.regret[name], fixed.regret[name])
    shown = []

    def stop(done, total):
        shown.append((done, total))
        if len(list((tmp_path / "chunks").glob("*.parquet"))) > 40 and not stop.stopped:
            stop.stopped = True
            raise KeyboardInterrupt

    stop.stopped = False
    with pytest.raises(Interrupted):
        tr.simulate(
            PROBLEM, THREE, horizon=300, seed=3, until=rule, workers=1, out=tmp_path, progress=stop
        )
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "chunks").glob("*.parquet")}
    shown.clear()
    again = tr.simulate(
        PROBLEM, THREE, horizon=300, seed=3, until=rule, workers=1, out=tmp_path, progress=stop
    )
    assert again.frame().equals(found.frame())
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    assert [done for done, _ in shown] == sorted(done for done, _ in shown)
    assert shown[-1] == (3 * 300 * found.replications,) * 2
    assert tr.load(tmp_path).settings["until"] == made
    assert (
        sentence(made)
        == f"The order is certain (error 0.1) after {found.replications} replications."
    )


def test_problems_are_all_met_before_the_order_is_judged():
    """Each of two problems has its own winner; on both together the policies tie, whatever a single
    replication shows."""
    cost = {"a": np.tile([0.0, 0.4], 150), "b": np.tile([0.4, 0.0], 150)}
    assert judged(cost, 1.0, 0.05, 2).undecided == [("a", "b")]
    rule = tr.stopping.Ranking(least=10, most=100)
    assert list(rule.looks(4)) == [12, 20, 32, 48, 72, 100]
    assert list(rule.looks(1)) == [10, 15, 23, 35, 53, 80, 100]
    with pytest.raises(ValueError, match="most = 100 is less than the 101 problems"):
        list(rule.looks(101))


def test_what_until_cannot_do_is_refused():
    rule = tr.stopping.Ranking(most=20)
    with pytest.raises(ValueError, match="replications = 5 and until were both given"):
        tr.simulate(PROBLEM, THREE, horizon=5, replications=5, until=rule)
    with pytest.raises(ValueError, match="until ranks policies"):
        tr.simulate(PROBLEM, tr.UCB(), horizon=5, until=rule)
    with pytest.raises(ValueError, match="until = 5 is not a rule"):
        tr.simulate(PROBLEM, THREE, horizon=5, until=5)
    with pytest.raises(ValueError, match="most = 3 is not a whole number from 10"):
        tr.stopping.Ranking(most=3)
    with pytest.raises(ValueError, match="ContextualLinear does not say"):
        tr.stopping.Ranking().scale([tr.problems.ContextualLinear([0.5], arms=2)], 10)
    with pytest.raises(ValueError, match=r"differs by 2 times .*largest_regret"):
        judged({"a": np.zeros(3), "b": np.full(3, 2.0)}, 1.0, 0.05, 1)


def test_a_spec_may_ask_for_it(tmp_path, monkeypatch, capsys):
    text = (
        "problem: {kind: bernoulli, means: [0.2, 0.8]}\npolicies: {UCB: "
        "{policy: "
        "UCB}, dice: "
        "{policy: "
        "EpsilonGreedy, "
        "epsilon: 1}}\n"
    )
    (tmp_path / "a.yaml").write_text(text + "horizon: 100\nuntil: {least: 10, most: 60}\n")
    monkeypatch.setattr(
        "sys.argv",
        ["tightrope", "run", str(tmp_path / "a.yaml"), "--out", str(tmp_path / "run"), "-q"],
    )
    with pytest.raises(SystemExit) as done:
        main()
    assert not done.value.code
    assert "The order is certain (error 0.05) after" in " ".join(capsys.readouterr().out.split())
    assert "The order is certain" in (tmp_path / "run" / "report.html").read_text()
    for more, words in (
        ("replications: 5\n", "replications and until are both there"),
        ("", "most = 4 is not a whole number"),
    ):
        (tmp_path / "a.yaml").write_text(
            text + "horizon: 100\nuntil: {least: 10, most: " + ("60}\n" if more else "4}\n") + more
        )
        with pytest.raises(SystemExit):
            main()
        assert words in " ".join(capsys.readouterr().err.split())
