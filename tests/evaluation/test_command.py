"""`tightrope evaluate`: the same answers as in Python, from every format, and a page whose pictures
are there."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tightrope as tr
from tiers import thorough
from tightrope.cli import inputs
from tightrope.cli.application import app
from tightrope.core.files import with_error

H = np.array([0.5, 0.3, 0.2])


def frame(n=600, seed=0):
    rng = np.random.default_rng(seed)
    arm = rng.choice(3, n, p=H)
    x = rng.normal(size=n)
    reward = (rng.random(n) < np.array([0.2, 0.5, 0.8])[arm]) * 1.0
    table = pd.DataFrame({"arm": arm, "reward": reward, "propensity": H[arm], "x1": x, "x2": -x})
    for k in range(3):
        table[f"h{k}"], table[f"q{k}"] = H[k], (0.2, 0.2, 0.6)[k]
    return table.assign(when=np.arange(n))


def invoke(*words):
    return CliRunner().invoke(app, ["evaluate", *map(str, words)], terminal_width=200)


def run(*words):
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    return done


def mistake(*words):
    """The sentence with which the command ends."""
    done = invoke(*words)
    assert isinstance(done.exception, ValueError), done.output
    return str(done.exception)


def saved(folder):
    return json.loads(
        (folder / "evaluation.json").read_text(),
        parse_constant=lambda word: pytest.fail(f"{word} is not JSON"),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One log in every format."""
    folder, table = tmp_path_factory.mktemp("logs"), frame()
    table.to_parquet(folder / "log.parquet", row_group_size=100)
    table.sample(frac=1.0, random_state=1).to_csv(folder / "log.csv", index=False)
    tr.logs.to_dsjson(
        tr.logs.from_frame(table, probabilities=["h0", "h1", "h2"]), folder / "log.dsjson"
    )
    return folder


@pytest.mark.parametrize("name", ["log.csv", "log.dsjson"])
def test_every_format_gives_what_python_gives(files, name):
    columns = (
        inputs.ColumnWords()
        if name == "log.dsjson"
        else inputs.ColumnWords(logger="h", time="when")
    )
    found = tr.evaluate(inputs.read(files / name, columns)[0], 2, baseline="logged")
    wanted = tr.evaluate(
        tr.logs.from_frame(frame(), probabilities=["h0", "h1", "h2"]), 2, baseline="logged"
    )
    assert (found.value, found.interval) == (
        pytest.approx(wanted.value),
        pytest.approx(wanted.interval),
    )
    assert (found.verdict, found.decided) == (wanted.verdict, wanted.decided)


def test_the_command_gives_what_python_gives_and_a_page(files, tmp_path):
    name = "log.parquet"
    done = run(files / name, "--arm", 2, "--logger", "h", "--time", "when", "--out", tmp_path)
    wanted = tr.evaluate(
        tr.logs.from_frame(frame(), probabilities=["h0", "h1", "h2"]), 2, baseline="logged"
    )
    found = saved(tmp_path)
    assert found["value"] == pytest.approx(wanted.value)
    assert found["interval"] == pytest.approx(wanted.interval)
    assert found["verdict"] == wanted.verdict == "promote"
    assert found["decided"] == wanted.decided
    assert found["support"]["played"] == wanted.support.played.tolist()
    assert found["made"]["log"] == str(files / name)
    for words in (
        with_error(wanted.value, wanted.se),
        "effective sample size",
        "largest weight",
        "at all times",
        f"promote (since round {wanted.decided:,})",
    ):
        assert words in done.output, words
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure>") == 5
    for words in (
        f"Verdict: promote, since round {wanted.decided:,}.",
        "What the log can say of it",
        "The reward model",
        "switch-dr",
        "mean prediction",
        "How this was made",
    ):
        assert words in page, words
    assert "<script" not in page


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_probabilities_in_columns_keep_to_their_rows(tmp_path, name):
    table = frame()
    for k in range(3):
        table[f"q{k}"] = np.where(table["when"] < 300, (0.6, 0.2, 0.2)[k], table[f"q{k}"])
    path = tmp_path / name
    mixed = table if name.endswith("parquet") else table.sample(frac=1.0, random_state=2)
    mixed.to_parquet(path) if name.endswith("parquet") else mixed.to_csv(path, index=False)
    log, target = inputs.read(
        path, inputs.ColumnWords(probabilities="q", features="x*", time="when")
    )
    wanted = tr.evaluate(
        tr.logs.from_frame(table, features=["x1", "x2"]), table[["q0", "q1", "q2"]].to_numpy()
    )
    assert tr.evaluate(log, target).estimates == {
        name: pytest.approx(each) for name, each in wanted.estimates.items()
    }


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("probabilities: uniform", [1 / 3] * 3),
        ("probabilities: [0.5, 0.25, 0.25]", [0.5, 0.25, 0.25]),
        ("probabilities: {0: [1, 0, 0], 1: [0, 1e0, 0]}", {0: [1.0, 0.0, 0.0], 1: [0.0, 1.0, 0.0]}),
        ("arm: 1", 1),
    ],
)
def test_policies_in_files(tmp_path, text, target):
    log = tr.logs.from_frame(frame().assign(place=np.arange(600) % 2), slot="place")
    (tmp_path / "mine.yaml").write_text(text)
    found = inputs.read_policies([tmp_path / "mine.yaml"], [], None, None, log)
    assert list(found) == ["mine"]
    assert tr.evaluate(log, found["mine"]).estimates == tr.evaluate(log, target).estimates


