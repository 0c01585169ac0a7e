"""ODLinBAI samples and drops as its twin, stays within its budget, and errs as often as measured
with another program."""

import math

import numpy as np
import pytest

import tightrope as tr
from standard import unit_rows
from tiers import thorough
from tightrope.pages import identification_sentence
from tightrope.policies.identification.odlinbai import ACCURACY
from tightrope.results import rounds_summary
from tightrope.solvers.programs import optimal_design
from tightrope_service.board_view import recommendation


def soare(d, angle):
    return np.vstack([np.eye(d), [math.cos(angle), math.sin(angle)] + [0] * (d - 2)])


ARMS = {
    "sphere": unit_rows(np.random.default_rng(4), 30, 5),
    "soare": soare(8, 0.3),
    "plane": unit_rows(np.random.default_rng(5), 12, 2),
    "line": np.array([[1.0], [2.0], [-1.0]]),
    "cube": np.array([[1, i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)], float),
}


class NaiveODLinBAI:
    """OD-LinBAI of Yang, Tan 2022, its phases one after another."""

    def __init__(self, X, budget, pool):
        self.X, self.pool, (self.K, self.d) = X, pool, X.shape
        self.R = max(math.ceil(math.log2(self.d)), 1)
        later = sum(math.ceil(self.d / 2**r) for r in range(1, self.R))
        self.m = (budget - min(self.K, self.d * (self.d + 1) // 2) - later) / self.R
        self.arms, self.rewards, self.left = [], [], list(range(self.K))

    def coordinates(self):
        """Of the arms that are left: each step's direction is the largest part outside the span."""
        S, parts, rank = np.zeros((self.K + self.d, self.d)), self.X[self.left].copy(), 0
        first = (parts**2).sum(axis=1).max()
        while rank < self.d and (parts**2).sum(axis=1).max() > 1e-18 * first:
            sizes = (parts**2).sum(axis=1)
            v = parts[np.flatnonzero(sizes >= sizes.max() / (1 + 1e-9))[0]].copy()
            S[self.left, rank] = parts @ v / (v @ v)
            parts -= np.outer(S[self.left, rank], v)
            rank += 1
        S[self.K :] = np.diag(np.arange(self.d) >= rank)
        return S, rank

    def shares(self):
        S, rank = self.coordinates()
        w = optimal_design(S, S, gap=ACCURACY).weights[: self.K]
        w = np.where(np.isin(np.arange(self.K), self.left), w, 0) / w[self.left].sum()
        w = np.where(w < 1e-6, 0, w)
        w, basis = w / w.sum(), []
        M = np.array([np.outer(x, x)[np.tril_indices(self.d)] for x in S[: self.K]]).T
        for a in np.flatnonzero(w):
            c = np.linalg.lstsq(M[:, basis], M[:, a])[0] if basis else np.zeros(0)
            if not basis or np.abs(M[:, basis] @ c - M[:, a]).max() > 1e-9:
                basis.append(a)
                continue
            steps = [(-w[b] / v, b) for b, v in zip(basis, c, strict=True) if v < -1e-9]
            step, out = min([*steps, (w[a], a)], key=lambda pair: pair[0])
            w[basis], w[a] = w[basis] + step * c, w[a] - step
            w[out] = 0
            if out != a:
                basis[basis.index(out)] = a
        assert len(basis) <= rank * (rank + 1) // 2
        return np.where(w < 1e-6, 0, w) / w[w >= 1e-6].sum(), S

    def play(self):
        """The arms to sample; rewards come in by `rewards`."""
        for r in range(1, self.R + 1):
            w, S = self.shares()
            due, begun = np.ceil(w * self.m * (1 - 1e-12)), len(self.arms)
            while due.sum() > 0:
                arm = int(np.argmax(due))
                due[arm] -= 1
                self.arms.append(arm)
                yield arm
            X, since = (self.X, 0) if self.pool else (S[: self.K], begun)
            played, got = X[self.arms[since:]], np.array(self.rewards[since:])
            m = X @ np.linalg.lstsq(played, got)[0]
            best = sorted(self.left, key=lambda k, m=m: (-m[k], k))
            self.left = sorted(best[: math.ceil(self.d / 2**r)])


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("name", ARMS)
def test_samples_are_those_of_the_twin_within_the_budget(name, pool):
    X = ARMS[name]
    for budget, seed in ((75, 0), (400, 1)):
        session = tr.Session(tr.ODLinBAI(budget=budget, pool=pool), arms=X)
        twin, noise = NaiveODLinBAI(X, budget, pool), np.random.default_rng(seed)
        theta = 2 * np.eye(X.shape[1])[0]
        for arm in twin.play():
            assert session.select() == arm, len(twin.arms)
            twin.rewards.append(float(X[arm] @ theta + noise.standard_normal()))
            assert not session.stopped
            session.update(arm, twin.rewards[-1])
        assert session.stopped and len(twin.arms) <= budget
        assert [session.recommend()["arm"]] == twin.left


@thorough
def test_it_errs_as_often_as_measured():
    """Soare's arms, d = 8, 400 samples: shares of 300 runs measured with another program."""
    X = soare(8, 0.3)
    problem = tr.problems.Linear(X, 2 * np.eye(8)[0], noise=1.0)
    for pool, wrong in ((False, 0.33), (True, 0.02)):
        policy = tr.ODLinBAI(budget=400, pool=pool)
        found = tr.identify(problem, policy, replications=1000, seed=1)
        share = 1 - found.correct["ODLinBAI"].mean()
        error = math.sqrt(wrong * (1 - wrong) * (1 / 1000 + 1 / 300))
        assert abs(share - wrong) < 4 * error, (pool, share)


def test_its_answer_is_the_best_by_the_plan_and_never_certified():
    X = ARMS["plane"]
    problem, policy = tr.problems.Linear(X, X[3], noise=0.1), tr.ODLinBAI(budget=40)
    found = tr.identify(problem, {"x": policy, "y": tr.LinGapE(noise=0.1)}, replications=2)
    assert "x 2/2 best by the plan, y 2/2 certified" in repr(found)
    assert {row[0]: row[-1] for row in rounds_summary(found).rows}["x"] == "by the plan"
    assert "x named a right arm in 2 and ended its plan in 2" in identification_sentence(found)
    session = tr.Session(policy, arms=X)
    assert session.recommend()["status"] == "not certified yet"
    while not session.stopped:
        session.update(session.select(), 0.0)
    told = session.recommend()
    assert told["status"] == "best by the plan" and told["gap_bound"] == math.inf
    assert session.decide().reason.endswith("best by the plan")
    spec, identified = None, {"arm": "a", "gap_bound": None, "samples_remaining": 0.0}
    [words] = recommendation(spec, identified | {"status": told["status"]}, "running")
    assert "best by the plan" in words and "nothing is certified" in words


def test_too_few_samples_are_refused():
    with pytest.raises(
        ValueError, match=r"budget = 20 is too small for 30 arms in 5 dimensions; .* at least 23"
    ):
        tr.Session(tr.ODLinBAI(budget=20), arms=ARMS["sphere"])
