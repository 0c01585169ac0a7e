"""What must not be needed: matplotlib and pandas wait until something is drawn or tabulated."""

import inspect
import subprocess
import sys
import types

import pytest

import tightrope as tr

WITHOUT = """
import sys
for name in ("matplotlib", "pandas", "pyarrow", "pooch", "jinja2"):
    sys.modules[name] = None
import tightrope as tr
import tightrope.cli
result = tr.simulate(tr.problems.Bernoulli([0.2, 0.6]), {"UCB": tr.UCB()}, horizon=20)
session = tr.Session(tr.UCB(), arms=3)
session.update(session.select(), 1.0)
assert result.summary()[0].policy == "UCB"
sys.argv = ["tightrope", "policies", "UCB"]
tightrope.cli.main()
"""

HELP = """
import sys
import tightrope.cli
sys.argv = ["tightrope", "--help"]
try:
    tightrope.cli.main()
except SystemExit as end:
    assert not end.code
"""


def test_starts_without_matplotlib():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "default 2.0" in done.stdout


@pytest.mark.parametrize("module", ["delays", "stopping", "logs", "problems", "oracles"])
def test_a_module_lists_what_is_public_and_nothing_else(module):
    """What completion and `help` show: documented names of this package."""
    listed = dir(getattr(tr, module))
    assert listed == sorted(getattr(tr, module).__all__)
    for name in listed:
        item = getattr(getattr(tr, module), name)
        assert not name.startswith("_")
        assert item.__doc__
        assert (
            item.__name__ if isinstance(item, types.ModuleType) else item.__module__
        ).startswith("tightrope.")
    public = {
        name
        for name, item in vars(getattr(tr, module)).items()
        if inspect.isclass(item)
        and item.__module__.startswith(f"{getattr(tr, module).__name__}.")
        and not name.startswith("_")
    }
    assert public <= set(listed)  # no class of the module's own files is left out


@pytest.mark.parametrize(
    "code",
    ["import tightrope", "import tightrope; tightrope.__version__; dir(tightrope)", HELP],
    ids=["import", "dir", "help"],
)
def test_what_needs_no_kernel_loads_neither_numba_nor_numpy(code):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tightrope" in loaded
    assert {"numpy", "numba", "scipy", "pydantic"} & loaded == set()


def test_the_first_public_name_brings_all_others():
    code = (
        "import sys, tightrope as tr; before = 'numba' in sys.modules; tr.UCB; print(before, "
        "{*tr.__all__} <= {*vars(tr)}, 'Client' in vars(tr))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]


def test_names_are_found_without_the_package_having_been_touched():
    """A session file or a spec names a policy, and the reader has imported one module only."""
    code = (
        "from tightrope.core.registry import find, named_policies; print(find('LinTS').__name__, "
        "len(list(named_policies())) > 40)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["LinTS", "True"]
