"""The size of the house, by room: no room grows, and what a step removes stays removed.

Limits are lowered with every step that removes something and are never raised; lines are not
counted, since longer lines would hide them.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ("statements", "imports", "docstrings", "files")
LIMITS = {
    "adapters": (126, 19, 12, 4),
    "cli": (426, 80, 33, 5),
    "compiled": (566, 65, 57, 4),
    "core": (1124, 80, 143, 10),
    "evaluation": (1166, 74, 84, 7),
    "logs": (1538, 79, 96, 6),
    "numerics": (2125, 75, 187, 11),
    "pages": (196, 18, 17, 2),
    "papers": (3902, 449, 298, 43),
    "plots": (565, 35, 60, 3),
    "policies": (5059, 575, 452, 69),
    "problems": (857, 59, 55, 4),
    "results": (376, 30, 46, 2),
    "service": (6227, 548, 564, 34),
    "session": (2766, 164, 207, 11),
    "simulation": (1847, 217, 149, 15),
    "solvers": (847, 26, 53, 3),
    "top": (308, 42, 30, 4),
}
TESTS = 21_919


def counts(path):
    """Statements without docstrings and imports, imports, docstrings, files."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(
        ast.get_docstring(node, clean=False) is not None
        for node in nodes
        if isinstance(node, scopes)
    )
    imports = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)
    statements = sum(isinstance(node, ast.stmt) for node in nodes) - docstrings - imports
    return Counter(dict(zip(COUNTED, (statements, imports, docstrings, 1), strict=True)))


def rooms():
    sizes = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        package, *place = path.relative_to(ROOT / "src").parts
        inner = (
            package.removeprefix("tightrope_")
            if package != "tightrope"
            else place[0]
            if len(place) > 1
            else "top"
        )
        sizes.setdefault(inner, Counter()).update(counts(path))
    return sizes


def test_every_room_has_a_limit():
    assert set(rooms()) == set(LIMITS)


@pytest.mark.parametrize("room", LIMITS)
def test_a_room_is_within_its_limits(room):
    size = rooms()[room]
    over = [
        f"{size[what]} {what}, at most {most}"
        for what, most in zip(COUNTED, LIMITS[room], strict=True)
        if size[what] > most
    ]
    assert not over, f"{room}: {'; '.join(over)}: take out as much as came in"


def test_tests_are_within_their_limit():
    size = sum((counts(path) for path in sorted((ROOT / "tests").rglob("*.py"))), Counter())[
        "statements"
    ]
    assert size <= TESTS, f"the tests have {size} statements, at most {TESTS}"


def test_the_count_is_of_statements(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(
        '"""Head."""\n\nimport os\n\n\ndef size(x):\n    """Its size."""\n    '
        "a = 1; b "
        "= 2\n    "
        "return a + b + x\n"
    )
    assert counts(path) == Counter(statements=4, imports=1, docstrings=2, files=1)
