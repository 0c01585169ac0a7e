"""A module imports only from its left: design's arrows, checked on the sources."""

import ast
import pathlib

ROOT = pathlib.Path(__file__).parent.parent / "src" / "tightrope"
BASE = {
    "types",
    "_boxing",
    "_cache",
    "_jit",
    "_parts",
    "rng",
    "checks",
    "verbs",
    "files",
    "extras",
    "registry",
    "matching",
    "notebook",
    "parameters",
    "references",
}
MAY_IMPORT = dict.fromkeys(BASE, BASE) | {
    "numerics": BASE | {"numerics"},
    "solvers": BASE | {"numerics", "solvers"},
    "problems": BASE | {"numerics", "solvers", "problems"},
    "policies": BASE | {"numerics", "solvers", "policies"},
    "engine": BASE | {"numerics", "solvers", "problems", "policies", "engine", "reports"},
    "reports": BASE | {"numerics", "solvers", "problems", "policies", "engine", "inference", "reports"},
    "inference": BASE | {"numerics", "solvers", "problems", "policies", "engine", "serving", "reports", "inference"},
    "papers": BASE | {"numerics", "solvers", "problems", "policies", "engine", "inference", "reports", "papers"},
    "demo": BASE | {"numerics", "solvers", "problems", "policies", "engine", "inference", "reports", "demo"},
    "adapters": BASE | {"problems", "engine", "inference", "serving", "adapters"},
    "extend": BASE | {"problems"},
    "testing": BASE | {"solvers", "problems", "policies", "engine", "serving"},
    "service": BASE | {"numerics", "solvers", "policies", "serving", "inference", "reports", "service"},
    "serving": BASE | {"numerics", "solvers", "policies", "serving"},  # a session file names the oracle it was saved with
}


def imports(path):
    """Parts of the package a file imports, and whether at the top of the module."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = [*package[: len(package) - node.level], *(node.module.split(".") if node.module else [])]
            yield from ([parts[1:]] if len(parts) > 1 else [[alias.name] for alias in node.names])


def test_modules_import_only_from_their_left():
    wrong = []
    for path in ROOT.rglob("*.py"):
        here = path.relative_to(ROOT).with_suffix("").parts
        if here[0] in ("__init__", "__main__", "cli"):
            continue
        for target in imports(path):
            if target[0] not in MAY_IMPORT[here[0]]:
                wrong.append(f"{'.'.join(here)} imports {'.'.join(target)}")
            if here[0] == target[0] == "policies" and len(here) > 2 and len(target) > 1 and target[1] != here[1]:
                wrong.append(f"family {here[1]} imports family {target[1]}")
    assert wrong == []
