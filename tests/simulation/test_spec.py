"""Specs as people write them, what they mean, and what is said where they are wrong."""

import json

import pytest
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.application import app
from tightrope.cli.inputs import read_spec

SHORT = """
problem: {kind: bernoulli, means: [0.4, 0.6]}
policies: [UCB, {policy: UCB, alpha: 2}]
horizon: 1e2
replications: 2e0
checkpoints: [10, 1e2]
monitor: {monitor: Budget, baseline: 0, alpha: 0.5}
"""
NAMED = SHORT.replace("[UCB, {policy: UCB, alpha: 2}]", "{a: UCB, b: {policy: UCB, alpha: 2}}")


def written(folder, text):
    (folder / "quick.yaml").write_text(text)
    return folder / "quick.yaml"


def test_short_forms_mean_what_the_long_ones_do(tmp_path):
    spec, _, policies = read_spec(written(tmp_path, NAMED))
    assert policies == {"a": tr.UCB(), "b": tr.UCB(alpha=2.0)}
    assert type(spec.horizon) is int
    assert spec.options() == {
        "replications": 2,
        "horizon": 100,
        "checkpoints": [10, 100],
        "monitor": tr.Budget(baseline=0, alpha=0.5),
    }
    listed = SHORT.replace("{policy: UCB, alpha: 2}", "KLUCB")
    assert read_spec(written(tmp_path, listed))[2] == {"UCB": tr.UCB(), "KLUCB": tr.KLUCB()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("policies", "policies"), "UCB is there twice"),
        (("horizon", "horizn"), "Did you mean 'horizon'?"),
        (("means", "maens"), "Did you mean 'means'?"),
        (("bernoulli", "bernouli"), "Did you mean 'bernoulli'?"),
        (("monitor: Budget", "monitor: Budgt"), "Did you mean 'Budget'?"),
        (
            ("baseline: 0", "base: 0"),
            "monitor: Budget has no parameter 'base'; it takes baseline, alpha, checkpoint, "
            "promises. Did you mean 'baseline'?",
        ),
        (("horizon: 1e2", "max_rounds: 3"), "max_rounds is not of mode: simulate"),
        (("horizon: 1e2", ""), "horizon is missing"),
        (("horizon: 1e2", "mode: identify"), "checkpoints is not of mode: identify"),
        (("horizon", "modules: [nowhere.py]\nhorizon"), "modules: "),
    ],
)
def test_what_is_wrong_is_said_with_the_nearest_name(tmp_path, change, words):
    text = SHORT if change[0] == change[1] else NAMED.replace(*change)
    with pytest.raises(ValueError, match=words.replace("?", r"\?")) as caught:
        read_spec(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_spec_brings_its_own_policies(tmp_path):
    (tmp_path / "my_own_of_a_spec.py").write_text(
        "from tightrope.extend import preset\nimport tightrope as tr\n\n"
        "@preset(alpha=9.0)\nclass Bold(tr.UCB):\n    'UCB with a wide index.'\n"
    )
    text = "modules: [my_own_of_a_spec.py]\n" + SHORT.replace("{policy: UCB, alpha: 2}", "Bold")
    try:
        assert read_spec(written(tmp_path, text))[2]["Bold"] == tr.UCB(alpha=9.0)
    finally:
        from tightrope.core.policy import REGISTRY

        REGISTRY.pop("Bold", None)


def test_identification_in_a_folder_of_the_specs_name_and_as_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (
        "mode: identify\nproblem: {kind: bernoulli, "
        "means: [0.1, "
        "0.9]}\npolicies: {a: "
        "UGapE}\nreplications: 2\nmax_rounds: 1e5\n"
    )
    done = CliRunner().invoke(app, ["run", str(written(tmp_path, text)), "--quiet", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    found = tr.load(tmp_path / "runs" / "quick")
    assert said["kind"] == found.kind == "identification"
    assert said["summary"][0]["mean"] == found.rounds["a"].mean()
    assert found.correct["a"].all()
