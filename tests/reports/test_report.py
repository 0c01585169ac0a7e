import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli import app

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def run_cli(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tightrope", *map(str, words)], env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The main job in small, with the Jester data missing."""
    out = tmp_path_factory.mktemp("demo")
    done = run_cli(
        "demo",
        "--out",
        out,
        "--horizon",
        300,
        "--users",
        4,
        "--data",
        out / "nowhere",
        TIGHTROPE_DATA="",
        XDG_CACHE_HOME=str(out / "cache"),
        HOME=os.environ["HOME"],
    )
    return out, done


def test_demo_without_data_says_so_and_completes(demo):
    out, done = demo
    assert done.returncode == 0, done.stderr
    assert "Jester part left out" in done.stderr
    page = (out / "report.html").read_text()
    assert "Ten Bernoulli arms" in page
    assert "The Jester part was left out" in page
    assert "final regret" in page


def test_page_fetches_nothing(demo):
    page = (demo[0] / "report.html").read_text()
    assert "<script" not in page
    for attribute in ('src="', "@import", "url(http", "<link"):
        assert attribute not in page


@pytest.mark.parametrize("width", [1280, 390])
def test_page_fits_the_screen_in_a_real_browser(demo, width, tmp_path):
    """Rendered by a browser: nothing is wider than the window, figures are drawn and not blank."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        assert not os.environ.get("CI"), "CI must have a browser; see tests/install_browser.sh"
        pytest.skip("no Chromium on this machine")
    # An iframe of the wanted width: a headless window cannot be narrower than 500 pixels.
    report = demo[0] / "report.html"
    probe = tmp_path / "probe.html"
    probe.write_text(
        f'<body style="margin:0"><iframe id="f" src="file://{report}" style="border:0;width:{width}px;height:3000px"></iframe>'
        '<pre id="o"></pre>'
        '<script>document.getElementById("f").onload = () => { const d = document.getElementById("f").contentDocument;'
        'const s = [...d.querySelectorAll("figure svg")].map(e => e.getBoundingClientRect()).map(r => [r.width, r.height]);'
        'document.getElementById("o").textContent = "RESULT" + JSON.stringify({scroll: d.documentElement.scrollWidth, figures: s,'
        'headings: d.querySelectorAll("h2").length, rows: d.querySelectorAll("tbody tr").length}) + "END"; };</script>'
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update",
             "--disable-sync", "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
             "--virtual-time-budget=5000", "--window-size=1400,3000"]  # fmt: skip
    done = subprocess.run([browser, *flags, "--dump-dom", f"file://{probe}"], capture_output=True, text=True, timeout=120, check=False)
    seen = json.loads(done.stdout.split("RESULT")[1].split("END")[0])
    assert seen["scroll"] <= width
    assert seen["headings"] == 2
    assert len(seen["figures"]) == 2
    assert seen["rows"] == 6
    for w, h in seen["figures"]:
        assert 0.5 * width < w <= width or w >= 700
        assert h > 50


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
    from tightrope.engine.spec import read_spec

    with pytest.raises(ValueError) as caught:
        read_spec(tmp_path / "spec.yaml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_in_a_spec_may_have_exponents(tmp_path):
    from tightrope.engine.spec import read_spec

    changed = SPEC.replace("alpha: 0.5", "alpha: 5e-1, sigma: 1.5E0").replace("horizon: 200", "horizon: 2e2")
    changed = changed.replace("[0.4, 0.6]", "[4e-1, +6e-1]")
    (tmp_path / "spec.yaml").write_text(changed)
    spec, problem, policies = read_spec(tmp_path / "spec.yaml")
    assert (spec.horizon, problem.means.tolist(), policies["UCB"]) == (200, [0.4, 0.6], tr.UCB(alpha=0.5, sigma=1.5))


PROBLEMS = {
    "gaussian": "{kind: gaussian, means: [0.1, 0.2, 0.3]}",
    "linear": "{kind: linear, arms: [[1, 0], [0, 1], [0.6, 0.8]], theta: [0.2, 0.5], noise: 0.1}",
    "contextual": "{kind: contextual-linear, theta: [0.2, 0.5], arms: 3}",
    "lipschitz": "{kind: lipschitz, points: [0, 0.5, 1], means: [0.2, 0.5, 0.3], lipschitz: 1}",
    "semi-bandit": "{kind: semi-bandit, arms: [[1, 0], [0, 1], [0.6, 0.8]], theta: [0.2, 0.5], k: 2, shown: 3}",
}


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_a_spec_describes_every_kind_of_problem(tmp_path, kind):
    from tightrope.engine.spec import read_spec
    from tightrope.verbs import arms

    (tmp_path / "spec.yaml").write_text(SPEC.replace("{kind: bernoulli, means: [0.4, 0.6]}", PROBLEMS[kind]))
    assert arms(read_spec(tmp_path / "spec.yaml")[1]).number == 3


def test_damaged_files_are_named(tmp_path):
    from tightrope.engine.spec import read_spec

    (tmp_path / "bad.npy").write_text("no numbers")
    (tmp_path / "spec.yaml").write_text(SPEC.replace("{kind: bernoulli, means: [0.4, 0.6]}", "{kind: linear, arms: bad.npy, theta: [1]}"))
    with pytest.raises(ValueError, match=r"problem.arms = 'bad.npy' is not a file of numbers"):
        read_spec(tmp_path / "spec.yaml")
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match=r"result.json is damaged"):
        tr.load(tmp_path)


def test_report_works_on_what_demo_wrote(demo):
    out, _ = demo
    before = (out / "bernoulli" / "result.json").read_bytes()
    (out / "report.html").rename(out / "first.html")
    done = run_cli("report", out)
    assert done.returncode == 0, done.stderr
    assert "bernoulli" in done.stdout
    assert "Thompson" in done.stdout
    assert "final regret" in (out / "report.html").read_text()
    assert (out / "bernoulli" / "result.json").read_bytes() == before
    (out / "first.html").replace(out / "report.html")


def test_report_makes_the_page_of_a_reproduction_again(tmp_path):
    """Rows, tables and figures of two figures of a paper, saved by hand, give the page that `reproduce` wrote."""
    import matplotlib.figure
    import pandas as pd

    from tightrope.papers import experiment

    names = list(experiment.figures("lipschitz"))[:2]
    run = experiment.Run("laptop", tmp_path, seed=7)
    outcomes = {}
    for name in names:
        figure = matplotlib.figure.Figure()
        figure.subplots().plot([0, 1], [1, 0])
        row = experiment.Row(
            next(iter(experiment.claims_of("lipschitz"))), f"row of {name}", 1.5, 1.25, 0.5, "by eye", "partly", figure=name
        )
        outcomes[name] = experiment.Outcome([row], tables={"numbers": pd.DataFrame({"x": [1, 2]})}, plots={"line": figure}, notes="a note")
        experiment._save(name, outcomes[name], run)
    experiment._report("lipschitz", outcomes, run)
    page = (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    done = CliRunner().invoke(app, ["report", str(tmp_path)], terminal_width=200)
    assert done.exit_code == 0, done.output
    assert f"row of {names[1]}" in done.output
    assert "1 of " in done.output
    again = (tmp_path / "report.html").read_text()
    for words in (
        experiment.find_paper("lipschitz").TITLE,
        "row of",
        "claims are judged: 1 partly",
        "1.25 ± 0.5",
        "partly",
        "a note",
        "numbers",
        "<svg",
    ):
        assert words in page
        assert page.count(words) == again.count(words), words
    with pytest.raises(ValueError, match="which no paper has"):
        (tmp_path / names[0]).rename(tmp_path / "unknown")
        experiment.report_again(tmp_path)


def test_a_preset_lists_what_it_plays():
    assert "plays arms ·" in CliRunner().invoke(app, ["policies", "CUCB2"]).output
    assert "plays arms, features, contexts ·" in CliRunner().invoke(app, ["policies", "CLUCB2"]).output


def test_bound_refuses_means_that_break_the_constant():
    done = run_cli("bound", "0.1,0.5,0.9", "--lipschitz", "0.5")
    assert done.returncode == 2
    assert "the least constant that holds for all pairs is 0.8." in done.stderr
    assert done.stdout == ""
    assert run_cli("bound", "0.1,0.5,0.9", "--lipschitz", "0.8").returncode == 0


def test_errors_go_to_stderr_with_exit_code_2(tmp_path):
    done = run_cli("report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: path = ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_every_policy_is_listed_with_a_line_and_a_paper():
    from tightrope.registry import registered

    listed = CliRunner().invoke(app, ["policies"], terminal_width=300).output
    for name, item in registered():
        assert name in listed
        assert (item.__doc__ or "").strip()
        assert item.TRAITS.paper
        shown = CliRunner().invoke(app, ["policies", name]).output
        for field in item.FIELDS:
            assert f"{field} = " in shown
    assert np.all([len((item.__doc__ or "").strip().splitlines()[0]) < 140 for _, item in registered()])


def test_every_policy_is_measured_and_every_measurement_can_begin():
    from tightrope.engine.benchmark import cases
    from tightrope.policies import examples
    from tightrope.verbs import arms, init

    measured = set()
    for _, policy, _, problem in cases():
        if type(policy).__module__.startswith("tightrope."):  # other tests have policies of their own
            measured.add(type(policy))
        init(policy, arms(problem)._replace(horizon=1000))
    assert measured == {type(policy) for policy in examples().values()}


def test_bench_prints_and_keeps_a_baseline(tmp_path):
    file = tmp_path / "baseline.json"
    first = run_cli("bench", "--only", "hoo", "--baseline", file, "--save")
    assert first.returncode == 0, first.stderr
    kept = json.loads(file.read_text())
    assert kept["relative"]
    assert all(value > 0 for value in kept["relative"].values())
    second = run_cli("bench", "--only", "hoo", "--baseline", file)
    assert "new" not in second.stdout
