"""MABWiser: predict and partial_fit."""

from importlib.metadata import version as installed

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from tasks import LINUCB, ONE, UCB, steps


def play(task):
    mab = MAB(list(range(task.means.size)), LearningPolicy.UCB1(alpha=1.0))
    mab.fit(list(range(task.means.size)), [0.0] * task.means.size)
    return steps(task, mab.predict, lambda arm, reward: mab.partial_fit([arm], [reward]))


def linear(task):
    K, rng, regret = task.means.size, np.random.default_rng(1), 0.0
    mab = MAB(list(range(K)), LearningPolicy.LinUCB(alpha=1.0))
    x = task.X[:1]
    mab.fit(list(range(K)), [0.0] * K, np.repeat(x, K, axis=0))
    for _ in range(task.rounds):
        arm = mab.predict(x)
        mab.partial_fit([arm], [task.means[arm] + task.noise * rng.standard_normal()], x)
        regret += task.means.max() - task.means[arm]
    return regret


def version():
    return installed("mabwiser")


PLAYS = {UCB: ("UCB1", play), LINUCB: ("LinUCB, a regression for each arm on one context", linear), ONE: ("UCB1", play)}
