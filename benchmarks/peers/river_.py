"""River: pull and update."""

from importlib.metadata import version as installed

from river import bandit
from tasks import ONE, UCB, steps


def play(task):
    policy, arms = bandit.UCB(delta=2), list(range(task.means.size))
    return steps(task, lambda: policy.pull(arms), policy.update)


def version():
    return installed("river")


PLAYS = {UCB: ("bandit.UCB", play), ONE: ("bandit.UCB", play)}
