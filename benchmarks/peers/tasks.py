"""The tasks that all peers play, and the clock. Needs NumPy alone: every peer runs it in an
environment of its own.

`python tasks.py MODULE` plays MODULE.PLAYS, a dict of task -> (what is played, function), and then
those of MODULE.ALSO, second ways to play a task, and prints a JSON line for each. A function gets a
`Task`, plays task.rounds rounds and returns their pseudo-regret, so that a peer that did something
else would show.
"""

import importlib
import json
import os
import sys
import time
from dataclasses import dataclass

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

REPEATS, ENOUGH = 20, 2.0  # runs of which the best counts, but no more than fit in so many seconds


@dataclass(frozen=True)
class Task:
    """rounds: of one run. means: of the arms. X, theta: features and truth of the linear task; of
    the disjoint one rows and classes."""

    name: str
    rounds: int
    means: np.ndarray
    X: np.ndarray | None = None
    theta: np.ndarray | None = None
    noise: float = 0.0


def _tasks():
    bernoulli = np.linspace(0.25, 0.75, 10)
    rng = np.random.default_rng(0)
    X, theta = rng.normal(size=(30, 100)), rng.normal(size=100)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta /= np.linalg.norm(theta)
    points = np.linspace(0.0, 1.0, 64)
    rows = rng.normal(size=(2_000, 10))
    classes = np.argmax(rows @ rng.normal(size=(10, 10)), axis=1).astype(float)
    return [
        Task("UCB, K = 10", 100_000, bernoulli),
        Task("KL-UCB, K = 10", 20_000, bernoulli),
        Task("LinUCB, K = 30, d = 100", 2_000, X @ theta, X, theta, 0.1),
        Task("HOO on [0, 1]", 1_000, 0.8 - 0.5 * np.abs(points - 0.37)),
        Task("a regression for each arm, K = 10, d = 10", 1_000, np.zeros(10), rows, classes),
        Task("one decision at a time, UCB, K = 10", 5_000, bernoulli),
    ]


TASKS = {task.name: task for task in _tasks()}
UCB, KLUCB, LINUCB, HOO, DISJOINT, ONE = TASKS


def clock(play, task):
    """The best time of a run in seconds of CPU time, which others on the machine change least, and
    its regret.

    A short run first compiles and fills caches.
    """
    play(Task(task.name, 20, task.means, task.X, task.theta, task.noise))
    times, regret, begun = [], 0.0, time.perf_counter()
    while len(times) < REPEATS and (not times or time.perf_counter() - begun < ENOUGH):
        started = time.process_time()
        regret = play(task)
        times.append(time.process_time() - started)
    return min(times), float(regret)


def steps(task, choose, learn):
    """Play Bernoulli arms one decision at a time from Python; returns the regret. choose() -> arm;
    learn(arm, reward)."""
    draws, pulls, means = (
        np.random.default_rng(1).random(task.rounds).tolist(),
        [0] * task.means.size,
        task.means.tolist(),
    )
    for u in draws:
        arm = choose()
        pulls[arm] += 1
        learn(arm, 1.0 if u < means[arm] else 0.0)
    return float(task.means.max() * task.rounds - np.array(pulls) @ task.means)


def main(module):
    peer = importlib.import_module(module)
    for name, played in [*peer.PLAYS.items(), *getattr(peer, "ALSO", {}).items()]:
        (what, play), task = played, TASKS[name]
        seconds, regret = clock(play, task)
        line = {
            "task": name,
            "what": what,
            "us": 1e6 * seconds / task.rounds,
            "regret": regret,
            "version": peer.version(),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
