"""The size of the house, by room: no room grows, and what a step removes stays removed.

Limits are lowered with every step that removes something; lines are not counted, since longer lines
would hide them. They rise only by what a feature was granted beforehand: engine="cuda" may take 600
statements, of which it has 428, 365 in files of its own, 2 in compiled and 61 in simulation; several
promises 350 in policies and session, of which they have 361, and what their problems and delays
are; in the service, where they are by metric, they take 308. The successors may take 700 in
policies and have 828; oracles, a figure with claims for each, features from random maps and
forests, and the rounds of a baseline in a plan (15 in simulation) are beside them.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ("statements", "imports", "docstrings", "files")
LIMITS = {
    "adapters": (130, 18, 12, 3),
    "cli": (554, 84, 37, 4),
    "compiled": (570, 65, 53, 4),
    "core": (1174, 79, 145, 9),
    "evaluation": (1166, 74, 77, 7),
    "logs": (1560, 71, 91, 5),
    "numerics": (2111, 71, 174, 9),
    "papers": (4336, 443, 300, 41),
    "plots": (565, 35, 57, 3),
    "policies": (6194, 667, 479, 74),
    "problems": (916, 59, 52, 4),
    "service": (6519, 515, 512, 30),
    "session": (2893, 158, 195, 10),
    "gpu": (365, 35, 36, 3),
    "simulation": (1900, 186, 135, 11),
    "solvers": (1033, 27, 65, 3),
    "top": (892, 90, 81, 6),
}
TESTS = 23_471
GPU = ("cuda.py", "lanes.py")  # files of engine="cuda", which came later, in a room of their own


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
        inner = "gpu" if path.name in GPU else inner
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
