"""What a type checker says of a user's script: good use passes `mypy --strict`, misspelt names and
words do not."""

import os
import pathlib
import subprocess
import sys

import tightrope as tr

GOOD = """
from typing import NamedTuple

import numpy as np
import tightrope as tr
from tightrope.extend import Arms, Context, Policy, integer, jit, policy, real

problem = tr.problems.Linear(np.eye(3), [0.1, 0.5, 0.3], noise=0.1)
other = tr.problems.Lipschitz([0.0, 1.0], [0.4, 0.5], 1.0, rewards="gaussian")
result = tr.simulate(problem, {"UCB": tr.UCB(alpha=1.5), "LinUCB": tr.LinUCB(width="theorem", radius="determinant")}, horizon=100, replications=2)
regret: float = float(result.regret["UCB"][:, -1].mean())
session = tr.Session(tr.CUCB2(baseline=0, baseline_mean=0.5), arms=3)
safe = tr.Safe(tr.KLUCB(), baseline=1, alpha=0.1)
session = tr.Session(safe, arms=3, seed=1)
session.update(session.select(), 1.0)
session.learn({"arm": np.array([0, 1]), "reward": np.array([0.5, 1.0])})
widest: float = session.explain(eligible=np.array([True, False, True]))["width"].max()
size: int = problem.theta.size + other.means.size
peak: float = other.best
log = tr.logs.from_frame({"arm": np.array([0, 1]), "reward": np.array([0.5, 1.0])}, propensity=0.5)
earned: float = tr.evaluate(log, [0.5, 0.5], estimator="snips", baseline="logged").interval[0]
left: str | None = tr.compare(log, {"first": 0, "session": tr.Session(tr.UCB(), arms=2)}).winner
bound: float = tr.lipschitz_lower_bound([0.2, 0.5], points=[0.0, 1.0], lipschitz=1.0).value


@policy("arms", paper="my own")
class Mine(Policy):
    width: float = real(default=1.0, above=0)
    count: int = integer(least=1)

    class State(NamedTuple):
        pulls: np.ndarray

    def init(self, arms: Arms) -> State:
        return self.State(np.zeros(arms.number))

    @jit
    def select(self, state: State, context: Context, rng: np.random.Generator) -> int:
        return 0

    @jit
    def update(self, state: State, context: Context, action: int, reward: float) -> State:
        return state


mine = tr.Session(Mine(count=3), arms=4)
half: float = Mine(count=2, width=0.5).width / 2
"""
BAD = {
    "tr.UCBB()": "attr-defined",
    "tr.UCB(alpa=1)": "call-arg",
    "tr.LinUCB(width='theorem', radius='nonsense')": "arg-type",
    "tr.Session('nonsense')": "arg-type",
    "tr.CUCB2(baselin=0)": "call-arg",
    "tr.CKLUCB()": "call-arg",
    "tr.UCB(2.0)": "call-arg",
    "tr.Safe(3, baseline=0)": "arg-type",
    "tr.problems.Bernouli([0.5])": "attr-defined",
    "tr.problems.Linear([[1.0]], [1.0], rewards='poisson')": "arg-type",
    "tr.problems.Gaussian([0.5], sigma=1.0)": "call-arg",
    "tr.problems.Gaussian()": "call-arg",
    "tr.problems.Lipschitz([0.0, 1.0], [0.4, 0.5], best='high')": "arg-type",
    "tr.Session(tr.UCB(), arms=3, oracle=5)": "arg-type",
    "tr.Session(tr.UCB(), arms=3).learn(3)": "arg-type",
    "tr.evaluate(3, 0)": "arg-type",
    "tr.evaluate(tr.logs.from_frame({}), 0, estimator='best')": "arg-type",
    "tr.identify(3, tr.LinGapE())": "arg-type",
    "tr.train_softucb(tr.problems.Bernoulli([0.5]), 10, policy=tr.UCB())": "arg-type",
}


def test_mypy_accepts_good_use_and_refuses_bad(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text("\n".join(["import tightrope as tr", *BAD, ""]))
    environment = os.environ | {"MYPYPATH": str(pathlib.Path(tr.__file__).parent.parent)}
    words = [
        "--strict",
        "--follow-imports=silent",
        "--no-error-summary",
        "--cache-dir",
        str(tmp_path / "cache"),
        "good.py",
        "bad.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith("good.py")] == []
    errors = [line for line in said if ": error: " in line]
    for number, (code, kind) in enumerate(BAD.items(), start=2):
        assert any(
            line.startswith(f"bad.py:{number}: ") and line.endswith(f"[{kind}]") for line in errors
        ), f"{code}: {said}"
