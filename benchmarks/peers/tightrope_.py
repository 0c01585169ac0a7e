"""This library: the loops that `simulate` runs, and a `Session`."""

import numpy as np
from tasks import DISJOINT, HOO, KLUCB, LINUCB, ONE, UCB, steps

import tightrope as tr
from tightrope.simulation.loops import World, prepare, to_horizon
from tightrope.simulation.monitors import NoMonitor


def loop(policy, make):
    def play(task):
        run = prepare(policy, World(make(task)), 0, 0, task.rounds)
        log, _, go = to_horizon(run, NoMonitor(), np.array([task.rounds]))
        go(0, task.rounds)
        return log.regret[-1]

    return play


def bernoulli(task):
    return tr.problems.Bernoulli(task.means)


def linear(task):
    return tr.problems.Linear(task.X, task.theta, noise=task.noise)


def one(task):
    session = tr.Session(tr.UCB(), arms=task.means.size)
    return steps(task, session.select, session.update)


def version():
    return tr.__version__


PLAYS = {
    UCB: ("UCB", loop(tr.UCB(), bernoulli)),
    KLUCB: ("KL-UCB", loop(tr.KLUCB(), bernoulli)),
    LINUCB: ("LinUCB", loop(tr.LinUCB(), linear)),
    DISJOINT: (
        "LinUCB(shared=False)",
        loop(
            tr.LinUCB(shared=False),
            lambda task: tr.problems.Classification(
                task.X, task.theta, intercept=False, expand=False
            ),
        ),
    ),
    HOO: (
        "HOO, 64 points",
        loop(
            tr.HOO(nu=0.5),
            lambda task: tr.problems.Lipschitz(
                points=np.linspace(0, 1, task.means.size), means=task.means, lipschitz=0.5
            ),
        ),
    ),
    ONE: ("Session: select and update", one),
}
ALSO = {
    LINUCB: (
        'LinUCB(width="theorem"), told the noise',
        loop(tr.LinUCB(width="theorem", noise=0.1), linear),
    )
}