@thorough
def test_several_policies_are_compared(files, tmp_path):
    (tmp_path / "even.yaml").write_text("probabilities: uniform")
    done = run(
        files / "log.parquet",
        "--arm",
        2,
        "--policy",
        tmp_path / "even.yaml",
        "--logger",
        "h",
        "--baseline",
        0,
        "--out",
        tmp_path,
    )
    log = tr.logs.from_frame(frame(), probabilities=["h0", "h1", "h2"])
    wanted = tr.compare(log, {"even": [1 / 3] * 3, "arm 2": 2}, baseline=0)
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert (
        (found["winner"], found["alive"])
        == (wanted.winner, list(wanted.alive))
        == ("arm 2", ["arm 2"])
    )
    for name, each in wanted.evaluations.items():
        assert found["policies"][name]["interval"] == pytest.approx(each.interval), name
        assert found["policies"][name]["decided"] == each.decided
    assert "The winner is arm 2." in done.output
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure>") == 1 + 2 * 3 + 1
    assert "cannot be the best" in page
    (tmp_path / "learns.yaml").write_text("policy: UCB")
    for words, others in (
        ("Judge it by itself", ["--policy", tmp_path / "learns.yaml"]),
        ("compared with a baseline", ["--arm", 1, "--baseline", "none"]),
        ("two of the policies to be judged are called 'arm 0'", ["--arm", 0]),
    ):
        assert words in mistake(files / "log.parquet", "--arm", 0, *others, "--out", tmp_path)


def test_a_saved_session_is_a_log_and_so_is_a_folder(tmp_path):
    session, rng = (
        tr.Session(tr.Explore(tr.UCB(), floor=0.1), arms=3, names=["a", "b", "c"]),
        np.random.default_rng(0),
    )
    for _ in range(300):
        made = session.decide()
        if rng.random() < 0.9:
            session.reward(made.id, float(made.arm == 1))
    session.save(tmp_path / "live.safetensors")
    done = run(tmp_path / "live.safetensors", "--arm", "b", "--floor", 0.1, "--out", tmp_path)
    wanted = tr.evaluate(tr.logs.from_session(session, floor=0.1), "b", baseline="logged")
    assert saved(tmp_path)["interval"] == pytest.approx(wanted.interval)
    assert f"Left out: {300 - wanted.n} open decisions." in done.output
    said = mistake(tmp_path / "live.safetensors", "--arm", "b", "--time", "t")
    assert "time is of tables; live.safetensors is read as a saved session" in said
    table = frame()
    (tmp_path / "days").mkdir()
    for i in range(3):
        table[200 * i : 200 * i + 200].to_parquet(tmp_path / "days" / f"{i}.parquet")
    log, target = inputs.read(tmp_path / "days", inputs.ColumnWords(probabilities="q", logger="h"))
    wanted = tr.evaluate(
        tr.logs.from_frame(table, probabilities=["h0", "h1", "h2"]),
        table[["q0", "q1", "q2"]].to_numpy(),
    )
    assert tr.evaluate(log, target).value == pytest.approx(wanted.value)


