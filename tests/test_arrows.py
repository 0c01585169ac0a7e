"""One road: a module imports only from rooms above its own, without circles, and no private module
of another room.

The list of rooms is the rule; CONTRIBUTING.md says it in words. Imports for type checkers only
count as well.
"""

import ast
import pathlib
import subprocess
import sys

import pytest

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
    "adapters",
    "extend",
    "testing",
    "papers",
    "service",
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


# What papers and service use of the library beside its public names: the layer that draws and
# writes pages, the command line's options, folders of runs, and parts of algorithms that a paper
# takes apart. The list only gets shorter.
PUBLIC = {"tightrope", "tightrope.extend", "tightrope.testing"} | {
    f"tightrope.{name}" for name in ("logs", "policies", "problems", "problems.data")
}
PRIVATE = {
    "tightrope_papers": """
        tightrope.cli.options.Address
        tightrope.cli.options.Data
        tightrope.cli.options.Json
        tightrope.cli.options.Meter
        tightrope.cli.options.Out
        tightrope.cli.options.Quiet
        tightrope.cli.options.Seed
        tightrope.cli.options.Workers
        tightrope.cli.options.console
        tightrope.cli.options.errors
        tightrope.cli.options.folder_pages
        tightrope.cli.options.print_json
        tightrope.core.checks
        tightrope.core.files
        tightrope.evaluation.scoring.LEAST_ESS
        tightrope.evaluation.scoring.LEAST_SHARE
        tightrope.numerics.counts.determinant_radius
        tightrope.numerics.counts.horizon_radius
        tightrope.numerics.counts.static_factor
        tightrope.numerics.posterior.unit_rows
        tightrope.pages.Chip
        tightrope.pages.Section
        tightrope.pages.Table
        tightrope.pages.evaluation_summary
        tightrope.pages.result_summary
        tightrope.pages.support_of
        tightrope.pages.write_page
        tightrope.plots.figures.PAIRED_LEGEND
        tightrope.plots.figures.bound_curve
        tightrope.plots.figures.bound_left_out
        tightrope.plots.figures.draw_bands
        tightrope.plots.figures.draw_regret
        tightrope.plots.figures.line_styles
        tightrope.plots.figures.regret_figure
        tightrope.plots.figures.save_figure
        tightrope.plots.figures.sequence_figure
        tightrope.plots.style
        tightrope.plots.style.Palette
        tightrope.plots.style.Picture
        tightrope.plots.style.picture
        tightrope.plots.style.shares
        tightrope.policies.conservative.guarantee.TOLERANCE
        tightrope.policies.conservative.ledger.martingale_radius
        tightrope.policies.conservative.ledger.value_of
        tightrope.policies.identification.models.PairRidge
        tightrope.policies.identification.models.coordinates
        tightrope.policies.identification.models.learn
        tightrope.policies.identification.models.new_pair_ridge
        tightrope.policies.identification.models.refactorise
        tightrope.policies.identification.rage.end_phase
        tightrope.policies.identification.sampling.shrinking_arm
        tightrope.policies.identification.stopping.SQRT8
        tightrope.policies.identification.xyadaptive.end_phase
        tightrope.policies.identification.xyadaptive.widest
        tightrope.policies.lipschitz.pooled.SLACK
        tightrope.policies.softucb.inverse_temperature
        tightrope.simulation.executors.shared_workers
        tightrope.simulation.loops.NotInLanes
        tightrope.simulation.loops.as_worlds
        tightrope.simulation.monitors.TOLERANCE
        tightrope.simulation.run.Meters
        tightrope.simulation.run.silent
        tightrope.simulation.simulate.fixed_size
        tightrope.simulation.store
        tightrope.simulation.store.CODE
        tightrope.simulation.store.digest
        tightrope.solvers.programs.confusing_information
        tightrope.solvers.programs.minimal_combination
        tightrope.solvers.programs.optimal_design
    """,
    "tightrope_service": """
        tightrope.core.checks
        tightrope.core.files
        tightrope.core.files.plain
        tightrope.core.registry.find
        tightrope.core.streams
        tightrope.evaluation.targets.policy_to_judge
        tightrope.logs.encoding.CategoryColumn
        tightrope.logs.encoding.Column
        tightrope.logs.encoding.FittedEncoder
        tightrope.logs.encoding.HashedColumn
        tightrope.logs.encoding.Kind
        tightrope.logs.encoding.MOST_BUCKETS
        tightrope.logs.encoding.MOST_LEVELS
        tightrope.logs.encoding.NumberColumn
        tightrope.logs.encoding.TimeColumn
        tightrope.numerics.states.copied
        tightrope.policies.conservative.holdings.holdings
        tightrope.policies.conservative.holdings.ledger_of
        tightrope.policies.conservative.ledger.SLOPES
        tightrope.policies.conservative.ledger.sum_bound
        tightrope.session.codec.state_bytes
        tightrope.session.store.version
    """,
}


def private_imports(package):
    return {
        f"{node.module}.{alias.name}"
        for path in (SOURCE / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module
        for alias in node.names
        if node.module.partition(".")[0] == "tightrope"
        and node.module not in PUBLIC
        and f"{node.module}.{alias.name}" not in PUBLIC
    }


@pytest.mark.parametrize("package", PRIVATE)
def test_packages_beside_the_library_use_public_names(package):
    assert private_imports(package) == set(PRIVATE[package].split())


if __name__ == "__main__":
    print("\n".join(sorted(breaches())))
