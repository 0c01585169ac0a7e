"""Lists that are written down twice say the same: dependency groups and extras, versions of hooks,
of the package, of Python."""

import pathlib
import re
import tomllib

import tightrope as tr

ROOT = pathlib.Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_dependency_groups_are_the_extras():
    for name in ("test", "docs"):
        assert (
            PROJECT["dependency-groups"][name] == PROJECT["project"]["optional-dependencies"][name]
        )


def test_hooks_have_the_versions_that_ci_has():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    for tool in ("ruff", "zizmor"):
        assert re.search(rf"{tool}-pre-commit\n    rev: v(.+)", hooks)[1] == pinned[tool]


def test_the_version_is_everywhere_the_same():
    assert PROJECT["project"]["version"] == tr.__version__
    assert (
        re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)[1]
        == tr.__version__
    )
    assert f"## {tr.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_ci_tests_every_python_that_is_supported():
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    matrix = re.search(
        r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    )[1]
    assert re.findall(r"3\.\d+", matrix) == promised
    assert ", ".join(promised) in (ROOT / "docs" / "project" / "support.md").read_text()
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"