@thorough
def test_a_saved_session_and_a_policy_that_learns(tmp_path, rng):
    arm = rng.integers(0, 3, 300)
    pd.DataFrame({"item": arm, "click": (arm == 1) * 1.0}).to_csv(tmp_path / "log.csv", index=False)
    session = tr.Session(tr.UCB(), arms=3)
    for k in range(3):
        session.update(k, float(k == 1))
    session.save(tmp_path / "ucb.safetensors")
    words = [
        tmp_path / "log.csv",
        "--arm-column",
        "item",
        "--reward",
        "click",
        "--propensity",
        1 / 3,
        "--out",
        tmp_path,
    ]
    done = run(*words, "--policy", tmp_path / "ucb.safetensors")
    assert saved(tmp_path)["value"] == pytest.approx(1.0, abs=0.1)
    (tmp_path / "ucb.yaml").write_text("policy: UCB\nalpha: 2\n")
    done = run(*words, "--policy", tmp_path / "ucb.yaml", "--method", "replay")
    assert "Replay kept" in done.output
    assert saved(tmp_path)["estimator"] == "replay"
    done = run(
        *words, "--policy", tmp_path / "ucb.yaml", "--method", "simulate", "--bootstraps", 20
    )
    assert "simulated: as good as its model" in done.output
    assert saved(tmp_path)["ess"] is None
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure>") == 2
    assert "of worlds fitted to resampled logs" in page


def test_little_overlap_is_a_verdict_and_no_error(tmp_path):
    table = frame(200).assign(propensity=lambda each: np.where(each["arm"] == 2, 0.001, 0.5))
    table.to_parquet(tmp_path / "log.parquet")
    done = run(tmp_path / "log.parquet", "--arm", 2, "--out", tmp_path)
    assert "not enough overlap: effective sample size" in done.output
    assert "not enough overlap" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("Give the policy to be judged: --policy, --arm or --probabilities", []),
        ("policy = 7 is not a whole number from 0 to 2", ["--arm", 7]),
        (
            "probabilities = 'z': the log has no column 'z0'",
            ["--logger", "h", "--probabilities", "z"],
        ),
        ("probabilities = 'z': the log has no column that begins so", ["--probabilities", "z"]),
        ("logger = 'z': the log has no column 'z0'", ["--arm", 1, "--logger", "z", "--arms", 3]),
        ("no column that begins with 'u'", ["--arm", 1, "--features", "u*"]),
        ("has no column 'click'", ["--arm", 1, "--reward", "click"]),
        ("rewards = '1' must be two numbers", ["--arm", 1, "--rewards", "1"]),
        ("rewards = 'a,b' is not a list of numbers", ["--arm", 1, "--rewards", "a,b"]),
        ("estimator = 'best' is not one of", ["--arm", 1, "--estimator", "best"]),
        ("alpha = 2", ["--arm", 1, "--alpha", 2]),
        ("'none.yaml' does not exist", ["--policy", "none.yaml"]),
        ("'none.npz' does not exist", ["--policy", "none.npz"]),
    ],
)
def test_mistakes_are_sentences(files, tmp_path, words, arguments):
    assert words in mistake(files / "log.parquet", *arguments, "--out", tmp_path)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("log.txt", "", "has no ending among .parquet"),
        ("none.csv", None, "does not exist"),
        ("log.parquet", "no", "is not a Parquet file"),
        ("log.csv", "", "is not a CSV file"),
        (
            "log.csv",
            "arm,reward,propensity,at\n0,1,0.5,soon\n",
            "time = 'at' holds neither numbers nor times",
        ),
        ("log.dsjson", "", "time is of tables"),
    ],
)
def test_damaged_logs_are_sentences(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_text(text)
    told = mistake(tmp_path / name, "--arm", 0, "--time", "at", "--out", tmp_path / "out")
    assert words in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "exactly one of policy, probabilities and arm"),
        ("[1, 2]", "exactly one of policy, probabilities and arm"),
        ("arm: 1\nprobabilities: uniform", "exactly one of policy, probabilities and arm"),
        ("policy: LinTS", "learns while it plays. Judge it by itself, with --method replay"),
        ("policy: LinTT", "Did you mean 'LinTS'"),
        ("a: [", "is not YAML"),
        ("probabilities: [1, 0]", "must be (n, K)"),
    ],
)
def test_damaged_policies_are_sentences(files, tmp_path, text, words):
    (tmp_path / "p.yaml").write_text(text)
    told = mistake(files / "log.parquet", "--policy", tmp_path / "p.yaml", "--out", tmp_path)
    assert words in told


