"""`query`: the same numbers as `frame`, for every kind of folder, finished or not; only reading."""

import sys

import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import main
from tightrope.simulation.runs.query import VIEWS

pytestmark = pytest.mark.lab("duckdb")
PROBLEM = tr.problems.Bernoulli([0.2, 0.8])
TWO = {"it's UCB": tr.UCB(), "Thompson": tr.BetaThompson()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("query")
    tr.simulate(PROBLEM, TWO, horizon=50, replications=3, seed=2, out=base / "it's [a]")
    tr.identify(tr.problems.Linear(np.eye(2), [0.9, 0.0], noise=0.2), tr.LinGapE(noise=0.2), replications=2, out=base / "named")
    return base


def test_a_query_finds_what_a_frame_holds(folder):
    result, named = tr.load(folder / "it's [a]"), tr.load(folder / "named")
    asked = tr.query(folder, "select policy, replication, round, regret from regret")
    assert asked.sort_values(["policy", "replication", "round"], ignore_index=True).equals(
        result.frame().sort_values(["policy", "replication", "round"], ignore_index=True).astype({"policy": asked.policy.dtype})
    )
    pulls = tr.query(folder, "select sum(pulls) as n from pulls where run like 'it%' and policy = 'it''s UCB' group by replication")
    assert pulls.n.tolist() == [50.0] * 3
    rounds = tr.query(folder, "select rounds, stopped from runs order by replication")
    assert rounds.rounds.tolist() == named.rounds["LinGapE"].tolist()
    assert rounds.stopped.all()
    kinds = tr.query(folder, "select * from results order by run")
    assert kinds.values.tolist() == [["it's [a]", "simulation", True], ["named", "identification", True]]
    assert tr.query(folder / "named", "select value from settings where key = 'seed'").value.tolist() == ["0"]


def test_every_view_is_there_and_documented(folder):
    for view, columns in VIEWS.items():
        assert list(tr.query(folder, f"select * from {view} limit 1").columns) == list(columns)
        row = next(line for line in sys.modules["tightrope.simulation.runs.query"].__doc__.splitlines() if line.startswith(f"| {view} "))
        assert row.split("|")[3].replace("(JSON)", "").replace(",", " ").split() == list(columns)


def test_unfinished_runs_and_verdicts(folder, tmp_path):
    result = tr.simulate(PROBLEM, TWO, horizon=50, replications=3, seed=2, out=tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    first = sorted((tmp_path / "run" / "chunks").glob("*.parquet"))[0]
    first.write_bytes(first.read_bytes()[:-40])
    asked = tr.query(tmp_path, "select * from regret where round = 50 order by policy, replication")
    whole = [(name, r, curve[-1]) for name in sorted(TWO) for r, curve in enumerate(result.regret[name])]
    left = list(zip(asked.policy, asked.replication, asked.regret, strict=True))
    assert len(left) == 5
    assert set(left) < set(whole)
    assert tr.query(tmp_path, "select finished from results").finished.tolist() == [False]
    (tmp_path / "fig1").mkdir()
    row = '{"figure": "fig1", "key": "a", "text": "t", "paper": 3, "ours": 2.5, "se": null, "verdict": "reproduced", "more": 1}'
    (tmp_path / "fig1" / "rows.json").write_text('{"rows": [' + row + "]}")
    assert tr.query(tmp_path, "select run, claim, ours, verdict from verdicts").values.tolist() == [["fig1", "a", "2.5", "reproduced"]]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("drop view regret", "must be one SELECT"),
        ("select 1; select 2", "must be one SELECT"),
        ("copy (select 1) to 'FOLDER/x.csv'", "must be one SELECT"),
        ("set enable_external_access = true", "must be one SELECT"),
        ("select * from read_csv('/etc/hosts')", "not answered"),
        ("select * from 'FOLDER/named/pulls.parquet'", "not answered"),
        ("select * from secret", "not answered"),
        ("selec 1", "not understood"),
        ("", "is not a question"),
    ],
)
def test_only_the_views_are_read(folder, sql, words):
    secret = tr.query(folder, "select 1 as secret")  # a local that DuckDB would find by its name
    assert len(secret) == 1
    before = sorted(folder.rglob("*"))
    with pytest.raises(ValueError, match=words) as caught:
        tr.query(folder, sql.replace("FOLDER", str(folder)))
    assert "\n" not in str(caught.value)
    assert sorted(folder.rglob("*")) == before


def test_the_command_prints_and_writes(folder, tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["tightrope", "query", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            main()
        return done.value.code, " ".join("".join(capsys.readouterr()).split())

    code, shown = run(folder, "select policy, max(regret) as worst from regret group by 1", "--rows", 1)
    assert not code
    assert "worst" in shown
    assert "1 of 2 rows" in shown
    assert " rows: " in run(folder, "select * from regret", "--out", tmp_path / "a.csv")[1]
    assert (tmp_path / "a.csv").read_text().startswith("run,policy,replication,round,regret\n")
    assert run(tmp_path / "nothing", "select 1")[0] == 2


def test_what_evaluate_wrote(tmp_path, monkeypatch):
    rows = [("ab"[k % 2], k % 3 % 2, 0.5) for k in range(60)]
    (tmp_path / "log.csv").write_text("arm,reward,propensity\n" + "".join(f"{a},{r},{p}\n" for a, r, p in rows))
    for name, arms in (("one", "b"), ("both", "ab")):
        words = [word for arm in arms for word in ("--arm", arm)]
        monkeypatch.setattr("sys.argv", ["tightrope", "evaluate", str(tmp_path / "log.csv"), *words, "--out", str(tmp_path / name)])
        with pytest.raises(SystemExit) as done:
            main()
        assert not done.value.code
    found = tr.query(tmp_path, "select run, policy, value, lower, upper, n from estimates order by run, policy")
    assert found[["run", "policy"]].values.tolist() == [["both", "a"], ["both", "b"], ["one", "b"]]
    assert (found.n == 60).all() and (found.lower < found.value).all() and (found.value < found.upper).all()
