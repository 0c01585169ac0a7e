"""MABWiser: predict and partial_fit."""

from importlib.metadata import version as installed

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from tasks import DISJOINT, LINUCB, ONE, UCB, steps


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


def disjoint(task):
    K, rng, wrong = task.means.size, np.random.default_rng(1), 0
    mab = MAB(list(range(K)), LearningPolicy.LinUCB(alpha=1.0))
    mab.fit(list(range(K)), [0.0] * K, task.X[:K])
    for i in rng.integers(0, len(task.X), task.rounds):
        x = task.X[i : i + 1]
        arm = mab.predict(x)
        wrong += arm != task.theta[i]
        mab.partial_fit([arm], [float(arm == task.theta[i])], x)
    return wrong


def version():
    return installed("mabwiser")


PLAYS = {
    UCB: ("UCB1", play),
    LINUCB: ("LinUCB, a regression for each arm on one context", linear),
    DISJOINT: ("LinUCB", disjoint),
    ONE: ("UCB1", play),
}
