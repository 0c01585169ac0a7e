"""Leases by a second program, which keeps every decision as an entry of a list and adds up anew at every grant."""

import math

import numpy as np
import pytest

from tightrope.papers.conservative.beyond import many_workers as mw
from tightrope.policies.conservative.leases import lease_room, leased_bound

ALPHA, DELTA, SIGMA = mw.ALPHA, mw.DELTA, mw.SIGMA


def psi(m):
    L = math.log(3 * max(m, 1) ** 2 / DELTA)
    return SIGMA * math.sqrt(2 * m * L) + 2 / 3 * L


def twin(means, baseline, draws, every, N, late=0, dies=0.0, free=False):
    """The history of `play`: of every decision who made it, who knows of it, and when its log is read."""
    n, K, mu = len(draws.worker), len(means), means[baseline]
    made = []  # decisions: worker, arm, whether it explores, reward
    known_d, known_r, out = [], [], 0  # decisions and rewards that the ledger knows, leases that are out
    lease, used = [0] * N, [0] * N
    copy = [[] for _ in range(N)]  # rewards that the ledger knew at a worker's last exchange
    mine = [([], []) for _ in range(N)]  # decisions and rewards of a worker since
    graves, history, regret, budget = [], [], 0.0, 0.0
    for t in range(n):
        while graves and graves[0][0] <= t:
            _, decisions, rewards, its_lease = graves.pop(0)
            known_d += decisions
            known_r += rewards
            out -= its_lease
        for v in range(N):
            if (t + (v * every) // N) % every == 0:
                if draws.death[t] < dies:
                    graves.append((t + mw.UNREAD_ROUNDS, *mine[v], lease[v]))
                else:
                    known_d += mine[v][0]
                    known_r += mine[v][1]
                    out -= lease[v]
                mine[v] = ([], [])
                copy[v] = list(known_r)
                m = sum(made[i][2] for i in known_d)
                S = sum(made[i][3] for i in known_r if made[i][2])
                owed = sum(mu for i in known_d if not made[i][2]) - (1 - ALPHA) * mu * len(known_d)
                wanted, granted = math.ceil(every / N + mw.SPREAD * math.sqrt(every / N)), 0
                while granted < wanted:
                    G = granted + 1 + (0 if free else out)
                    if max(S - psi(m + G), 0) + owed - (1 - ALPHA) * mu * G < 0:
                        break
                    granted += 1
                lease[v], used[v] = granted, 0
                out += granted
        w = int(draws.worker[t])
        rewards = copy[w] + mine[w][1]
        best, top = baseline, mu
        for k in range(K):
            if k != baseline:
                of_k = [made[i][3] for i in rewards if made[i][1] == k]
                s = len(of_k)
                upper = sum(of_k) / s + SIGMA * math.sqrt(2 * math.log(K * s**3 / DELTA) / s) if s else math.inf
                if upper > top:
                    best, top = k, upper
        if best != baseline and used[w] >= lease[w]:
            best = baseline
        used[w] += best != baseline
        made.append((w, best, best != baseline, float(draws.noise[t] < means[best])))
        mine[w][0].append(t)
        if t >= late:
            mine[made[t - late][0]][1].append(t - late)
        regret += means.max() - means[best]
        budget += means[best] - (1 - ALPHA) * mu
        history.append((regret, budget))
    return np.array(history)


@pytest.mark.parametrize(
    ("N", "every", "late", "dies", "free"),
    [(1, 1, 0, 0.0, False), (3, 7, 0, 0.0, False), (4, 40, 9, 0.3, False), (5, 20, 0, 0.3, True)],
)
def test_a_list_of_decisions_says_the_same(N, every, late, dies, free, monkeypatch):
    monkeypatch.setattr(mw, "UNREAD_ROUNDS", 90)
    means = np.array([0.5, 0.8, 0.3, 0.6])
    draws = mw.draw(700, N, 1, N)
    history = mw.play(means, 0, draws, every, N, late=late, dies=dies, charged=mw.FREE if free else mw.CHARGED)
    expected = twin(means, 0, draws, every, N, late, dies, free)
    np.testing.assert_allclose(history, expected, rtol=1e-12, atol=1e-9)
    assert history[-1, 0] != pytest.approx(0.3 * 700)  # something was explored


def test_the_room_is_the_largest_at_which_the_bound_is_not_negative():
    rng = np.random.default_rng(0)
    for _ in range(300):
        S, m = float(rng.integers(0, 400)), float(rng.integers(0, 600))
        owed, out, charge = float(rng.uniform(-50, 80)), float(rng.integers(0, 30)), float(rng.uniform(0.1, 0.95))
        given = (charge, SIGMA, DELTA, True)
        room = lease_room(S, m, owed, out, *given, 50)
        held = [leased_bound(S, m, owed, out + g, *given) >= 0 for g in range(1, 51)]
        assert room == (held.index(False) if False in held else 50)


def test_a_report_never_lowers_the_bound():
    """What was done under a lease is no more than the lease, and its rewards are at least 0."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        S, m, owed, mu = float(rng.integers(0, 400)), float(rng.integers(0, 600)), float(rng.uniform(-50, 80)), float(rng.uniform(0.1, 1))
        lease, others = int(rng.integers(0, 30)), int(rng.integers(0, 30))
        done, conserved = int(rng.integers(0, lease + 1)), int(rng.integers(0, 20))
        charge = (1 - ALPHA) * mu
        before = leased_bound(S, m, owed, lease + others, charge, SIGMA, DELTA, True)
        heard = owed + conserved * mu - charge * (conserved + done)
        after = leased_bound(S + float(rng.uniform(0, done)), m + done, heard, others, charge, SIGMA, DELTA, True)
        assert after >= before - 1e-9


def test_the_promise_holds_and_uncharged_leases_break_it():
    models = mw.bernoulli_models(12, 3)
    lowest = {mw.CHARGED: [], mw.FREE: []}
    for i, model in enumerate(models):
        baseline = mw.ranked_baseline(model, mw.RANK)["baseline"]
        for charged, found in lowest.items():
            history = mw.play(model.means, baseline, mw.draw(20_000, 64, 0, i), 1000, 64, late=200, dies=0.05, charged=charged)
            found.append(history[:, 1].min())
    assert min(lowest[mw.CHARGED]) >= -1e-9
    assert min(lowest[mw.FREE]) < -1.0
