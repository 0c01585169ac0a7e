"""The pages that Sphinx cannot make: those of the command line, of problems in specs and of policies. The site's build writes them.

The Python interface is Sphinx's own work: docs/reference/interface.md names it.
"""

import os
import types
import typing
from typing import Any

import click
import policy_pages
import typer
from policy_pages import paragraphs

from tightrope.cli.application import app
from tightrope.core.fields import Matrix, Vector
from tightrope.core.policy import RECIPES
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
        lines += [f"## {kind}", "", paragraphs(recipe.make.__doc__), "", "| parameter | default | type |", "| --- | --- | --- |"]
        for name, (schema, default) in recipe.parameters.items():
            lines.append(f"| `{name}` | {'required' if default is ... else f'`{default!r}`'} | {yaml_type(schema)} |")
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
    names = {float: "number", int: "whole number", str: "text", type(None): "null", bool: "true or false", os.PathLike[str]: "text"}
    return names.get(schema, "a list of two whole numbers" if schema == tuple[int, int] else str(schema))


def command_line() -> str:
    """What `--help` says of every command."""
    lines = [
        "# Command line",
        "",
        "`tightrope --install-completion` teaches your shell all of it.",
        "",
    ]

    def walk(command: click.Command, name: str, above: click.Context | None) -> None:
        context = click.Context(command, info_name=name.split()[-1], parent=above, terminal_width=100, max_content_width=100)
        with context:
            lines.extend([f"## {name}", "", "```text", command.get_help(context).rstrip(), "```", ""])
        for key, inner in sorted(getattr(command, "commands", {}).items()):
            walk(inner, f"{name} {key}", context)

    walk(typer.main.get_command(app), "tightrope", None)
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page that is made, by its place below docs."""
    own = {"reference/specs.md": specs(), "reference/command-line.md": command_line()}
    return own | {f"policies/{name}": text for name, text in policy_pages.pages().items()}
