"""bayesianbandits: an agent of Beta-Bernoulli arms with its Bayesian upper bound."""

from importlib.metadata import version as installed

import numpy as np
from bayesianbandits import Agent, Arm, DirichletClassifier, UpperConfidenceBound
from tasks import ONE, steps


def chance(samples):
    """The chance of a reward in samples (.., 2) of both outcomes."""
    return np.take(samples, 0, axis=-1)


def play(task):
    arms = [
        Arm(k, reward_function=chance, learner=DirichletClassifier({1: 1.0, 0: 1.0}))
        for k in range(task.means.size)
    ]
    agent = Agent(arms, UpperConfidenceBound(alpha=0.95), random_seed=1)

    def choose():
        (arm,) = agent.pull()
        return arm

    def learn(arm, reward):
        agent.select_for_update(arm).update(np.array([int(reward)]))

    return steps(task, choose, learn)


def version():
    return installed("bayesianbandits")


PLAYS = {ONE: ("UpperConfidenceBound of Beta arms", play)}
