"""The pages of docs/policies: one for every policy and an index, from the registry, the docstrings
and docs/mathematics.

A policy's own file says when to use it, what it costs, where it is from and how it departs from
that; docs/mathematics/NAME.md has the formulas, what is proved, and an example;
src/tightrope/references.bib the papers.
"""

import inspect
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import make_curves

from tightrope.core.policy import REGISTRY
from tightrope.core.registry import entries

MATHEMATICS = pathlib.Path(__file__).resolve().parent / "mathematics"
FAMILIES = {
    "classic": "Independent arms",
    "linear": "Linear rewards",
    "squarecb": "Any regression of the rewards",
    "softucb": "Widths learned from data",
    "conservative": "Conservative exploration",
    "identification": "Best-arm identification",
    "semibandits": "Sets of arms",
    "explore": "Exploration around any policy",
    "lipschitz": "Arms with a metric",
}
PLAYS = {
    "arms": "independent arms",
    "features": "arms with features that stay",
    "contexts": "features that are new in every round",
    "points": "arms with a metric",
    "line": "points on [0, 1]",
    "sets": "sets of arms",
    "sets of lasting arms": "sets of arms that are the same every round, with features or without",
}
COST = re.compile(
    r"(?:Per round: .+|(?:Usually )?O\([^.]*\ba round\b.*|A round recomputes.+)", flags=re.DOTALL
)
HEADS = (
    "When to use it",
    "Bound",
    "Guarantee",
    "Source",
    "Deviations",
    "Deviation",
    "Differences to OSLB",
)
WAITS = (
    "The choice does not move until the next reward is in: a long delay repeats one arm, so that "
    "every arm may cost up to a delay's rounds of its gap more."
)
DRAWS = (
    "It draws anew for every decision, so that many open decisions are spread over the arms that "
    "may be best."
)
ORDER = (
    "Where the time at which a reward comes depends on what it is, "
    "estimates lean "
    "towards those "
    "that come first: use "
    '`apply="in order"` ([rewards come late](../how-to/rewards-come-late.md)).'
)
LATE = {  # by family; {moves}: how choices behave while nothing new is known
    "classic": f"Intervals and posteriors count the rewards that are in, "
    f"however many "
    f"decisions "
    f"are open. {{moves}} "
    f"{ORDER}",
    "linear": f"The confidence set holds for any sequence of arms, so "
    f"also with "
    f"decisions open. "
    f"{{moves}} {ORDER}",
    "softucb": (
        f"{DRAWS} Probabilities are exact at the time of each decision. The online rule moves "
        f"beta when a reward is learned. {ORDER}"
    ),
    "squarecb": f"{DRAWS} Probabilities are exact at the time of each "
    f"decision, "
    f"whatever is "
    f"open. {ORDER}",
    "conservative": (
        "The promise counts decisions when they are made. With "
        '`open="nothing"`, the '
        "default, it "
        "holds for any delay "
        "and any number of "
        'open decisions if rewards are not negative; `open="lower"` explores '
        "sooner and "
        "is sound "
        "only if when a "
        "reward comes does not "
        "depend on what it is. [The "
        "conservative "
        "guarantee](../explanation/conservative-guarantee.md) has the proof."
    ),
    "identification": (
        "The certificate counts rewards that are in and holds for any order of "
        "sampling, "
        "so that "
        "late rewards cost "
        "time and not the "
        "promise. Where the time at which a reward comes depends on what it "
        "is, use "
        '`apply="in '
        'order"`. Decisions '
        "that are open when it "
        "stops are not needed."
    ),
    "semibandits": f"Answers to a set may come one by one, in any order, "
    f"after later "
    f"sets were "
    f"chosen. {{moves}} {ORDER}",
    "explore": "The floor holds for every decision, whatever is open; the "
    "rest is as "
    "for the "
    "inner policy.",
    "lipschitz": f"The pooled evidence counts rewards that are in. {WAITS} {ORDER}",
}
DRAWING = {
    "BetaThompson",
    "GaussianThompson",
    "EpsilonGreedy",
    "LinTS",
    "LogisticTS",
    "LinEpsilonGreedy",
    "CombTS",
    "CombLinTS",
    "PC2UCB",
    "LinMED",
}
ENDS = {False: "no", True: "yes, with a certificate", "plan": "yes, when its samples are taken"}


def ours() -> dict[str, Any]:
    """The package's policies and presets by name, in the order of families, classes before their
    presets."""

    def place(pair: tuple[str, Any]) -> tuple[int, bool, str]:
        return list(FAMILIES).index(family(pair[1])), pair[1].TRAITS.base is not None, pair[0]

    return dict(
        sorted(
            (
                (n, item)
                for n, item in REGISTRY.items()
                if item.__module__.startswith("tightrope.policies.")
            ),
            key=place,
        )
    )


