"""Vowpal Wabbit from Python: SquareCB over arms with features."""

import numpy as np
import vowpalwabbit
from tasks import LINUCB


def play(task):
    learner = vowpalwabbit.Workspace("--cb_explore_adf --squarecb --quiet")
    lines = ["|a " + " ".join(f"f{i}:{value:.6f}" for i, value in enumerate(x)) for x in task.X]
    rng, regret = np.random.default_rng(1), 0.0
    for _ in range(task.rounds):
        chances = np.array(learner.predict(lines))
        arm = int(rng.choice(chances.size, p=chances / chances.sum()))
        reward = task.means[arm] + task.noise * rng.standard_normal()
        learner.learn(
            [
                f"0:{-reward:.6f}:{chances[arm]:.6f} {line}" if k == arm else line
                for k, line in enumerate(lines)
            ]
        )
        regret += task.means.max() - task.means[arm]
    learner.finish()
    return regret


def version():
    return vowpalwabbit.__version__


PLAYS = {LINUCB: ("SquareCB", play)}
