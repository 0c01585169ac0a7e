import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tightrope as tr
from planted import measured_in_a_browser, simulation
from tiers import thorough
from tightrope.cli.application import app


def run_cli(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tightrope", *map(str, words)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


SPEC = """
title: two arms
problem: {kind: bernoulli, means: [0.4, 0.6]}
policies:
  UCB: {policy: UCB, alpha: 0.5}
  KL: {policy: KLUCB}
horizon: 200
replications: 3
seed: 1
"""


def test_run_and_report_from_a_spec(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)
    done = run_cli("run", tmp_path / "spec.yaml", "--out", tmp_path / "r", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r" / "report.html").exists()
    (tmp_path / "r" / "report.html").unlink()
    again = run_cli("report", tmp_path / "r")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "r" / "report.html").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("policy: KLUCB", "policy: KLUBC"), "policies.KL: policy = 'KLUBC' is not one of"),
        (("policy: KLUCB", "policy: KLUBC"), "Did you mean 'KLUCB'?"),
        (("policy: KLUCB", "policy: kl-ucb"), "Did you mean 'KLUCB'?"),
        (("policy: KLUCB", "policy: betathompson"), "Did you mean 'BetaThompson'?"),
        (("alpha: 0.5", "alpah: 0.5"), "UCB has no parameter 'alpah'"),
        (("alpha: 0.5", "alpha: -1"), "alpha = -1 is not a number in (0, inf)"),
        (("horizon: 200", "horizon: 0"), "horizon = '0'"),
        (("[0.4, 0.6]", "[0.4, 1.6]"), "means[1] = 1.6"),
        (("kind: bernoulli", "kind: binomial"), "problem"),
        (("seed: 1", "sede: 1"), "sede"),
    ],
)
def test_mistakes_in_a_spec_are_one_line(tmp_path, change, words):
    (tmp_path / "spec.yaml").write_text(SPEC.replace(*change))
    from tightrope.cli.inputs import read_spec

    with pytest.raises(ValueError) as caught:
        read_spec(tmp_path / "spec.yaml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_in_a_spec_may_have_exponents(tmp_path):
    from tightrope.cli.inputs import read_spec

    changed = (
        SPEC.replace("alpha: 0.5", "alpha: 5e-1, sigma: 1.5E0")
        .replace("horizon: 200", "horizon: 2e2")
        .replace("[0.4, 0.6]", "[4e-1, +6e-1]")
    )
    (tmp_path / "spec.yaml").write_text(changed)
    spec, problem, policies = read_spec(tmp_path / "spec.yaml")
    assert (spec.horizon, problem.means.tolist(), policies["UCB"]) == (
        200,
        [0.4, 0.6],
        tr.UCB(alpha=0.5, sigma=1.5),
    )


PROBLEMS = {
    "gaussian": "{kind: gaussian, means: [0.1, 0.2, 0.3]}",
    "linear": "{kind: linear, arms: [[1, 0], [0, 1], [0.6, 0.8]], theta: [0.2, 0.5], noise: 0.1}",
    "contextual": "{kind: contextual-linear, theta: [0.2, 0.5], arms: 3}",
    "lipschitz": "{kind: lipschitz, points: [0, 0.5, 1], means: [0.2, 0.5, 0.3], lipschitz: 1}",
    "semi-bandit": "{kind: semi-bandit, arms: [[1, 0], [0, 1], [0.6, 0.8]], "
    "theta: [0.2, "
    "0.5], k: "
    "2, shown: 3}",
}


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_a_spec_describes_every_kind_of_problem(tmp_path, kind):
    from tightrope.cli.inputs import read_spec
    from tightrope.core.verbs import describe

    (tmp_path / "spec.yaml").write_text(
        SPEC.replace("{kind: bernoulli, means: [0.4, 0.6]}", PROBLEMS[kind])
    )
    assert describe(read_spec(tmp_path / "spec.yaml")[1]).number == 3


def test_damaged_files_are_named(tmp_path):
    from tightrope.cli.inputs import read_spec

    (tmp_path / "bad.npy").write_text("no numbers")
    (tmp_path / "spec.yaml").write_text(
        SPEC.replace(
            "{kind: bernoulli, means: [0.4, 0.6]}", "{kind: linear, arms: bad.npy, theta: [1]}"
        )
    )
    with pytest.raises(ValueError, match=r"problem.arms = 'bad.npy' is not a file of numbers"):
        read_spec(tmp_path / "spec.yaml")
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match=r"result.json is damaged"):
        tr.load(tmp_path)


