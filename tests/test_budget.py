"""The size of the house, by room: no room grows, and what a step removes stays removed.

Limits are lowered with every step that removes something and are never raised; lines are not counted, since longer lines would hide them.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ("statements", "imports", "docstrings", "files")
LIMITS = {
    "adapters": (128, 19, 12, 4),
    "cli": (488, 128, 55, 11),
    "compiled": (573, 75, 59, 6),
    "core": (1163, 143, 158, 23),
    "demo": (365, 104, 36, 9),
    "evaluation": (1227, 118, 95, 12),
    "logs": (1613, 117, 120, 11),
    "numerics": (2239, 164, 203, 29),
    "pages": (220, 36, 20, 5),
    "papers": (4112, 685, 496, 78),
    "plots": (689, 84, 78, 11),
    "policies": (5143, 906, 482, 94),
    "problems": (884, 202, 75, 22),
    "results": (398, 56, 52, 5),
    "service": (7112, 880, 805, 94),
    "session": (3041, 288, 223, 24),
    "simulation": (1983, 332, 175, 28),
    "solvers": (881, 74, 62, 11),
    "top": (311, 52, 30, 4),
}
TESTS = 22_542


def counts(path):
    """Statements without docstrings and imports, imports, docstrings, files."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(ast.get_docstring(node, clean=False) is not None for node in nodes if isinstance(node, scopes))
    imports = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)
    statements = sum(isinstance(node, ast.stmt) for node in nodes) - docstrings - imports
    return Counter(dict(zip(COUNTED, (statements, imports, docstrings, 1), strict=True)))


def rooms():
    package = ROOT / "src" / "tightrope"
    sizes = {}
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).parts
        sizes.setdefault(place[0] if len(place) > 1 else "top", Counter()).update(counts(path))
    return sizes


def test_every_room_has_a_limit():
    assert set(rooms()) == set(LIMITS)


@pytest.mark.parametrize("room", LIMITS)
def test_a_room_is_within_its_limits(room):
    size = rooms()[room]
    over = [f"{size[what]} {what}, at most {most}" for what, most in zip(COUNTED, LIMITS[room], strict=True) if size[what] > most]
    assert not over, f"{room}: {'; '.join(over)}: take out as much as came in"


def test_tests_are_within_their_limit():
    size = sum((counts(path) for path in sorted((ROOT / "tests").rglob("*.py"))), Counter())["statements"]
    assert size <= TESTS, f"the tests have {size} statements, at most {TESTS}"


def test_the_count_is_of_statements(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('"""Head."""\n\nimport os\n\n\ndef size(x):\n    """Its size."""\n    a = 1; b = 2\n    return a + b + x\n')
    assert counts(path) == Counter(statements=4, imports=1, docstrings=2, files=1)
