"""NumPy by hand, as one writes it for a paper."""

import numpy as np
from tasks import KLUCB, LINUCB, ONE, UCB, steps


class ByHand:
    """UCB over all arms at once."""

    def __init__(self, number):
        self.pulls, self.sums, self.t = np.zeros(number), np.zeros(number), 0

    def choose(self):
        if self.t < self.pulls.size:
            return self.t
        return int(
            np.argmax(self.sums / self.pulls + np.sqrt(2.0 * np.log(self.t + 1) / self.pulls))
        )

    def learn(self, arm, reward):
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.t += 1


class Divergence(ByHand):
    """KL-UCB by bisection over all arms at once."""

    def choose(self):
        if self.t < self.pulls.size:
            return self.t
        p = np.clip(self.sums / self.pulls, 1e-12, 1 - 1e-12)
        level, low, high = np.log(self.t + 1) / self.pulls, p.copy(), np.ones_like(p)
        for _ in range(30):
            q = 0.5 * (low + high)
            within = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)) <= level
            low, high = np.where(within, q, low), np.where(within, high, q)
        return int(np.argmax(low))


def arms(kind):
    def play(task):
        policy = kind(task.means.size)
        return steps(task, policy.choose, policy.learn)

    return play


def linear(task):
    rng, d = np.random.default_rng(1), task.theta.size
    inverse, response, log_det, regret = np.eye(d), np.zeros(d), 0.0, 0.0
    for _ in range(task.rounds):
        theta, Z = inverse @ response, task.X @ inverse
        beta = 0.1 * np.sqrt(log_det + 2.0 * np.log(10.0)) + 1.0
        arm = int(np.argmax(task.X @ theta + beta * np.sqrt((Z * task.X).sum(axis=1))))
        x, z = task.X[arm], Z[arm]
        reward = task.means[arm] + task.noise * rng.standard_normal()
        scale = 1.0 + z @ x
        inverse -= np.outer(z, z) / scale
        log_det += np.log(scale)
        response += reward * x
        regret += task.means.max() - task.means[arm]
    return regret


def version():
    return np.__version__


PLAYS = {
    UCB: ("UCB", arms(ByHand)),
    KLUCB: ("KL-UCB", arms(Divergence)),
    LINUCB: ("LinUCB", linear),
    ONE: ("UCB, a class", arms(ByHand)),
}
