"""Writes the stubs that type checkers and editors read: `make stubs`. A test compares them with what this would write.

Policies are found when the package is imported, so no source file lists them; these files do, with their parameters.
"""

import inspect
import json
import pathlib
import textwrap
import types
import typing
from collections.abc import Iterator
from typing import Any

import tightrope as tr
from tightrope.registry import PROBLEMS, REGISTRY, Preset

PACKAGE = pathlib.Path(tr.__file__).parent
HEAD = "# Made from the registry by `make stubs`.\n\n"


def rendered(hint: Any) -> str:
    """A type as source text."""
    if hint is None or hint is types.NoneType:
        return "None"
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return str(hint.__metadata__[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(rendered(item) for item in typing.get_args(hint)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(value(item) for item in typing.get_args(hint))}]"
    return "np.ndarray" if getattr(hint, "__name__", "") == "ndarray" else getattr(hint, "__name__", "Any")


def value(item: Any) -> str:
    """A default as source text."""
    return json.dumps(item) if isinstance(item, str) else repr(item)


def parameters(item: Any) -> Iterator[str]:
    """The parameters of a policy's constructor, one a line."""
    given = getattr(item, "defaults", {})
    fields = sorted(item.FIELDS.items(), key=lambda pair: not pair[1].positional)
    starred = False
    for name, field in fields:
        if not field.positional and not starred:
            starred = True
            yield "*"
        default = given.get(name, field.default)
        yield f"{name}: {rendered(field.schema)}" + ("" if field.required and name not in given else f" = {value(default)}")


def class_of(name: str, item: Any) -> Iterator[str]:
    """One policy, or a preset as a subclass with other defaults."""
    base = item.base.__name__ if isinstance(item, Preset) else "Policy"
    yield f"class {name}({base}):"
    doc = inspect.cleandoc((item.summary if isinstance(item, Preset) else item.__doc__) or "").replace("\\", "\\\\")
    lines = textwrap.indent(doc, "    ").splitlines()
    yield from ([f'    """{doc}"""'] if len(lines) < 2 else [f'    """{lines[0].strip()}', *lines[1:], '    """'])
    yield ""
    if not isinstance(item, Preset):
        for field, hint in item.STORED.items():
            yield f"    {field}: {rendered(hint)}"
        if item.STORED:
            yield ""
    yield "    def __init__("
    yield "        self,"
    for parameter in parameters(item):
        yield f"        {parameter},"
    yield "    ) -> None: ..."
    yield ""


def policies() -> str:
    """Every policy class and preset."""
    lines = [
        "from collections.abc import Iterable",
        "from typing import Any, Literal",
        "",
        "import numpy as np",
        "from numpy.typing import ArrayLike",
        "",
        "from ..registry import REGISTRY as REGISTRY",
        "from ..registry import Policy, Problem",
        "",
        "def examples(problem: Problem | None = None) -> dict[str, Policy]: ...",
        "",
    ]
    for name, item in sorted(own(REGISTRY).items(), key=lambda pair: (isinstance(pair[1], Preset), pair[0])):
        lines += class_of(name, item)
    return HEAD + "\n".join(lines).rstrip() + "\n"


def own(items: dict[str, Any]) -> dict[str, Any]:
    """Those of this package."""
    return {name: item for name, item in items.items() if item.__module__.startswith("tightrope.")}


def problems() -> str:
    """Where every problem class is."""
    found = {name: item.__module__.removeprefix("tightrope.problems") for name, item in own(PROBLEMS).items()} | {
        "spread_arms": ".spread",
        "classification": ".classification",
        "from_function": ".function",
    }
    lines = ["from . import data as data", *(f"from {module} import {name} as {name}" for name, module in sorted(found.items(), key=str))]
    return HEAD + "\n".join(lines) + "\n"


def package() -> str:
    """Everything that `tightrope` exports."""
    lines = []
    for name in sorted({*tr.__all__, "Client"}):  # Client is loaded when it is asked for
        if name in REGISTRY:
            continue
        if isinstance(getattr(tr, name), types.ModuleType):
            lines.append(f"from .{getattr(tr, name).__name__.removeprefix('tightrope').rpartition('.')[0][1:]} import {name} as {name}")
            continue
        lines.append(f"from {getattr(tr, name).__module__.replace('tightrope.', '.', 1)} import {name} as {name}")
    lines += [f"from .policies import {name} as {name}" for name in sorted(own(REGISTRY))]
    lines += ["", "__version__: str"]
    return HEAD + "\n".join(lines) + "\n"


STUBS = {"__init__.pyi": package, "policies/__init__.pyi": policies, "problems/__init__.pyi": problems}

if __name__ == "__main__":
    for path, make in STUBS.items():
        (PACKAGE / path).write_text(make())