def report(*words):
    done = CliRunner().invoke(app, ["report", *map(str, words)], terminal_width=200)
    assert done.exit_code == 0, done.output
    return done.output


def saved(folder, **policies):
    simulation(
        {name: np.asarray(values) for name, values in policies.items()}, problem={"digest": "x"}
    ).save(folder)
    return folder


def test_report_of_a_result_has_its_title_and_place(tmp_path):
    folder = saved(tmp_path / "a", A=[1.0, 2.0, 3.0], B=[11.0, 12.5, 13.0])
    assert "A has the lowest regret" in report(folder) + (folder / "report.html").read_text()
    assert f"report: {tmp_path / 'b.html'}" in report(
        folder, "--title", "A title", "--out", tmp_path / "b.html"
    )
    assert "<title>A title</title>" in (tmp_path / "b.html").read_text()


def test_report_of_several_folders_compares_them(tmp_path):
    one, two = (
        saved(tmp_path / "one", A=[1.0, 2.0, 3.0]),
        saved(tmp_path / "two", B=[21.0, 22.5, 23.0]),
    )
    assert "Compared:" in report(one, two, "--title", "Both", "--out", tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text()
    assert "<title>Both</title>" in page
    assert (
        page.count("A has the lowest regret after 1,000 rounds, 2.00 ± 0.58: 20.17 ± 0.17 below B")
        == 2
    )  # on top and at its section
    with pytest.raises(ValueError, match="names a folder twice"):
        CliRunner().invoke(app, ["report", str(one), str(one)], catch_exceptions=False)


@thorough
def test_report_makes_the_page_of_an_evaluation_again(tmp_path, rng):
    """What `evaluate` wrote gives the same page, to the letter, of one policy and of several."""
    arm = rng.integers(0, 3, 400)
    table = {
        "arm": arm,
        "reward": (rng.random(400) < np.array([0.2, 0.4, 0.6])[arm]) * 1.0,
        "propensity": np.full(400, 1 / 3),
    }
    pd.DataFrame(table).to_csv(tmp_path / "log.csv", index=False)
    for words in (["--arm", "2"], ["--arm", "2", "--arm", "1"]):
        out = tmp_path / f"{len(words)}"
        done = CliRunner().invoke(
            app, ["evaluate", str(tmp_path / "log.csv"), *words, "--out", str(out)]
        )
        assert done.exit_code == 0, done.output
        before = (out / "report.html").read_text()
        (out / "report.html").unlink()
        assert "report: " in report(out)
        assert (out / "report.html").read_text() == before
    changed = json.loads((tmp_path / "2" / "evaluation.json").read_text())
    (tmp_path / "2" / "evaluation.json").write_text(
        json.dumps({key: value for key, value in changed.items() if key != "support"})
    )
    with pytest.raises(ValueError, match="damaged or of another version"):
        CliRunner().invoke(app, ["report", str(tmp_path / "2")], catch_exceptions=False)


def test_a_folder_of_an_interrupted_run_says_how_to_go_on(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="the same command goes on"):
        CliRunner().invoke(app, ["report", str(tmp_path)], catch_exceptions=False)
    with pytest.raises(ValueError, match="is not a folder"):
        CliRunner().invoke(app, ["report", str(tmp_path / "none")], catch_exceptions=False)


@pytest.fixture
def reproduction(tmp_path):
    """A folder with rows, tables and pictures of two figures of a paper, saved by hand, and the
    page that `reproduce` writes of them."""
    import matplotlib.figure

    from tightrope_papers import experiment

    names = list(experiment.figures("lipschitz"))[:2]
    run = experiment.Run("laptop", tmp_path / "reproduction", seed=7)
    for name in names:
        figure = matplotlib.figure.Figure()
        figure.subplots().plot([0, 1], [1, 0])
        row = experiment.Row(
            "ckl-exploits", f"row of {name}", 1.5, 1.25, 0.5, "by eye", "partly", figure=name
        )
        outcome = experiment.FigureOutcome(
            [row],
            tables={"numbers": pd.DataFrame({"x": [1, 2]})},
            plots={"line": figure},
            notes="a note",
        )
        experiment._save(name, outcome, run)
    experiment._report("lipschitz", run)
    return run.out, names


def test_report_makes_the_page_of_a_reproduction_again(reproduction):
    """The page of what was saved is that which `reproduce` wrote."""
    from tightrope_papers import experiment

    folder, names = reproduction
    page = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    said = report(folder)
    assert f"row of {names[1]}" in said
    assert "1 of " in said
    again = (folder / "report.html").read_text()
    for words in (
        experiment.find_paper("lipschitz").TITLE,
        "row of",
        "claims are judged: 1 depends on the setting",
        "1.25 ± 0.5",
        "partly",
        "a note",
        "numbers",
        "<svg",
    ):
        assert words in page
        assert page.count(words) == again.count(words), words
    with pytest.raises(ValueError, match="which no paper has"):
        (folder / names[0]).rename(folder / "unknown")
        experiment.rewrite_report(folder)


def test_a_reproduction_shows_figures_first_with_the_verdicts_beside_them(reproduction):
    folder, names = reproduction
    page = (folder / "report.html").read_text()
    places = [
        page.index(part)
        for part in (
            "</h1>",
            f'id="{names[0]}"',
            "<svg",
            '<ul class="chips">',
            "<table",
            'id="claims"',
        )
    ]
    assert places == sorted(places)
    chips = re.findall(
        r'<a href="#(claim-ckl-exploits)"><b class="[a-z-]*">depends on the setting</b> CKL-UCB is',
        page,
    )
    assert len(chips) == len(names)
    assert page.count(f'<a id="{chips[0]}"></a>ckl-exploits') == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_a_reproduction_fits_the_screen(reproduction, width, tmp_path):
    """In a real browser: the first figure is on the first screen, chips stand beside or below it,
    no table is wider than the page."""
    code = """{scroll: d.documentElement.scrollWidth, figure: [box(d.querySelector(".panels svg"))].map(b => [b.top, b.right])[0],
        chips: [box(d.querySelector(".chips"))].map(b => [b.left, b.top])[0], end: box(d.querySelector("figure")).bottom,
        tables: [...d.querySelectorAll("table.stacked")].map(t => t.scrollWidth - t.parentElement.clientWidth)}"""
    seen = measured_in_a_browser(reproduction[0] / "report.html", width, code, tmp_path)
    assert seen["scroll"] <= width
    assert seen["figure"][0] < 500
    assert len(seen["tables"]) == 3 and max(seen["tables"]) <= 0
    if width == 390:
        assert seen["chips"][1] >= seen["end"]
    else:
        assert seen["chips"][0] >= seen["figure"][1] and seen["chips"][1] < seen["end"]


def test_a_preset_lists_what_it_plays():
    assert "plays arms ·" in CliRunner().invoke(app, ["policies", "CUCB2"]).output
    assert (
        "plays arms, features, contexts ·" in CliRunner().invoke(app, ["policies", "CLUCB2"]).output
    )


def test_bound_refuses_means_that_break_the_constant():
    done = run_cli("bound", "0.1,0.5,0.9", "--lipschitz", "0.5")
    assert done.returncode == 2
    assert "the least constant that holds for all pairs is 0.8." in done.stderr
    assert done.stdout == ""
    assert run_cli("bound", "0.1,0.5,0.9", "--lipschitz", "0.8").returncode == 0


def test_bound_of_a_promise_says_an_order():
    shown = CliRunner().invoke(app, ["bound", "0.5,0.6", "--alpha", "0.05", "--dimension", "100"])
    assert "of the order of 229 rounds of the baseline" in " ".join(shown.output.split())
    assert "no policy" not in shown.output
    assert "lipschitz is missing" in run_cli("bound", "0.5,0.6").stderr
    assert (
        "baseline = 2 is no"
        in run_cli("bound", "0.5,0.6", "--alpha", "0.1", "--baseline", "2").stderr
    )


def test_errors_go_to_stderr_with_exit_code_2(tmp_path):
    done = run_cli("report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: path = ")
    assert (len(done.stderr.strip().splitlines()), done.stdout) == (1, "")


def test_every_policy_is_listed_with_a_line_and_a_paper():
    from tightrope.core.registry import named_policies

    listed = CliRunner().invoke(app, ["policies"], terminal_width=300).output
    for name, item in named_policies():
        assert name in listed
        assert (item.__doc__ or "").strip()
        assert item.TRAITS.paper
        shown = CliRunner().invoke(app, ["policies", name]).output
        sign = " : " if item.TRAITS.base is None else " = "
        missing = [field for field in item.FIELDS if f"{field}{sign}" not in shown]
        others = name in ("Safe", "SafePromises") or not item.__module__.startswith("tightrope.")
        assert not missing or others, missing  # those of Safe are Conservative's
    assert np.all(
        [len((item.__doc__ or "").strip().splitlines()[0]) < 140 for _, item in named_policies()]
    )