@pytest.mark.lab("polars")
def test_polars_frames_are_read():
    import polars

    table = frame()
    one = tr.evaluate(tr.logs.from_frame(polars.from_pandas(table), features=["x1", "x2"]), 2)
    two = tr.evaluate(tr.logs.from_frame(table, features=["x1", "x2"]), 2)
    assert one.estimates == two.estimates


def test_units_and_ratios_from_the_command_line(tmp_path, rng):
    arms, who = rng.choice(["A", "B"], 300), np.repeat(np.arange(300), 4)
    table = pd.DataFrame(
        {
            "arm": arms[who],
            "reward": (rng.random(1200) < 0.3) * 1.0,
            "propensity": 0.5,
            "user": who,
            "visits": 2.0,
        }
    )
    table.to_csv(tmp_path / "log.csv", index=False)
    words = (tmp_path / "log.csv", "--arm", "B", "--unit", "user", "--out", tmp_path)
    run(*words, "--baseline", "A")
    log = tr.logs.from_frame(table)
    assert saved(tmp_path)["value"] == pytest.approx(tr.evaluate(log, "B", unit="user").value)
    run(*words, "--per", "visits")
    assert saved(tmp_path)["value"] == pytest.approx(
        tr.evaluate(log, "B", unit="user", per="visits").value
    )
    assert saved(tmp_path)["n"] == 300


def csv(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "word",
    ["None", "NA", "null", "nan", "n/a", "NaN", "#N/A", "True", "1e3", "012", "9.90", "-inf"],
)
def test_every_text_of_the_column_of_arms_is_an_arm(tmp_path, word):
    path = csv(tmp_path / "log.csv", f"arm,reward,propensity\n{word},1,0.5\ncoupon,0,0.5\n")
    assert set(tr.logs.from_frame(path).names) == {word, "coupon"}
    assert set(inputs.read(path, inputs.ColumnWords())[0].names) == {word, "coupon"}


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        (["9.90", "11.90"], ("11.90", "9.90")),
        (["0", "1"], None),
        (["10", "12"], (10, 12)),
        (["1.0", "3.0"], (1, 3)),
        (["01", "1"], ("01", "1")),
        (["123456789012345678901", "7"], (7, 123456789012345678901)),
        (["NA", "None"], ("NA", "None")),
    ],
)
def test_numbers_are_arms_where_all_are_whole(tmp_path, arms, names):
    path = csv(
        tmp_path / "log.csv",
        "arm,reward,propensity\n" + "".join(f"{arm},1,0.5\n" for arm in arms * 2),
    )
    assert tr.logs.from_frame(path).names == names


def test_an_empty_entry_is_no_arm(tmp_path):
    path = csv(tmp_path / "log.csv", "arm,reward,propensity\nA,1,0.5\n,0,0.5\n")
    with pytest.raises(ValueError, match="row 1: arm = None is no arm"):
        tr.logs.from_frame(path)


@pytest.mark.parametrize("zone", [" UTC", "Z", "+00:00", " GMT", ""])
def test_times_of_exports_are_read(tmp_path, zone):
    text = (
        f"arm,reward,propensity,t\nA,1,0.5,2026-01-02 "
        f"00:00:00{zone}\nB,0,0.5,2026-01-01 "
        f"00:00:01.5{zone}\n"
    )
    (chunk,) = tr.logs.from_frame(csv(tmp_path / "log.csv", text), time="t").chunks()
    assert chunk.arm.tolist() == [1, 0]
    assert chunk.time[1] == np.datetime64("2026-01-02")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("has semicolons between its columns", "arm;reward;propensity\nA;1;0,5\n"),
        ("has semicolons between its columns", "arm;reward;propensity\nA;1;0.5\n"),
        ("has tabs between its columns", "arm\treward\tpropensity\nA\t1\t0.5\n"),
        (r"is a web page \(HTML\) or XML, not a CSV file", "<!DOCTYPE html>\n<html>\n<p>a,b\n"),
        ("is JSON, not a CSV file", '{"arm": "A"}\n'),
    ],
)
def test_other_files_called_csv_are_named(tmp_path, words, text):
    path = csv(tmp_path / "log.csv", text)
    for read in (tr.logs.from_frame, lambda path: inputs.read(path, inputs.ColumnWords())):
        with pytest.raises(ValueError, match=words):
            read(path)


