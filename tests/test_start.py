"""What must not be needed: matplotlib and pandas wait until something is drawn or tabulated."""

import subprocess
import sys

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
