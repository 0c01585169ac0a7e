"""Several drivers on one folder at the same time."""

import subprocess
import sys

from lab_experiments import Logged, times

from tightrope.simulation.run import run_experiment
from tightrope.simulation.store import digest

DRIVER = """
import sys
from lab_experiments import Logged
from tightrope.simulation.run import run_experiment
if __name__ == "__main__":
    found = run_experiment(Logged(sys.argv[1], seconds=0.02), 60, engine=sys.argv[3], workers=2, out=sys.argv[2])
    assert found.complete and all(len(list(found.replications(name))) == 60 for name in found.rows)
"""


def test_two_drivers_on_one_folder_do_no_harm_and_share_the_work(tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER)
    drivers = [
        subprocess.Popen(
            [
                sys.executable,
                str(tmp_path / "driver.py"),
                str(tmp_path / f"log{number}"),
                str(tmp_path / "out"),
                engine,
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, engine in enumerate(("threads", "dask"))
    ]
    for driver in drivers:
        _, said = driver.communicate(timeout=120)
        assert driver.returncode == 0, said[-2000:]
        assert "damaged" not in said
    run_experiment(Logged(str(tmp_path / "alone")), 60, out=tmp_path / "single")
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / place / "chunks").iterdir()}
        for place in ("out", "single")
    ]
    assert files[0] == files[1]
    begun = [times(tmp_path / f"log{number}") for number in (0, 1)]
    assert set(begun[0]) | set(begun[1]) == set(times(tmp_path / "alone"))


OWN = """
import sys
import tightrope as tr
problem, name = tr.problems.Bernoulli([0.2, 0.8]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for i in range(10):
    policies = {f"{name} {i}": tr.UCB(alpha=1.0 + i), "all": tr.BetaThompson()}
    tr.simulate(problem, policies, horizon=5, replications=2, workers=1, out=sys.argv[1])
"""


def test_drivers_with_policies_of_their_own_keep_each_others_records(tmp_path):
    (tmp_path / "driver.py").write_text(OWN)
    drivers = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "out"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    ]
    for driver in drivers:
        assert driver.stdout.readline().strip() == "ready"
    for driver in drivers:
        driver.stdin.write("go\n")
        driver.stdin.flush()
    for driver in drivers:
        _, said = driver.communicate(timeout=120)
        assert driver.returncode == 0, said[-2000:]
    names = {"all"} | {f"{name} {i}" for name in "abc" for i in range(10)}
    found = {path.name for path in (tmp_path / "out" / "plan").glob("policy-*.json")}
    assert found == {f"policy-{digest(name)}.json" for name in names}
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