@pytest.mark.parametrize("name", ["log.jsonl", "log.json", "log.dsjson"])
def test_a_table_of_json_lines_is_named(tmp_path, name):
    path = csv(tmp_path / name, '{"arm": "A", "reward": 1, "propensity": 0.5}\n')
    with pytest.raises(
        ValueError,
        match=r"line 1: no key begins with _label.*it has arm, reward, "
        r"propensity. Write "
        r"a table "
        r"of JSON lines",
    ):
        inputs.read(path, inputs.ColumnWords())


NAMES = [
    "NO",
    "on",
    "true",
    "null",
    "~",
    "012",
    "10",
    "1e3",
    "1_000",
    "2026-01-31",
    "0x1F",
    ".5",
    "plain",
]


@pytest.mark.parametrize("quotes", ["", "'", '"'])
@pytest.mark.parametrize("word", NAMES)
def test_the_arm_of_a_policy_file_is_the_text_that_is_written(tmp_path, word, quotes):
    log = tr.logs.from_frame({"arm": NAMES * 20, "reward": [1.0] * 260}, propensity=1 / 13)
    (tmp_path / "p.yaml").write_text(f"arm: {quotes}{word}{quotes}\n")
    assert inputs.read_policy(tmp_path / "p.yaml", log) == word
    assert tr.evaluate(log, word).support.target.tolist() == [
        float(name == word) for name in log.names
    ]


def test_the_arm_of_a_policy_file_may_be_a_number(tmp_path):
    log = tr.logs.from_frame({"arm": [10, 12] * 20, "reward": [1.0, 0.0] * 20}, propensity=0.5)
    for text in ("012", "12"):
        (tmp_path / "p.yaml").write_text(f"arm: {text}\n")
        assert (
            tr.evaluate(log, inputs.read_policy(tmp_path / "p.yaml", log), estimator="ips").value
            == 0.0
        )
    (tmp_path / "p.yaml").write_text("arm: [10]\n")
    with pytest.raises(ValueError, match="must be one arm"):
        inputs.read_policy(tmp_path / "p.yaml", log)


def test_the_command_leaves_out_what_python_leaves_out(tmp_path):
    text = "arm,reward,propensity,t,qA,qB\nA,1,0.5,2026-01-02,1,0\nB,0,0.5,2026-01-01,.5,.5\nB,,0.5,,,\n,,,,,\n"
    path = csv(tmp_path / "log.csv", text)
    wanted = tr.logs.from_frame(path, time="t")
    log, target = inputs.read(path, inputs.ColumnWords(time="t", probabilities="q"))
    assert log.left_out == wanted.left_out == {"rows without a reward": 2}
    assert tr.evaluate(log, target).value == tr.evaluate(wanted, target).value


def test_sentences_of_the_command_name_its_options(tmp_path):
    words = ("--arm", "A", "--out", tmp_path, "--baseline", "B")
    path = csv(tmp_path / "log.csv", "arm,reward,propensity\nA,7,0.5\nB,0,0.5\n")
    assert "give --rewards lowest,highest" in mistake(path, *words)
    rows = ["A,1,0.5\n", "B,0,0.5\n"]
    done = run(
        csv(path, "arm,reward,propensity\n" + "".join(200 * [rows[0]] + 200 * [rows[1]])), *words
    )
    assert "(--time)" in done.output.replace("\n", " ")
    assert "from_frame" not in done.output + json.dumps(saved(tmp_path))
    done = invoke(path, *words[:-2], "--baseline", "A", "--estimator", "aipw")
    assert "--logger" in str(done.exception) + done.output or done.exit_code == 0