def family(item: Any) -> str:
    """The folder that a policy lies in."""
    return item.__module__.split(".")[2]


def paragraphs(text: str | None) -> str:
    """A docstring as Markdown: without its indentation, numpydoc's sections as bold words over
    lists of definitions."""
    lines, out, section = inspect.cleandoc(text or "").splitlines(), list[str](), ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line and following and set(following) == {"-"} and len(following) >= len(line):
            section = line
            out += [f"**{line}**"] + [""] * (line == "References")
        elif section and set(line) == {"-"}:
            if section == "Examples":
                out += ["", "```pycon"]
        elif section in ("Examples", "References") or not section or not line:
            if section == "Examples" and not line:
                out, section = [*out, "```"], ""
            out.append(line)
        elif line.startswith("    "):
            definition = not lines[number - 1].startswith("    ")
            out.append(("  : " if definition else "    ") + line.strip())
        else:
            name, _, kind = line.partition(" : ")
            out += ["", f"`{name}`" + (f" ({kind})" if kind else "")]
    return "\n".join([*out, "```"] if section == "Examples" else out)


def escaped(text: str) -> str:
    """Plain text as Markdown: what stands in backticks stays, the rest means no more than it
    says."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_<$])", r"\\\1", part) for part in parts
    )


def head(item: Any) -> dict[str, str]:
    """What a policy's file says at its top, by heading; "Cost" is what a round takes, "" the first
    line."""
    text = paragraphs(sys.modules[item.__module__].__doc__)
    found, current = {"": ""}, ""
    for line in text.splitlines():
        starts = next((name for name in HEADS if line.startswith(f"{name}:")), None)
        if starts is not None:
            current, line = starts, line.removeprefix(f"{starts}:")
        found[current] = f"{found.get(current, '')} {line.strip()}".strip()
    for name, part in found.items():
        cost = COST.search(part)
        if cost:
            found[name] = part[: cost.start()].strip()
            found["Cost"] = cost[0].removeprefix("Per round: ")
            break
    return found


def cost(text: str) -> str:
    """What a round takes, its orders of growth typeset."""
    text = text.replace(" a round", "", 1) if text.startswith(("O(", "Usually")) else text

    def typeset(match: re.Match[str]) -> str:
        return f"${match[0].replace('min(', chr(92) + 'min(')}$"

    return re.sub(r"O\((?:[^()]|\([^()]*\))*\)", typeset, text[0].upper() + text[1:]).replace(
        "<", "\\<"
    )


def purpose(item: Any) -> str:
    """One sentence: what a policy does."""
    return paragraphs(item.__doc__).split("\n\n")[0].replace("\n", " ")


def fragments(name: str) -> dict[str, str]:
    """Sections of docs/mathematics/NAME.md by title, "Ends by itself" and "Late rewards" where a
    policy differs from its family."""
    parts = re.split(r"^## (.+)\n", (MATHEMATICS / f"{name}.md").read_text(), flags=re.MULTILINE)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def described(item: Any) -> dict[str, str]:
    """What a class's docstring says of its parameters, by name; of those that a docstring leaves to
    `Conservative`, what that says."""
    said, name = dict[str, str](), ""
    for line in inspect.cleandoc(item.__doc__).partition("----------\n")[2].splitlines():
        if line.startswith(" "):
            said[name] = f"{said[name]} {line.strip()}".strip()
        elif line:
            name = line.partition(" : ")[0]
            said[name] = ""
    guarded = item.__name__ in ("Safe", "SafePromises")
    return described(REGISTRY["Conservative"]) | said if guarded else said


def parameters(item: Any) -> Iterator[str]:
    """A table of all parameters with each one's default, range and meaning."""
    said = described(item)
    yield "| parameter | default | values | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in item.FIELDS.items():
        default = "required" if field.required else f"`{field.default!r}`"
        yield f"| `{name}` | {default} | {cell(field.words)} | {cell(said[name])} |"


def cell(text: str) -> str:
    """Plain text in a table."""
    return escaped(text).replace("|", "\\|")


def late(name: str, item: Any) -> str:
    """What holds while decisions are open."""
    return LATE[family(item)].replace("{moves}", DRAWS if name in DRAWING else WAITS)


def presets(base: Any) -> dict[str, Any]:
    """The classes by name that are this one with other defaults."""
    return {name: item for name, item in ours().items() if item.TRAITS.base is base}


def changes(item: Any) -> str:
    """The defaults in which a preset differs from its base."""
    fields = item.TRAITS.base.FIELDS
    changed = {
        name: field.default
        for name, field in item.FIELDS.items()
        if field.default != fields[name].default
    }
    return ", ".join(
        f'`{name}="{value}"`' if isinstance(value, str) else f"`{name}={value!r}`"
        for name, value in changed.items()
    )


