"""LazyTrackAndStop samples, stops and names as its twin, and errs no more often than delta."""

import math

import numpy as np
import pytest

import tightrope as tr
from naive.identification_policies import Linear
from naive.side_by_side import step, until_they_stop
from standard import unit_rows
from tiers import thorough
from tightrope_papers.scoring import rare


class NaiveLazyTrackAndStop(Linear):
    """Jedra, Proutiere 2020: Eq 9, and forced pulls, tracking and Frank-Wolfe of the authors'
    program."""

    def __init__(
        self, X, epsilon, delta, noise, u=0.1, laziness=2, tracking="sum", threshold="proven"
    ):
        super().__init__(X)
        self.epsilon, self.delta, self.noise, self.u = epsilon, delta, noise, u
        self.laziness, self.tracking, self.threshold = laziness, tracking, threshold
        (K, d), self.first = self.X.shape, []
        while len(self.first) < d:  # the longest part outside the span of those before
            B = self.X[self.first]
            part = self.X - self.X @ np.linalg.pinv(B) @ B if self.first else self.X
            sizes = np.linalg.norm(part, axis=1)
            self.first.append(int(np.flatnonzero(sizes >= sizes.max() * (1 - 1e-9))[0]))
        self.c = np.linalg.eigvalsh(self.X[self.first].T @ self.X[self.first]).min()
        self.w, self.W, self.due, self.i0 = np.full(K, 1 / K), np.zeros(K), 0, 0
        self.forced = False

    @property
    def pulls(self):
        return np.bincount(self.arms, minlength=len(self.X))

    def evidence(self):
        """argmax and Z."""
        m = self.means
        i = int(np.argmax(m))
        rivals = [b for b in range(len(m)) if b != i]
        return i, min(
            (m[i] - m[b] + self.epsilon) ** 2 / (2 * self.square(self.X[i] - self.X[b]))
            for b in rivals
        )

    def beta(self):
        d, factor = self.X.shape[1], (1 + self.u) * self.noise**2
        if self.threshold == "heuristic":
            return factor * (
                math.log(1 / self.delta) + math.log(self.n) / 2 + d / 2 * math.log(1 / self.u + 1)
            )
        ratio = np.linalg.slogdet(self.A / (self.u * self.c) + np.eye(d))[1]
        return factor * (ratio / 2 - math.log(self.delta))

    def unpulled(self):
        return next((k for k in self.first if k not in self.arms), None)

    def stopped(self):
        return self.unpulled() is None and self.evidence()[1] > self.beta()

    def proportions(self):
        m, K = self.means, len(self.X)
        i, w = int(np.argmax(m)), np.full(K, 1 / K)
        gaps = np.where(np.arange(K) == i, 1.0, m[i] - m + self.epsilon)
        for s in range(1, 1000):
            inverse = np.linalg.inv(self.X.T @ (np.maximum(w, 1e-9)[:, None] * self.X))
            Y = (self.X[i] - self.X) / gaps[:, None]
            Y[i] = 0
            y = Y[np.argmax(np.einsum("kp,pq,kq->k", Y, inverse, Y))]
            step = 2 / (s + 2) * (np.eye(K)[np.argmax((self.X @ inverse @ y) ** 2)] - w)
            small = np.linalg.norm(step) < 0.01 * np.linalg.norm(w)
            w = w + step
            if small:
                break
        w = np.where(w < 1e-5, 0, w)
        return w / w.sum()

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.unpulled() is not None:
            return
        self.i0 += self.forced
        if self.n >= self.due:
            self.due = max(math.ceil(self.laziness * self.n), self.n + 1)
            self.w = self.proportions()
        bound = self.c / math.sqrt(len(self.first)) * math.sqrt(self.n)
        self.forced = np.linalg.eigvalsh(self.A).min() < bound * (1 - 1e-9)
        if not self.forced:
            self.W += self.w

    def select(self, among=None):
        if self.unpulled() is not None:
            return self.unpulled()
        if self.forced:
            return self.first[self.i0 % len(self.first)]
        goal, share = (self.W, self.W) if self.tracking == "sum" else (self.n * self.w, self.w)
        return int(np.argmax(np.where(share > 0, goal - self.pulls, -math.inf)))


def many_arms(n, seed):
    """Jedra and Proutiere's benchmark."""
    angle = 0.78 + np.random.default_rng(seed).uniform(0, 0.1, n - 2)
    return np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), [[1, 0], [-0.707, 0.707]]])


SPHERE = unit_rows(np.random.default_rng(11), 7, 3)
PROBLEMS = {
    "sphere": (SPHERE, 1.5 * SPHERE[2], 0.3),
    "many arms": (many_arms(60, 3), np.array([1.0, 0.0]), 1.0),
    "soare": (
        np.vstack([np.eye(4), [math.cos(0.3), math.sin(0.3), 0, 0]]),
        2 * np.eye(4)[0],
        0.5,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tracking": "last", "threshold": "heuristic"},
        {"epsilon": 0.02, "u": 0.3, "laziness": 1.2},
    ],
    ids=str,
)
def test_samples_and_stop_equal_those_of_the_twin(name, more):
    X, theta, noise = PROBLEMS[name]
    given = {"epsilon": 0.0, "delta": 0.1, "noise": noise} | more
    for seed in range(2):
        twin, rng = NaiveLazyTrackAndStop(X, **given), np.random.default_rng(seed)

        def reward(k, rng=rng):
            return float(X[k] @ theta + noise * rng.standard_normal())

        session = tr.Session(tr.LazyTrackAndStop(**given), arms=X, seed=seed)
        until_they_stop(session, twin, 600, reward)
        if session.stopped:
            assert session.recommend()["arm"] == twin.evidence()[0]


def test_only_spanning_arms_are_waited_for():
    X = many_arms(200, 0)
    session = tr.Session(tr.LazyTrackAndStop(), arms=X, seed=0)
    twin, rng = NaiveLazyTrackAndStop(X, 0.0, 0.05, 1.0), np.random.default_rng(0)
    for _ in range(5):
        step(session, twin, lambda k: float(X[k, 0] + rng.standard_normal()))
    assert np.isfinite(session.explain()["mean"]).all()


@thorough
@pytest.mark.parametrize("threshold", ["proven", "heuristic"])
def test_errors_are_at_most_delta(threshold):
    """2,000 runs, delta .1, by the upper 99 % limit (Clopper, Pearson)."""
    X, theta, _ = PROBLEMS["soare"]
    policy = tr.LazyTrackAndStop(delta=0.1, threshold=threshold)
    found = tr.identify(
        tr.problems.Linear(X[:, :4], theta, noise=1.0), policy, replications=2000, seed=0
    )
    wrong = int((~found.correct["LazyTrackAndStop"]).sum())
    assert rare(wrong, 2000, 0.1).verdict == "reproduced", wrong
