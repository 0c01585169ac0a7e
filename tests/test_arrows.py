"""One road: a module imports only from rooms above its own, without circles, and no private module
of another room.

The list of rooms is the rule; CONTRIBUTING.md says it in words. Imports for type checkers only
count as well.
"""

import ast
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parent.parent / "src"
ROOT = SOURCE / "tightrope"
PACKAGES = {
    "tightrope": (),
    "tightrope_papers": ("papers",),
    "tightrope_service": ("service",),
}  # and the rooms that they are
ROOMS = (
    "compiled",
    "core",
    "numerics",
    "solvers",
    "problems",
    "policies",
    "plots",
    "results",
    "simulation",
    "logs",
    "session",
    "evaluation",
    "pages",
    "cli",
    "papers",
    "service",
    "adapters",
    "extend",
    "testing",
)
APART = {("service", "papers")}  # neither knows of the other
OUTSIDE = {"__init__", "__main__"}  # the door itself


def modules():
    """Every module of the package by its dotted name below it."""
    found = {}
    for package, room in PACKAGES.items():
        for path in (SOURCE / package).rglob("*.py"):
            parts = (*room, *path.relative_to(SOURCE / package).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"] = path
    return found


MODULES = modules()


def imports(name, path):
    """Modules of the package that a module imports."""
    package = path.relative_to(SOURCE).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (
                ".".join(PACKAGES[alias.name]) for alias in node.names if alias.name in PACKAGES
            )
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            top, *rest = (*start, *(node.module.split(".") if node.module else []))
            base = [*PACKAGES.get(top, ()), *rest]
            for alias in node.names if top in PACKAGES else ():
                whole = ".".join([*base, alias.name])
                yield whole if whole in MODULES else ".".join(base)


def graph():
    return {
        name: {target for target in imports(name, path) if target and target != name}
        for name, path in MODULES.items()
    }


def circles(edges):
    """Groups of modules that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = set()
            while True:
                last = stack.pop()
                group.add(last)
                if last == node:
                    break
            if len(group) > 1:
                found.append(group)

    for node in edges:
        if node not in index:
            visit(node)
    return found


def breaches():
    wrong, edges = set(), graph()
    for name, targets in edges.items():
        room = name.split(".")[0]
        if room in OUTSIDE:
            continue
        for target in targets:
            other = target.split(".")[0]
            if other not in ROOMS or room not in ROOMS:
                wrong.add(f"{name} imports {target}: no room")
            elif ROOMS.index(other) > ROOMS.index(room) or (room, other) in APART:
                wrong.add(f"{name} imports {target}")
            elif other != room and any(part.startswith("_") for part in target.split(".")):
                wrong.add(f"{name} imports the private {target}")
            apart = MODULES[target].parent not in (
                ROOT / "policies",
                MODULES[name].parent,
            )  # bases.py is of no family
            if room == other == "policies" and name.count(".") > 1 and apart:
                wrong.add(f"{name} imports {target} of another family")
    inner = {
        name: {target for target in targets if target not in OUTSIDE}
        for name, targets in edges.items()
        if name not in OUTSIDE
    }
    return wrong | {"circle: " + ", ".join(sorted(group)) for group in circles(inner)}


def test_a_module_imports_only_from_above():
    assert not breaches()


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]


def test_the_package_loads_no_heavy_library():
    code = (
        "import sys, tightrope; print([name for name in ('matplotlib', 'pandas', 'fastapi', "
        "'sqlalchemy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


if __name__ == "__main__":
    print("\n".join(sorted(breaches())))
