"""Several promises at once: against a twin in other units, and against what they must equal."""

import itertools
import math

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.verbs import Context
from tightrope.policies.conservative.ledger import SLOPES
from tightrope.policies.conservative.promises import sense_of

K, B = 4, 1
ENDS = {"revenue": (0.0, 2.0), "conversion": (0.0, 1.0), "cost": (-1.0, 4.0)}
MEANS = {
    "revenue": np.array([0.6, 1.0, 1.4, 0.9]),
    "conversion": np.array([0.5, 0.45, 0.4, 0.6]),
    "cost": np.array([1.0, 1.2, 2.0, 0.2]),
}
KNOWN = {name: float(means[B]) for name, means in MEANS.items()}


def safe(*promises, metrics=ENDS, known=KNOWN, **more):
    return tr.Safe(
        tr.BetaThompson() if metrics is None else tr.GaussianThompson(),
        baseline=B,
        promises=list(promises),
        metrics=metrics,
        baseline_mean=known,
        **{"delta": 0.2, "selection": "two-step"} | more,
    )


class Twin:
    """The ledger of one promise in the specification's units: y = s (x - w) / R in [0, 1]."""

    def __init__(self, promise, delta, arms=K):
        (low, high), self.s = ENDS[promise.metric or "revenue"], sense_of(promise)
        self.metric, self.R, self.arms = promise.metric or "revenue", high - low, arms
        self.w = low if self.s > 0 else high
        if promise.alpha is None:
            level = promise.floor if promise.ceiling is None else promise.ceiling
            self.kappa, self.omega = 0.0, self.s * (level - self.w) / self.R
        else:
            self.kappa, self.omega = 1 - self.s * promise.alpha, -promise.alpha * self.w / self.R
        self.delta, self.own, self.rounds, self.kept = delta, {}, 0, 0

    def y(self, x):
        return self.s * (x - self.w) / self.R

    def bound(self, ys, m, share):
        if m == 0:
            return 0.0
        lam, L = SLOPES, math.log(2 * SLOPES.size * share / self.delta)
        bounds = m * np.expm1((lam * sum(ys) - L) / m) / np.expm1(lam)
        return min(max(bounds.max(), 0.0), m)

    def room(self, arm):
        """TOT(a) + slack, in the metric's units."""
        y_b = self.y(KNOWN[self.metric])
        known = [value for _, value in self.own.values() if value is not None]
        low = self.bound(known, len(self.own), 1)
        of_arm = [value for a, value in self.own.values() if a == arm]
        lcb = self.bound([v for v in of_arm if v is not None], len(of_arm), self.arms)
        lcb /= max(len(of_arm), 1)
        slack = self.kept * y_b - self.kappa * (self.rounds + 1) * y_b
        return self.R * (low + lcb + slack - self.omega * (self.rounds + 1))


PROMISES = (
    tr.Promise(alpha=0.3),
    tr.Promise("conversion", alpha=0.4, share=2.0),
    tr.Promise("cost", alpha=0.5, at_most=True),
    tr.Promise("cost", ceiling=2.5),
    tr.Promise("conversion", floor=0.3),
)


def test_every_promise_is_a_ledger_of_its_own_in_units_of_its_metric():
    data = np.random.default_rng(1)
    session, told = tr.Session(safe(*PROMISES), arms=K), 0
    shares = sum(promise.share for promise in PROMISES)
    twins = [Twin(promise, 0.2 * promise.share / shares) for promise in PROMISES]
    open_parts = []
    for t in range(1500):
        if t % 7 == 0:
            report, told = session.explain(), told + 1
            rooms = np.array([[twin.room(arm) for arm in range(K)] for twin in twins])
            for line, room in zip(report["promises"], rooms, strict=True):
                others = np.arange(K) != B
                assert line["total"][others] + line["slack"] == pytest.approx(
                    room[others], abs=1e-6
                )
            assert report["safe"].tolist() == (rooms >= -1e-9).all(axis=0).tolist()
        arm = session.decide(id=t).arm
        for twin in twins:
            twin.rounds += 1
            if arm == B:
                twin.kept += 1
            else:
                twin.own[t] = (arm, None)
        open_parts += [(t, arm, name) for name in ENDS]
        while open_parts and data.random() < 0.75:
            t_of, arm_of, name = open_parts.pop(int(data.integers(len(open_parts))))
            low, high = ENDS[name]
            chance = (MEANS[name][arm_of] - low) / (high - low)
            value = low + (high - low) * float(data.random() < chance)
            assert session.reward(t_of, {name: value})
            assert not session.reward(t_of, {name: value})
            for twin in twins:
                if arm_of != B and twin.metric == name:
                    twin.own[t_of] = (arm_of, twin.y(value))
    played = [twin.rounds - twin.kept for twin in twins]
    assert min(played) > 200, played


