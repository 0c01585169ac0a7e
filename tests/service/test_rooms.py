"""The modules of the service stand in one order: a module imports only from those above it, and
nothing in circles."""

import ast
import graphlib
import pathlib

ROOT = pathlib.Path(__file__).parent.parent.parent / "src" / "tightrope_service"
DOMAIN = (
    "errors",
    "spec",
    "events",
    "history",
    "rollout",
    "certificate",
    "requests",
    "experiment",
)
LOG = ("database", "log", "recovery", "outbox", "transfer")
RUNTIME = ("settings", "keys", "writer", "service", "commands")
ROOMS = (
    *DOMAIN,
    *LOG,
    *RUNTIME,
    "http",
    "board_view",
    "board",
    "routes",
    "ofrep",
    "webhooks",
    "client",
    "app",
    "cli",
)
DATABASES = {"sqlalchemy", "alembic", "psycopg"}
WEB = {"fastapi", "starlette", "uvicorn", "httpx", "jinja2"}
MAY_NOT_IMPORT = dict.fromkeys(DOMAIN, DATABASES | WEB) | dict.fromkeys(
    (*LOG, *RUNTIME, "webhooks"), WEB
)


def imports():
    """(module, what it imports), both as tuples of names; "tightrope_service" stands first where it
    is of this package."""
    for path in sorted(ROOT.rglob("*.py")):
        if "migrations" in path.parts or path.name == "__init__.py":
            continue
        here = ("tightrope_service", *path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                base = here[: len(here) - node.level] if node.level else ()
                target = (*base, *(node.module.split(".") if node.module else []))
                for alias in node.names:
                    inner = ROOT.joinpath(*target[1:], alias.name)
                    module = target[:1] == ("tightrope_service",) and (
                        inner.with_suffix(".py").exists() or inner.is_dir()
                    )
                    yield here, (*target, alias.name) if module else target
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield here, tuple(alias.name.split("."))


def test_modules_import_only_from_rooms_above_them():
    wrong = []
    for here, target in imports():
        if target[0] == "tightrope_service":
            if target[1:] and ROOMS.index(target[1]) > ROOMS.index(here[1]):
                wrong.append((here, target))
        elif target[0] in MAY_NOT_IMPORT.get(here[1], ()):
            wrong.append((here, target))
    assert wrong == []


def test_there_are_no_circles():
    graph = {}
    for here, target in imports():
        if target[0] == "tightrope_service":
            graph.setdefault(here, set()).add(target)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_private_module_of_another_folder_is_imported():
    assert [
        pair
        for pair in imports()
        if pair[1][0] == "tightrope_service" and any(part.startswith("_") for part in pair[1])
    ] == []
