"""What `compiled` uses of Numba's inside: with another minor version the first of these that fails
says what breaks."""

import ast
import importlib.util
import pathlib
import tomllib

import numba
import pytest
from numba.core.caching import Cache
from numba.core.compiler import Compiler
from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).parent.parent


def imported(path):
    """Names of Numba that a module imports when it runs."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            if (node.module or "").startswith("numba.cuda"):
                continue  # of an extra, see tests/lab/test_cuda.py
            yield from ((node.module, alias.name) for alias in node.names)


def test_the_installed_version_is_one_that_was_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = (Requirement(each) for each in project["dependencies"] if each.startswith("numba"))
    assert wanted.specifier.contains(numba.__version__)
    major, minor = map(int, numba.__version__.split(".")[:2])
    assert not wanted.specifier.contains(f"{major}.{minor + 1}.0")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "src/tightrope/compiled").glob("*.py")), ids=lambda path: path.stem
)
def test_every_part_that_is_imported_is_there(path):
    for module, name in imported(path):
        there = hasattr(importlib.import_module(module), name) or importlib.util.find_spec(
            f"{module}.{name}"
        )
        assert there, f"{path.name} needs {module}.{name}"


def test_methods_that_are_replaced_are_called_by_numba():
    """A method of ours that overrides one which is no longer there would never be called: nothing
    would be compiled as we mean it."""
    for owner, name in (
        (Compiler, "define_pipelines"),
        (Cache, "load_overload"),
        (Cache, "save_overload"),
    ):
        assert hasattr(owner, name), (
            f"numba {numba.__version__} has no {owner.__name__}.{name}, which compiled replaces"
        )
