"""Plain words in the code: names that are nobody else's, and that say what they are.

ROOMS are all of the package; the test of planted names shows that a room outside them is not read.
"""

import ast
import pathlib
from collections import defaultdict

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
ROOT = pathlib.Path(__file__).parent.parent / "src" / "tightrope"
ROOMS = (
    "compiled", "core", "numerics", "solvers", "problems", "policies", "plots", "results", "simulation", "logs", "evaluation", "pages",
    "papers", "adapters", "extend.py", "testing.py", "demo", "cli", "service", "session", "__init__.py",
)  # fmt: skip
# An oracle and the problem that it is for, on which users rely; one policy in two forms, which specs know by one name; and the state of
# a policy, which each of them declares inside itself.
KNOWN_PAIRS = {"Promotions", "SquareCB", "State"}
KNOWN_PARTICIPLES = {
    "Given", "Broken", "Stream.moved", "AnsweringSession.answered", "AnsweringSession.known", "Remembering.answered",  # of users
    "Decided", "Rewarded", "Closed",  # events, each named by what happened, as its kind in the log is
    "Refused",  # the service's error, by which every module of it refuses a request
}  # fmt: skip
KNOWN_VARIABLES = {  # fields that stand in logs of the service, its answers, session files or tables of users
    ("service/domain/events.py", "made"), ("service/domain/events.py", "given"), ("service/http/answers.py", "held"),
    ("session/header.py", "held"), ("numerics/batch_ridge.py", "seen"), ("logs/log.py", "given"),
}  # fmt: skip
GLOSSARY_CONSTANTS = {("core/rounds.py", "PLAIN")}  # its meaning is in the glossary of CONTRIBUTING
# Names that say that something was done to something, or when, and not what there is or what is done.
BARE = (
    "again answered assembled asked beside broken chosen closed clustered compared counted decided decomposed differing discovered "
    "drawn earlier earned enough everything expected factorised factorized found given granted held holding joined kept known lasting "
    "listed made mapped measured missing moved named nested occurring opened packed paired picked placed predicted ragged ranked "
    "recovered reduced refused registered renamed repeated replayed reproduced rewarded rounded scattered seen shown slower solved "
    "stacked standing themed timed together told tuned waiting worked"
)
# Constants without a noun or a unit.
VAGUE = (
    "AGAIN APART BEFORE CALM CLOSE COVERED CROWDED EARLY EQUALLY FAILED FEW FRESH FROM KEPT KNOWN LARGE LASTS LATE LIKE LONG MATCHES "
    "MISSING MORE MOST NAMED NEVER NOTHING OPEN ORDERED PLAIN PRINTED QUICK READ RESOLVED SAME SETTLED SHOWN SILENT SMALL TIMED TWICE "
    "UNSEEN WIDE WITHIN"
)

# Variables and parameters that say that something was done to something, and not what it is.
VARIABLES = "again beside found given held made seen told"


def sources():
    """Text of every module by its path below the package."""
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}


def assigned(node):
    """Names that a statement of a module assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def variables(tree):
    """Names of all variables and parameters."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def participles(tree):
    """Functions, classes and methods (properties are facts, which participles may name) with the name of a bare participle."""
    found = set()
    for node in tree.body:
        if isinstance(node, FUNCTIONS | ast.ClassDef) and node.name.strip("_").lower() in BARE.split():
            found.add(node.name)
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            fact = isinstance(item, FUNCTIONS) and any("property" in ast.unparse(each) for each in item.decorator_list)
            if isinstance(item, FUNCTIONS) and not fact and item.name.strip("_") in BARE.split():
                found.add(f"{node.name}.{item.name}")
    return found - KNOWN_PARTICIPLES


def breaches(modules, rooms=ROOMS):
    """Every name and docstring of these rooms that is against the rules."""
    found, classes = set(), defaultdict(set)
    for path, text in modules.items():
        tree, held = ast.parse(text), path.split("/")[0] in rooms
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(path)
            named = held and isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS)
            if named and (ast.get_docstring(node) or "").startswith("What "):
                found.add(f"{path}: the docstring of {getattr(node, 'name', 'the module')} begins with What")
        if not held:
            continue
        vague = {name for name in variables(tree) & set(VARIABLES.split()) if (path, name) not in KNOWN_VARIABLES}
        found |= {f"{path}: the variable {name} says what was done, not what it is" for name in vague}
        if pathlib.PurePosixPath(path).stem in BARE.split():
            found.add(f"{path}: a module with the name of a participle")
        found |= {f"{path}: {name} says what was done, not what it is or does" for name in participles(tree)}
        for node in tree.body:
            vague = {name for name in assigned(node) & set(VAGUE.split()) if (path, name) not in GLOSSARY_CONSTANTS}
            found |= {f"{path}: {name} has neither noun nor unit" for name in vague}
    for name, paths in classes.items():
        if len(paths) > 1 and name not in KNOWN_PAIRS and any(path.split("/")[0] in rooms for path in paths):
            found.add(f"{name} is a class of {', '.join(sorted(paths))}")
    return found


def test_names_say_what_they_are_and_are_nobody_elses():
    assert not breaches(sources())


def test_known_pairs_are_pairs():
    modules = sources()
    for name in KNOWN_PAIRS:
        assert sum(f"class {name}" in text for text in modules.values()) > 1, name


def test_known_variables_are_variables():
    modules = sources()
    for path, name in KNOWN_VARIABLES:
        assert name in variables(ast.parse(modules[path])), (path, name)


def test_planted_names_are_found():
    planted = {
        "plots/again.py": '"""What is drawn."""\nSHOWN, KINDS = 3, ()\nKEPT: int = 2\ndef told(): ...\ndef _joined(): ...\nclass Plan:\n'
        "    @property\n    def kept(self): ...\n    def drawn(self): ...\n",
        "logs/plain.py": '"""A log."""\nclass Plan: ...\nclass _Inner: ...\ndef join(): ...\n',
        "plots/stream.py": 'async def told():\n    """What is told."""\n',
        "loose/told.py": '"""What is told."""\nSHOWN = 1\nfound = 2\nclass Round: ...\nclass _Inner: ...\n',
        "other/round.py": '"""Rounds."""\nclass Round: ...\n',
        "service/names.py": "class Names:\n    held: int\ndef join(given, *told, names):\n    found = {seen for seen in names}\n"
        "    for made, again in found:\n        names.beside = lambda beside: made\n    return names.told\n",
        "service/domain/events.py": "class Event:\n    made: int\n    told: int\n",
    }
    assert breaches(planted) == {
        "plots/again.py: the docstring of the module begins with What",
        "plots/again.py: a module with the name of a participle",
        "plots/again.py: told says what was done, not what it is or does",
        "plots/again.py: _joined says what was done, not what it is or does",
        "plots/again.py: Plan.drawn says what was done, not what it is or does",
        "plots/again.py: SHOWN has neither noun nor unit",
        "plots/again.py: KEPT has neither noun nor unit",
        "Plan is a class of logs/plain.py, plots/again.py",
        "plots/stream.py: told says what was done, not what it is or does",
        "plots/stream.py: the docstring of told begins with What",
        *(f"service/names.py: the variable {name} says what was done, not what it is" for name in VARIABLES.split()),
        "service/domain/events.py: the variable told says what was done, not what it is",
    }
    widened = breaches(planted, (*ROOMS, "loose"))
    assert "Round is a class of loose/told.py, other/round.py" in widened
    assert "loose/told.py: SHOWN has neither noun nor unit" in widened
    assert "loose/told.py: the variable found says what was done, not what it is" in widened
