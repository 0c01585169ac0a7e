"""The pages that Sphinx cannot make: those of the command line, of problems in specs and of
policies. The site's build writes them. Run as a script it writes the names of policies into
`__init__.pyi`.

The Python interface is Sphinx's own work: docs/reference/interface.md names it.
"""

import ast
import os
import pathlib
import types
import typing
from typing import Any

import click
import policy_pages
import typer
from policy_pages import paragraphs

import tightrope
from tightrope.cli.application import app
from tightrope.core.fields import Matrix, Vector
from tightrope.core.policy import RECIPES, REGISTRY
from tightrope.core.registry import load_own

load_own()  # the package's policies and problems, which nothing else here asks for


def specs() -> str:
    """Every kind of problem that a YAML file can ask for."""
    lines = [
        "# Problems in specs",
        "",
        "In YAML: `problem: {kind: NAME, parameter: value, ..}`.",
        "",
    ]
    for kind, recipe in sorted(RECIPES.items()):
        if not recipe.make.__module__.startswith("tightrope."):
            continue
        lines += [
            f"## {kind}",
            "",
            paragraphs(recipe.make.__doc__),
            "",
            "| parameter | default | type |",
            "| --- | --- | --- |",
        ]
        for name, (schema, default) in recipe.parameters.items():
            lines.append(
                f"| `{name}` | {'required' if default is ... else f'`{default!r}`'} | "
                f"{yaml_type(schema)} |"
            )
        lines.append("")
    return "\n".join(lines)


def yaml_type(schema: Any) -> str:
    """A type in a few words."""
    if schema is Vector:
        return "numbers"
    if schema == Matrix:
        return "rows of numbers, or the name of a .npy or .csv file beside the spec"
    if typing.get_origin(schema) is typing.Literal:
        return " or ".join(f"`{item}`" for item in typing.get_args(schema))
    if typing.get_origin(schema) in (typing.Union, types.UnionType):
        return ", or ".join(dict.fromkeys(yaml_type(item) for item in typing.get_args(schema)))
    if schema == list[int]:
        return "whole numbers"
    names = {
        float: "number",
        int: "whole number",
        str: "text",
        type(None): "null",
        bool: "true or false",
        os.PathLike[str]: "text",
    }
    return names.get(
        schema, "a list of two whole numbers" if schema == tuple[int, int] else str(schema)
    )


def command_line() -> str:
    """What `--help` says of every command."""
    lines = [
        "# Command line",
        "",
        "`tightrope --install-completion` teaches your shell all of it.",
        "",
    ]

    def walk(command: click.Command, name: str, above: click.Context | None) -> None:
        context = click.Context(
            command,
            info_name=name.split()[-1],
            parent=above,
            terminal_width=100,
            max_content_width=100,
        )
        with context:
            lines.extend(
                [f"## {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]
            )
        for key, inner in sorted(getattr(command, "commands", {}).items()):
            walk(inner, f"{name} {key}", context)

    walk(typer.main.get_command(app), "tightrope", None)
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page that is made, by its place below docs."""
    own = {"reference/specs.md": specs(), "reference/command-line.md": command_line()}
    return own | {f"policies/{name}": text for name, text in policy_pages.pages().items()}


INTERFACE = pathlib.Path(tightrope.__file__).with_suffix(".pyi")


def interface() -> str:
    """`__init__.pyi`, with the policies that are registered: `python docs/make_reference.py` writes
    it."""
    text = INTERFACE.read_text()
    places: dict[str, list[str]] = {}
    for line in (
        line for line in ast.parse(text).body if isinstance(line, ast.ImportFrom) and line.level
    ):
        others = [alias.name for alias in line.names if alias.name not in REGISTRY]
        places |= {f".{line.module or ''}": others} if others else {}
    own = [
        name for name, item in REGISTRY.items() if item.__module__.startswith("tightrope.policies.")
    ]
    for name in own:
        places.setdefault(REGISTRY[name].__module__.removeprefix("tightrope"), []).append(name)
    names = sorted({name for each in places.values() for name in each}, key=kind)
    head = text[: text.index("from .")]
    lines = [
        f"from {place} import {', '.join(sorted(places[place], key=imported))}"
        for place in sorted(places)
    ]
    listed = "".join(f'    "{name}",\n' for name in names)
    return head + "\n".join(lines) + f"\n\n__version__: str\n__all__ = [\n{listed}]\n"


def kind(name: str) -> tuple[int, str]:
    """How names are sorted: constants, classes, functions and modules."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def imported(name: str) -> tuple[int, str]:
    return kind(name)[0], name.lower()


if __name__ == "__main__":
    INTERFACE.write_text(interface())
