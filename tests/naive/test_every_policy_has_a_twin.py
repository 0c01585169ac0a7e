"""A policy that is registered and compared with no slow twin is found here."""

import ast
import pathlib
from typing import Any

import tightrope as tr
from tightrope.core.policy import base_of
from tightrope.core.registry import named_policies

HERE = pathlib.Path(__file__).parent
MODULES = {
    path.stem: path.read_text()
    for path in sorted(HERE.glob("test_*.py"))
    if path != pathlib.Path(__file__)
}


def words(node: ast.AST) -> set[str]:
    """Names, attributes and strings inside a piece of code."""
    found = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            found.add(item.id)
        elif isinstance(item, ast.Attribute):
            found.add(item.attr)
        elif isinstance(item, ast.Constant) and isinstance(item.value, str):
            found.add(item.value)
    return found


def compared(source: str) -> set[str]:
    """What stands beside a twin, in one test or one table of a test module."""
    body = ast.parse(source).body
    twins = {
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module or "").endswith(("_policies", "_policy"))
        or alias.name.endswith(("_policies", "_policy"))
    } | {
        node.name
        for node in body
        if isinstance(node, ast.ClassDef) and node.name.startswith("Naive")
    }
    for node in body:  # functions that use a twin stand for it
        if (
            isinstance(node, ast.FunctionDef)
            and not node.name.startswith("test_")
            and words(node) & twins
        ):
            twins.add(node.name)
    return set().union(
        *(
            words(node)
            for node in body
            if words(node) & twins and not isinstance(node, ast.Import | ast.ImportFrom)
        )
    )


def without_twin(policies: Any) -> list[str]:
    """Policies that no test of this folder compares; a preset counts with its class, whichever of
    its names is compared."""
    names: dict[str, set[str]] = {}
    for name, item in policies:
        names.setdefault(base_of(item).__name__, set()).add(name)
    made = set().union(*(compared(source) for source in MODULES.values()))
    return sorted(base for base, aliases in names.items() if not aliases & made)


def ours() -> list[tuple[str, Any]]:
    return [
        (name, item) for name, item in named_policies() if item.__module__.startswith("tightrope.")
    ]


def test_every_policy_is_compared_with_a_twin():
    assert without_twin(ours()) == []


def test_a_policy_without_a_twin_is_found():
    assert "UCB" not in compared(
        "import tightrope as tr\nfrom naive.some_policies import "
        "Twin\n\n\ndef "
        "test_other():\n    "
        "tr.UCB()\n"
    )
    assert "UCB" in compared(
        "import tightrope as tr\nfrom naive.some_policies import "
        "Twin\n\n\ndef "
        "test_it():\n    "
        "tr.UCB(), Twin()\n"
    )
    assert without_twin([*ours(), ("Lonely", type("Lonely", (), {"TRAITS": tr.UCB.TRAITS}))]) == [
        "Lonely"
    ]
