"""PyXAB: truncated HOO."""

from importlib.metadata import version as installed

import numpy as np
from PyXAB.algos.HOO import T_HOO
from tasks import HOO


def play(task):
    algorithm, rng, regret = (
        T_HOO(nu=0.5, rho=0.5, rounds=task.rounds, domain=[[0, 1]]),
        np.random.default_rng(1),
        0.0,
    )
    for t in range(1, task.rounds + 1):
        point = algorithm.pull(t)[0]
        mean = 0.8 - 0.5 * abs(point - 0.37)
        algorithm.receive_reward(t, float(rng.random() < mean))
        regret += 0.8 - mean
    return regret


def version():
    return installed("PyXAB")


PLAYS = {HOO: ("T-HOO", play)}