def picture(name: str) -> str:
    """The policy beside its peers, and what world that is."""
    place = make_curves.place_of(name)
    if place is None:
        return ""
    world = make_curves.WORLDS[place]
    *others, last = (peer for peer in world.peers if peer != name)
    peers = f"{', '.join(others)} and {last}"
    what = "rounds until the stop" if world.horizon is None else "mean regret"
    until = (
        "until each stops; a dot is a run, a bar their mean"
        if world.horizon is None
        else f"for {world.horizon:,} rounds"
    )
    return (
        f"![{name} beside {peers}: "
        f"{what}](../images/policies/{name}.svg)\n\n*{name} beside "
        f"{peers}, "
        f"{world.runs} runs each "
        f"{until}, on {world.words} (`docs/make_curves.py`).*\n"
    )


def declared(name: str, item: Any) -> str:
    """The policy's signature, by which other pages and `objects.inv` find it."""
    signature = inspect.signature(item)
    shown = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return (
        f"```{{py:class}} "
        f"tightrope.{name}"
        f"{signature.replace(parameters=shown, return_annotation=signature.empty)}\n```\n"
    )


def preset_page(name: str, item: Any) -> str:
    """The page of a preset: what differs from its base, in one paragraph."""
    base, plays = item.TRAITS.base.__name__, ", ".join(PLAYS[kind] for kind in item.TRAITS.accepts)
    text = " ".join(
        escaped(" ".join(part.split())) for part in paragraphs(item.__doc__).split("\n\n")[:2]
    )
    return (
        f"# {name}\n\n{text} It is [{base}]({base}.md) with "
        f"{changes(item)}, for "
        f"{plays}; all "
        f"else is said there, "
        f"and every "
        f"parameter can still be given. `tightrope cite "
        f"{name}` "
        f"prints its "
        f"papers.\n\n{picture(name)}\n{declared(name, item)}"
    )


def page(name: str, item: Any) -> str:
    """The page of one policy."""
    if item.TRAITS.base is not None:
        return preset_page(name, item)
    own, file = fragments(name), head(item)
    lines = [f"# {name}", "", escaped(purpose(item)), ""]
    if "When to use it" in file:
        lines += [f"**When to use it:** {escaped(file['When to use it'])}", ""]
    plays = "; ".join(PLAYS[kind] for kind in item.TRAITS.accepts)
    lines += [
        "| at a glance | |",
        "| --- | --- |",
        f"| family | [{FAMILIES[family(item)]}](index.md#{slug(FAMILIES[family(item)])}) |",
    ]
    lines += [f"| plays | {plays} |", f"| cost of a round | {cost(file['Cost'])} |"]
    lines += [
        f"| ends by itself | {own.get('Ends by itself', ENDS[item.TRAITS.stops])} |",
        f"| paper | {escaped(item.TRAITS.paper)} |",
        "",
    ]
    lines += [picture(name)]
    lines += [
        "## What it computes",
        "",
        own["What it computes"],
        "",
        "## What is known",
        "",
        own["What is known"],
        "",
    ]
    lines += ["## Parameters", "", declared(name, item)]
    lines += [*parameters(item), ""]
    if presets(item):
        lines += ["## With other defaults", "", "| name | defaults | |", "| --- | --- | --- |"]
        lines += [
            f"| [{other}]({other}.md) | {changes(made)} | {cell(purpose(made))} |"
            for other, made in presets(item).items()
        ]
        lines += [""]
    lines += [
        "## Late rewards",
        "",
        own.get("Late rewards", late(name, item)),
        "",
        "## Example",
        "",
        own["Example"],
        "",
    ]
    lines += ["## Source and deviations", ""]
    lines += [
        f"{escaped(file[part])}\n"
        for part in ("Source", "Deviations", "Deviation", "Differences to OSLB")
        if part in file
    ]
    lines += [
        "## Cite",
        "",
        f"`tightrope cite {name}` prints this and the library's own entry.",
        "",
    ]
    lines += ["```bibtex", "\n\n".join(entries()[name]), "```"]
    return "\n".join(lines) + "\n"


def slug(title: str) -> str:
    """The anchor of a heading."""
    return title.lower().replace(" ", "-")


def index() -> str:
    """All policies by family."""
    lines = [
        "# Policies",
        "",
        "Which one? [A default for each question](../which-policy.md). In Python: "
        "`tightrope.NAME(parameter=value, ..)`; on",
    ]
    lines += ["the command line `tightrope policies NAME`.", ""]
    for key, title in FAMILIES.items():
        members = {name: item for name, item in ours().items() if family(item) == key}
        lines += [f"## {title}", "", "| policy | what it does |", "| --- | --- |"]
        lines += [
            f"| [{name}]({name}.md) | {cell(purpose(item))} |" for name, item in members.items()
        ]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *members, "```", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {"index.md": index()} | {f"{name}.md": page(name, item) for name, item in ours().items()}
