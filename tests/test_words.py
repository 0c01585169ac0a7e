"""No two classes of the package have one name."""

import ast
import pathlib
from collections import defaultdict

ROOT = pathlib.Path(__file__).parent.parent / "src"
# An oracle and the problem that it is for, on which users rely; one policy in two forms, which
# specs know by one name; and the state of a policy, which each of them declares inside itself.
KNOWN_PAIRS = {"Promotions", "SquareCB", "State"}


def shared_names(modules):
    """Names of public classes that stand in several modules, given as text by path, with those
    modules."""
    places = defaultdict(set)
    for path, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_classes_have_names_that_are_nobody_elses():
    assert (
        set(shared_names({str(path): path.read_text() for path in ROOT.rglob("*.py")}))
        == KNOWN_PAIRS
    )


def test_planted_names_are_found():
    planted = {
        "a.py": "class Plan: ...\nclass _Inner: ...\n",
        "b.py": "class Plan:\n    class State: ...\n",
        "c.py": "class _Inner: ...\n",
    }
    assert shared_names(planted) == {"Plan": {"a.py", "b.py"}}
