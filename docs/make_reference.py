"""Writes docs/reference and docs/policies from the docstrings: `make reference`. A test compares the pages with what this would write."""

import inspect
import os
import pathlib
import types
import typing
from collections.abc import Iterator
from typing import Any

import click
import policy_pages
import typer
from policy_pages import paragraphs

import tightrope as tr
from tightrope.cli import app
from tightrope.core.fields import Matrix, Vector
from tightrope.core.names import RECIPES
from tightrope.testing import check_policy, check_problem

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = (
    "real", "optional_real", "real_or", "integer", "optional_integer", "choice", "flag", "vector", "matrix", "checkpoints", "inner_policy",
    "reward_kind", "unchecked", "derived", "scratch",
)  # fmt: skip
INTERFACE = {
    "Simulation": [tr.simulate, tr.stopping.Ranking, tr.Result, tr.PairedComparison, tr.load, tr.query, tr.Interrupted, tr.Budget],
    "Delays": [getattr(tr.delays, name) for name in tr.delays.__all__],
    "Identification": [tr.identify, tr.Identification, tr.plan, tr.Plan],
    "Service": [tr.Session, tr.Decision, tr.Journal, tr.Encoder, tr.learn_from, tr.scale, tr.Scaled],
    "Inference from logs": [
        tr.evaluate,
        tr.Evaluation,
        tr.evaluate_learner,
        tr.compare,
        tr.Comparison,
        *(getattr(tr.logs, name) for name in tr.logs.__all__),
    ],
    "Training": [tr.train_softucb, tr.TrainedBeta],
    "Lipschitz arms": [tr.lipschitz_lower_bound, tr.LowerBound, tr.least_lipschitz, tr.LeastLipschitz, tr.discretize],
    "Problems": [getattr(tr.problems, name) for name in sorted(tr.problems.__all__) if name != "data"],
    "Data": [getattr(tr.problems.data, name) for name in tr.problems.data.__all__],
    "Extending": [
        check_policy,
        check_problem,
        tr.extend.policy,
        tr.extend.problem,
        tr.extend.delay,
        tr.extend.recipe,
        tr.extend.jit,
        tr.extend.lean,
    ],
    "Fields": [getattr(tr.extend, name) for name in FIELDS],
    "Oracles": [getattr(tr.oracles, name) for name in tr.oracles.__all__],
}


def interface() -> str:
    """Everything public that is not a policy."""
    lines = ["# Interface", "", "Made from the source by `make reference`.", ""]
    for title, items in INTERFACE.items():
        lines += [f"## {title}", ""]
        for item in items:
            lines += list(described(item, item.__name__))
            if inspect.isclass(item):
                for name, member in vars(item).items():
                    if not name.startswith("_") and getattr(member, "__doc__", None) and (callable(member) or is_member(member)):
                        lines += list(described(getattr(item, name), f"{item.__name__}.{name}", "####"))
    return "\n".join(lines)


def is_member(member: Any) -> bool:
    """Whether a class attribute is a property or a class method of its own."""
    return isinstance(member, property | classmethod)


def described(item: Any, name: str, level: str = "###") -> Iterator[str]:
    """A heading, a signature if there is one, and the docstring."""
    yield f"{level} {name}"
    yield ""
    if not isinstance(item, property) and not (inspect.isclass(item) and issubclass(item, Exception)):
        target = item.__new__ if inspect.isclass(item) and "__new__" in vars(item) and "__signature__" not in vars(item) else item
        signature = inspect.signature(target)
        shown = [p.replace(annotation=p.empty) for key, p in signature.parameters.items() if key not in ("self", "cls")]
        yield f"`{name}{signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)}`"
        yield ""
    yield paragraphs(item.__doc__)
    yield ""


def specs() -> str:
    """Every kind of problem that a YAML file can ask for."""
    lines = [
        "# Problems in specs",
        "",
        "Made from the source by `make reference`. In YAML: `problem: {kind: NAME, parameter: value, ..}`.",
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
        "Made from the source by `make reference`. `tightrope --install-completion` teaches your shell all of it.",
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
    own = {"reference/interface.md": interface(), "reference/specs.md": specs(), "reference/command-line.md": command_line()}
    return own | {f"policies/{name}": text for name, text in policy_pages.pages().items()}


if __name__ == "__main__":
    (HERE / "policies").mkdir(exist_ok=True)
    for name, text in pages().items():
        (HERE / name).write_text(text)
