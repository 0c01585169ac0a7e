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


def test_starts_without_matplotlib():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "alpha = 2.0" in done.stdout


@pytest.mark.parametrize("module", ["delays", "stopping", "logs", "problems", "oracles"])
def test_a_module_lists_what_is_public_and_nothing_else(module):
    """What completion and `help` show: documented names of this package."""
    listed = dir(getattr(tr, module))
    assert listed == sorted(getattr(tr, module).__all__)
    for name in listed:
        item = getattr(getattr(tr, module), name)
        assert not name.startswith("_")
        assert item.__doc__
        assert (item.__name__ if isinstance(item, types.ModuleType) else item.__module__).startswith("tightrope.")
    public = {name for name, item in vars(getattr(tr, module)).items() if inspect.isclass(item) and item.__module__.startswith(f"{getattr(tr, module).__name__}.") and not name.startswith("_")}  # fmt: skip
    assert public <= set(listed)  # no class of the module's own files is left out