WORLDS = {
    "known": {"baseline_mean": 0.5},
    "learned": {},
    "checkpoints": {"baseline_mean": 0.5, "checkpoint": 9},
    "learned, checkpoints": {"checkpoint": [4, 30, 90]},
    "freedman": {"baseline_mean": 0.5, "martingale": "freedman", "sigma": 0.1},
    "lower": {"open": "lower", "selection": "constrained"},
    "largest lower": {"selection": "largest-lower", "baseline_floor": 0.3, "checkpoint": 5},
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("kind", ["arms", "features", "contexts"])
def test_one_promise_is_safe_itself_to_the_bit(kind, world):
    features = np.random.default_rng(2).uniform(-0.5, 0.5, size=(K, 2))
    arms = {"arms": K} if kind != "features" else {"arms": features}
    arms |= {"dimension": 2} if kind == "contexts" else {}
    given = {"baseline": B, "delta": 0.1, "rewards": (0.0, 1.0)} | WORLDS[world]
    inner = tr.UCB() if kind == "arms" else tr.LinUCB()
    one = tr.Safe(inner, alpha=0.3, **given)
    listed = tr.Safe(inner, promises=[tr.Promise(alpha=0.3)], **given)
    for seed in range(15):  # histories; 100 and more over kinds and worlds
        data = np.random.default_rng([3, seed])
        sessions = tr.Session(one, **arms), tr.Session(listed, **arms)
        waiting = []
        for t in range(60):
            X = data.uniform(-0.5, 0.5, size=(K, 2)) if kind == "contexts" else None
            arm, other = (session.decide(X, id=t).arm for session in sessions)
            assert arm == other
            waiting.append(t)
            while waiting and data.random() < 0.6:
                id = waiting.pop(int(data.integers(len(waiting))))
                reward = float(data.random() < 0.4 + 0.1 * K)
                if data.random() < 0.05:
                    for session in sessions:
                        session.cancel(id)
                else:
                    for session in sessions:
                        session.reward(id, reward)
        first, second = (session.state.guarded for session in sessions)
        for name in set(first.ledger.dtype.names) - {"floor"}:  # said by each in its own way
            assert first.ledger[name].tobytes() == second.parts.ledger[name].tobytes(), name
        assert first.bounds.total.tobytes() == second.parts.bounds.total[0].tobytes()


def decisions(policy, seed=4, rounds=400, arms=K):
    data, session, played = np.random.default_rng(seed), tr.Session(policy, arms=arms), []
    for t in range(rounds):
        arm = session.decide(id=t).arm
        played.append(arm)
        values = {}
        for name in session.metrics or ("reward",):
            low, high = ENDS.get(name, (0.0, 1.0))
            mean = MEANS.get(name, MEANS["conversion"])[arm]
            values[name] = low + (high - low) * float(data.random() < (mean - low) / (high - low))
        session.reward(t, values if session.metrics else values["reward"])
    return played


def test_promises_that_say_the_same_play_the_same():
    alpha, floor, cost = tr.Promise(alpha=0.3), tr.Promise("conversion", floor=0.3), KNOWN["cost"]
    same = {
        "another order": ((alpha, floor), (floor, alpha), {}, {}),
        "twice": ((alpha, alpha), (alpha,), {}, {"delta": 0.1}),
        "one that always holds": (
            (alpha, tr.Promise("conversion", alpha=0.999)),
            (alpha,),
            {},
            {"delta": 0.1},
        ),
        "a ceiling at the relative level": (
            (tr.Promise("cost", alpha=0.5, at_most=True),),
            (tr.Promise("cost", ceiling=1.5 * cost),),
            {},
            {},
        ),
    }
    for name, (one, other, this, that) in same.items():
        played = decisions(safe(*one, **this))
        assert played == decisions(safe(*other, **that)), name
        assert 0 < played.count(B) < 400, name


def test_at_most_is_at_least_of_what_is_missing():
    """x <= (1 + alpha) mu_b of x in [0, 1] is 1 - x >= 1 - (1 + alpha) mu_b."""
    means, alpha = np.array([0.3, 0.2, 0.1, 0.25]), 0.5
    kinds = {
        "most": (tr.Promise("x", alpha=alpha, at_most=True), means, 1.0),
        "least": (tr.Promise("x", floor=1 - (1 + alpha) * means[B]), 1 - means, -1.0),
    }
    rooms = {}
    for name, (promise, of, sign) in kinds.items():
        policy = safe(
            promise, metrics={"r": (0, 1), "x": (0, 1)}, known={"r": 0.5, "x": float(of[B])}
        )
        session, data, rooms[name] = tr.Session(policy, arms=K), np.random.default_rng(5), []
        for t in range(300):
            line = session.explain()["promises"][0]
            rooms[name].append(line["total"] + line["slack"])
            session.follow(int(data.integers(K)), t)
            arm, u = session.known(t).arm, data.random()
            x = float(u < means[arm])
            session.reward(t, {"r": 0.0, "x": x if sign > 0 else 1.0 - x})
    assert np.array(rooms["most"]) == pytest.approx(np.array(rooms["least"]), abs=1e-9)


def test_what_is_not_in_is_counted_at_its_worst():
    promise, rooms = tr.Promise("cost", ceiling=2.0), []
    session = tr.Session(safe(promise), arms=K)
    for t in range(200):
        session.follow(B, t)
    for t in range(60):
        session.follow(3, f"late {t}")

    def room():
        return session.explain()["promises"][0]["budget_bound"]

    assert room() == pytest.approx(200 * (2.0 - KNOWN["cost"]) + 60 * (2.0 - 4.0))
    for t in range(60):
        session.reward(f"late {t}", {"cost": -1.0})
        rooms.append(room())
    assert rooms == sorted(rooms) and rooms[-1] > rooms[0] + 100.0
    for t in range(60):
        session.close(f"late {t}")  # their other metrics never come: nothing is learned of them
    assert room() == rooms[-1]


def test_parts_survive_a_file_and_a_journal(tmp_path):
    policy, data = safe(*PROMISES[:3]), np.random.default_rng(6)
    with tr.Journal(tmp_path / "j", tr.Session(policy, arms=K)) as journal:
        for t in range(120):
            journal.decide(id=f"d{t}")
            for name, (low, high) in ENDS.items():
                if data.random() < 0.6:
                    journal.reward(f"d{t}", {name: float(data.uniform(low, high))})
        session = tr.Session.from_bytes(journal.session.to_bytes())
    session.save(tmp_path / "s.npz")
    with tr.Journal(tmp_path / "j") as again:
        others = tr.Session.load(tmp_path / "s.npz"), again.session
    for other in others:
        assert other.to_bytes() == session.to_bytes()
    open_now = [id for id in session.open if not id.startswith("#")]
    for one in (session, *others):
        for id in open_now:
            entry = one._book.get(id)
            missing = {list(ENDS)[m]: 0.5 for m in entry.waiting}
            assert one.reward(id, missing)
            assert not one.is_open(id)
    later = [[one.decide().arm for _ in range(20)] for one in (session, *others)]
    assert later[0] == later[1] == later[2]


def test_what_expires_needs_a_default_of_every_metric():
    given = {"revenue": 0.0, "conversion": 0.0, "cost": 4.0}
    with pytest.raises(ValueError, match="default_reward lacks cost"):
        tr.Session(safe(PROMISES[0]), arms=K, default_reward={"revenue": 0, "conversion": 0})
    session = tr.Session(safe(*PROMISES), arms=K, window=3, default_reward=given)
    for t in range(10):
        session.decide(id=t)
        session.reward(t, {"revenue": 1.0})
    assert session.waiting == 4
    assert [session.reward(2, {name: value}) for name, value in given.items() if value != 0] == [
        False
    ]


WRONG = {
    "exactly one": (lambda: tr.Promise(), lambda: tr.Promise(alpha=0.1, floor=2.0)),
    "alpha = 1": (lambda: tr.Promise(alpha=1.0),),
    "at_most was given with ceiling": (lambda: tr.Promise(ceiling=1.0, at_most=True),),
    "not in metrics": (lambda: safe(tr.Promise("complaints", alpha=0.1)),),
    "itself breaks": (lambda: safe(tr.Promise("cost", ceiling=1.0)),),
    "is missing, which a ceiling": (
        lambda: safe(tr.Promise("cost", ceiling=3.0), known={"revenue": 1.0}),
    ),
    "no upper end": (
        lambda: safe(
            tr.Promise("cost", alpha=0.5, at_most=True),
            metrics={"revenue": (0, 1), "cost": (0, math.inf)},
            known={"revenue": 0.5, "cost": 1.0},
        ),
    ),
    "not a segment": (lambda: safe(tr.Promise(alpha=0.1, segment=3)),),
    "over all rounds needs": (
        lambda: safe(
            tr.Promise(alpha=0.1),
            tr.Promise(alpha=0.1, segment=1),
            metrics=None,
            known=None,
            segments=2,
        ),
    ),
    "alpha was given beside": (lambda: safe(tr.Promise(alpha=0.1), alpha=0.1),),
    "which is not a promise": (lambda: safe(0.05),),
    "'martingale', which alone": (lambda: safe(tr.Promise(alpha=0.1), bound="confidence"),),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_promised_is_refused(words):
    for attempt in WRONG[words]:
        with pytest.raises(ValueError, match=words):
            attempt()


def test_a_metric_is_given_once_and_by_its_name():
    session = tr.Session(safe(PROMISES[0]), arms=K)
    session.decide(id="a")
    for value, words in {
        1.0: "no dict by metric",
        ("revenu", 1.0): "not a metric",
        ("cost", 5.0): r"reward\['cost'\] = 5.0 is not",
        ("cost", math.nan): "is not a number",
    }.items():
        with pytest.raises(ValueError, match=words):
            session.reward("a", dict([value]) if isinstance(value, tuple) else value)
    assert session.reward("a", {"cost": 1.0})
    with pytest.raises(ValueError, match="for metric 2; a reward is given once"):
        session.reward("a", {"cost": 2.0})
    with pytest.raises(ValueError, match="lacks some of"):
        session.update(0, {"cost": 1.0})
    with pytest.raises(ValueError, match="rewarded with here is one reward"):
        tr.simulate(tr.problems.Bernoulli([0.5] * K), safe(PROMISES[0]), horizon=5)
    assert session.is_open("a")


def test_segments_are_bounded_by_their_own_rewards():
    """A promise over all rounds beside one of a segment: arms that are mirrored have a pooled mean
    that is the mean of no round."""
    data, means = np.random.default_rng(7), np.array([[0.5, 0.5, 0.1], [0.5, 0.5, 0.9]])
    policy = tr.Safe(
        tr.BetaThompson(),
        baseline=1,
        promises=[tr.Promise(alpha=0.3), tr.Promise(alpha=0.3, segment=1)],
        segments=2,
        baseline_mean=[0.5, 0.5],
    )
    session = tr.Session(policy, arms=3)
    for _ in range(3000):
        s = int(data.integers(2))
        arm = session.select(Context(segment=s))
        lower = session.state.guarded.parts.bounds.lower
        assert (lower[:2] <= means).all() and (lower[2] <= means[1]).all()
        session.update(arm, float(data.random() < means[s, arm]), Context(segment=s))
    assert lower.max() > 0.5
    for s, arm in itertools.product(range(2), range(3)):
        assert session.explain(Context(segment=s))["safe"][arm] in (True, False)
