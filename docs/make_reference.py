"""Writes docs/reference/*.md from the docstrings: `make reference`. A test compares the pages with what this would write."""

import inspect
import os
import pathlib
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any

import tightrope as tr
from tightrope.parameters import Matrix, Vector
from tightrope.registry import RECIPES, REGISTRY, Preset
from tightrope.testing import check_policy, check_problem

HERE = pathlib.Path(__file__).resolve().parent / "reference"
FAMILIES = {
    "classic": "Independent arms",
    "linear": "Linear rewards",
    "regression": "Any regression of the rewards",
    "softucb": "Widths learned from data",
    "conservative": "Conservative exploration",
    "identification": "Best-arm identification",
    "semibandits": "Sets of arms",
    "exploration": "Exploration around any policy",
    "lipschitz": "Arms with a metric",
}
FIELDS = (
    "real", "optional_real", "real_or", "integer", "optional_integer", "choice", "flag", "vector", "matrix", "checkpoints", "inner_policy",
    "reward_kind", "unchecked", "derived", "scratch",
)  # fmt: skip
INTERFACE = {
    "Simulation": [tr.simulate, tr.stopping.Ranking, tr.Result, tr.PairedComparison, tr.load, tr.query, tr.Interrupted, tr.Budget],
    "Identification": [tr.identify, tr.Identification, tr.plan, tr.Plan],
    "Service": [tr.Session, tr.Decision, tr.learn_from, tr.scale, tr.Scaled],
    "Inference from logs": [tr.evaluate, tr.Evaluation, tr.compare, tr.Comparison, *(getattr(tr.logs, name) for name in tr.logs.__all__)],
    "Training": [tr.train_softucb, tr.TrainedBeta],
    "Lipschitz arms": [tr.lipschitz_lower_bound, tr.LowerBound, tr.least_lipschitz, tr.LeastLipschitz, tr.discretize],
    "Problems": [getattr(tr.problems, name) for name in sorted(tr.problems.__all__) if name != "data"],
    "Data": [getattr(tr.problems.data, name) for name in tr.problems.data.__all__],
    "Extending": [check_policy, check_problem, tr.extend.policy, tr.extend.problem, tr.extend.recipe, tr.extend.jit, tr.extend.lean],
    "Fields": [getattr(tr.extend, name) for name in FIELDS],
    "Oracles": [getattr(tr.oracles, name) for name in tr.oracles.__all__ if name not in ("choose", "set_size")],
}


def paragraphs(text: str | None) -> str:
    """A docstring without its indentation."""
    return inspect.cleandoc(text or "")


def policies() -> str:
    """Every registered policy by family."""
    lines = ["# Policies", "", "Made from the source by `make reference`. In Python: `tightrope.NAME(parameter=value, ..)`.", ""]
    for family, title in FAMILIES.items():
        lines += [f"## {title}", ""]
        for name, item in sorted(REGISTRY.items(), key=lambda pair: (isinstance(pair[1], Preset), pair[0])):
            if item.__module__.startswith(f"tightrope.policies.{family}."):
                lines += list(policy(name, item))
    return "\n".join(lines)


def policy(name: str, item: Any) -> Iterator[str]:
    """One policy: what its file says, and its parameters."""
    yield f"### {name}"
    yield ""
    if isinstance(item, Preset):
        changed = ", ".join(f"{key}={value!r}" for key, value in item.defaults.items())
        yield f"{paragraphs(item.summary)} `{item.base.__name__}` with {changed}."
        yield ""
        return
    yield "  \n".join(joined(paragraphs(sys.modules[item.__module__].__doc__)))
    yield ""
    yield paragraphs(item.__doc__)
    yield ""
    yield f"Plays: {', '.join(item.TRAITS.accepts)}."
    yield ""
    if item.FIELDS:
        yield "| parameter | default | values |"
        yield "| --- | --- | --- |"
        for parameter, field in item.FIELDS.items():
            default = "required" if field.required else f"`{field.default!r}`"
            yield f"| `{parameter}` | {default} | {field.words.replace('|', chr(92) + '|')} |"
        yield ""


def joined(text: str) -> Iterator[str]:
    """Lines of a module's head, a new one where a sentence begins with a heading such as "Source:"."""
    line = ""
    for part in text.splitlines():
        starts = part.split(" ")[0].endswith(":") or part.startswith("When to use it:") or not part
        if starts and line:
            yield line
            line = part
        else:
            line = f"{line} {part}".strip()
    if line:
        yield line


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


PAGES = {"policies.md": policies, "interface.md": interface, "specs.md": specs}

if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for page, make in PAGES.items():
        (HERE / page).write_text(make())
