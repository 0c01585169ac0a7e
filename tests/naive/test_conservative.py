"""The conservative family == its naive twin: the same arms, the same safe sets, the same sums, on
random histories."""

import itertools

import numpy as np
import pytest

import tightrope as tr
from naive.classic_policies import NaiveUCB
from naive.conservative_policies import Naive
from standard import unit_rows
from tiers import tiered
from tightrope.core.verbs import (
    Arms,
    Context,
    commit,
    explain,
    inform,
    init,
    select,
    update,
    withdraw,
)

ROUNDS = 160
BOUNDS = ("confidence", "martingale")
SELECTIONS = ("two-step", "largest-lower", "constrained")
CHECKPOINTS = (
    {},
    {"checkpoint": 9},
    {"checkpoint": [4, 30, 90]},
    {"checkpoint": [10, 60], "min_gap": 9},
)


def twin_of(policy, K, X, fixed=True):
    p = type(policy).FIELDS
    shown = {
        name: field.decode(value) for (name, field), value in zip(p.items(), policy, strict=True)
    }
    T = shown["checkpoint"]
    return Naive(
        K,
        X,
        alpha=shown["alpha"],
        delta=shown["delta"],
        sigma=shown["sigma"] or 0.5,
        bound=shown["bound"],
        selection=shown["selection"],
        baseline_index=shown.get("baseline_index"),
        clip=shown["clip"],
        lam=shown["lam"],
        B=shown["theta_bound"],
        D=shown["arm_bound"],
        martingale=shown["martingale"],
        rewards=shown["rewards"],
        constants=shown["constants"],
        T=T if isinstance(T, int) else 1,
        listed=None if isinstance(T, int) else T,
        min_gap=shown["min_gap"],
        floor=shown["baseline_floor"],
        true_means=shown["true_means"],
        open_rule=shown["open"],
        fixed=X is None or fixed,
        martingale_sigma=shown["martingale_sigma"],
        index=shown.get("index", "interval"),
        learned=shown["baseline_mean"] is None,
    )


def gaussian(noise):
    return lambda mean, data: mean + noise * data.standard_normal()


def follow(policy, means, X, reward, seed, rounds=ROUNDS, near=None):
    """Play both side by side, with rewards of a mean; returns the events that occurred."""
    K, b = means.size, policy.baseline
    mu = None if np.isnan(policy.baseline_mean) else policy.baseline_mean
    twin = twin_of(policy, K, X)
    session = tr.Session(policy, arms=K if X is None else X)
    data = np.random.default_rng(seed)
    events = set()
    near = near or {"atol": 1e-8}
    for _ in range(rounds):
        (arm, in_S), safe, values, _ = twin.decide(b, mu)
        report = session.explain()
        np.testing.assert_allclose(report["total"] + report["slack"], values, **near)
        # elsewhere the two sides are equal and rounding under a root decides
        clear = np.abs(values) > 5 * near["atol"]
        assert (report["safe"] == safe)[clear].all()
        assert session.select() == arm == int(np.argmax(report["probability"]))
        assert ((report["event"] == "baseline") == (not in_S)) or arm != b
        events.add(report["event"])
        value = float(reward(means[arm], data))
        session.update(arm, value)
        twin.feed(arm, value, in_S, b, mu)
    return events


@pytest.mark.parametrize("kind", ["independent", "one feature", "d <= K"])
def test_rewards_of_a_known_range_are_bounded_as_by_the_twin(kind):
    """martingale = "bernoulli": sums and arms, a learned mean, a lowest reward that is not 0; and
    the ellipsoid's share of delta."""
    data, events = np.random.default_rng(21), set()
    for number, (bound, selection, rounds, known) in enumerate(
        itertools.product(BOUNDS, SELECTIONS, CHECKPOINTS[:2], (True, False))
    ):
        low, high = ((0.0, 1.0), (-0.5, 1.5), (0.25, 40.0))[number % 3]
        K, X, b = 5, None, 2
        means = data.random(K) * 0.6 + 0.2 if high < 2 else data.random(K) * 20.0 + 5.0
        if kind != "independent":
            d = 1 if kind == "one feature" else 3
            theta = unit_rows(data, 1, d)[0] * means.max()
            X = means[:, None] * theta / (theta @ theta) + (
                0.0 if d == 1 else 0.2 * np.linalg.qr(np.c_[theta, data.random((d, K))])[0][:, 1]
            )
            means = X @ theta
        size = (
            {}
            if X is None
            else {
                "arm_bound": 1.1 * float(np.linalg.norm(X, axis=1).max()),
                "theta_bound": float(means.max()),
            }
        )
        policy = tr.Conservative(
            baseline=b,
            baseline_mean=float(means[b]) if known else None,
            alpha=0.4,
            delta=0.05,
            sigma=0.05 if X is not None else None,
            bound=bound,
            selection=selection,
            baseline_index=("mean", "ucb")[number % 2],
            rewards=(low, high),
            **rounds,
            **size,
        )

        def reward(mean, data, low=low, high=high):
            return high if data.random() < (mean - low) / (high - low) else low

        # at a point of norm 0 a root of rounding is left
        near = {"rtol": 1e-7, "atol": 2e-6}
        events |= follow(policy, means, X, reward, number, rounds=80, near=near)
    assert {"ucb", "baseline"} <= events


@pytest.mark.parametrize("kind", tiered(["independent", "K < d", "d <= K"], ["K < d"]))
def test_same_arms_and_safe_sets_as_the_twin(kind):
    data = np.random.default_rng(2)
    seen = set()
    for number, (bound, selection, rounds, known) in enumerate(
        itertools.product(BOUNDS, SELECTIONS, CHECKPOINTS, (True, False))
    ):
        if kind == "independent":
            K, X, means = 5, None, data.random(5) * 0.6 + 0.2
        else:
            K, d = (4, 6) if kind == "K < d" else (6, 4)
            theta = unit_rows(data, 1, d)[0]
            X = tr.problems.spread_arms(K, theta, data) * data.uniform(
                0.7, 1.0, (K, 1)
            )  # of different lengths: no ties
            means = X @ theta
        b = int(np.argsort(means)[K // 2])
        policy = tr.Conservative(
            baseline=b,
            baseline_mean=float(means[b]) if known else None,
            alpha=0.4,
            delta=0.05,
            sigma=0.05,
            lam=0.3,
            bound=bound,
            selection=selection,
            baseline_index=("mean", "ucb")[number % 2],
            clip=("both", "paper")[number // 2 % 2],
            martingale=("freedman", "subgaussian")[number // 3 % 2],
            **rounds,
        )
        seen |= follow(policy, means, X, gaussian(0.05), number, rounds=60)
    assert seen == {"ucb", "safe-other", "baseline"}


def test_the_readings_of_the_papers_figures_have_the_twins_arms():
    """Eq 4 clipped as a whole; an index of plain UCB; a scale of its own for the martingale: each
    changes who is safe or who is played."""
    data, played = np.random.default_rng(12), {}
    theta = unit_rows(data, 1, 4)[0]
    X = tr.problems.spread_arms(6, theta, data) * data.uniform(0.7, 1.0, (6, 1))
    linear, independent = X @ theta, data.random(5) * 0.6 + 0.2
    common = {"alpha": 0.4, "delta": 0.05, "sigma": 0.05, "lam": 0.3, "martingale": "freedman"}
    for clip in ("joint", "paper", "both"):
        b = int(np.argsort(linear)[3])
        policy = tr.CLUCB(
            baseline=b, baseline_mean=float(linear[b]), clip=clip, selection="constrained", **common
        )
        follow(policy, linear, X, gaussian(0.05), 1, rounds=80)
        played[clip] = arms_of(policy, linear, X)
    for selection, more in itertools.product(
        SELECTIONS, ({"index": "rounds"}, {"martingale_sigma": 0.5}, {})
    ):
        b = int(np.argsort(independent)[2])
        policy = tr.CUCB2(
            baseline=b,
            baseline_mean=float(independent[b]),
            selection=selection,
            baseline_index="ucb",
            **common | {"sigma": 0.2},
            **more,
        )
        follow(policy, independent, None, gaussian(0.05), 2, rounds=120)
        played[selection, *more] = arms_of(policy, independent, None)
    assert played["joint"] != played["paper"]
    assert played["joint"] != played["both"]
    assert (
        played["constrained", "index"]
        != played["constrained",]
        != played["constrained", "martingale_sigma"]
    )


def arms_of(policy, means, X):
    """The arms of 120 rounds on the same noise."""
    session, data, arms = (
        tr.Session(policy, arms=means.size if X is None else X),
        np.random.default_rng(3),
        [],
    )
    for noise in 0.05 * data.standard_normal(120):
        arms.append(session.select())
        session.update(arms[-1], float(means[arms[-1]] + noise))
    return arms


@pytest.mark.parametrize(
    ("policy", "arms"),
    [
        (tr.CUCB2(baseline=0, index="rounds"), 3),
        (tr.CLUCB2(baseline=0, baseline_mean=0.5, index="rounds"), np.eye(3)),
    ],
)
def test_an_index_of_rounds_needs_independent_arms_and_a_known_baseline(policy, arms):
    words = "index = 'rounds' needs independent arms and a known baseline_mean"
    with pytest.raises(ValueError, match=words):
        tr.Session(policy, arms=arms)


@pytest.mark.parametrize("kind", tiered(["independent", "features"], ["features"]))
def test_safe_plays_the_twins_arms(kind):
    """Safe's inner policy learns from every round, the guarantee from those in S."""
    data, events = np.random.default_rng(4), set()
    for bound, selection, rounds, known in itertools.product(
        BOUNDS, SELECTIONS, CHECKPOINTS, (True, False)
    ):
        X, K, b = None, 5, 2
        means = data.random(K) * 0.6 + 0.2
        if kind == "features":
            theta = unit_rows(data, 1, 3)[0]
            X = tr.problems.spread_arms(K, theta, data) * data.uniform(0.7, 1.0, (K, 1))
            means = X @ theta
        mu = float(means[b]) if known else None
        policy = tr.Safe(
            tr.UCB(sigma=0.1),
            baseline=b,
            baseline_mean=mu,
            alpha=0.4,
            delta=0.05,
            sigma=0.05,
            lam=0.3,
            bound=bound,
            selection=selection,
            martingale="freedman",
            **rounds,
        )
        twin, inner = twin_of(policy, K, X), NaiveUCB(K, sigma=0.1)
        session = tr.Session(policy, arms=K if X is None else X)
        for _ in range(60):
            (arm, in_S), *_ = twin.decide(b, mu, wanted=inner.select())
            report = session.explain()
            assert session.select() == arm
            events.add((report["event"], arm == b))
            reward = float(means[arm] + 0.05 * data.standard_normal())
            session.update(arm, reward)
            inner.update(arm, reward)
            twin.feed(arm, reward, in_S, b, mu)
    assert {("ucb", False), ("safe-other", False), ("baseline", True)} <= events


def test_oracle_bound_is_the_true_budget():
    means = np.array([0.3, 0.6, 0.5, 0.2])
    told = {
        "baseline": 2,
        "baseline_mean": 0.5,
        "alpha": 0.1,
        "sigma": 0.2,
        "martingale": "freedman",
    }
    for selection in SELECTIONS:
        policy = tr.CUCB(bound="oracle", true_means=means, selection=selection, **told)
        assert "ucb" in follow(policy, means, None, gaussian(0.1), 1)


def test_changing_features_and_baselines():
    data = np.random.default_rng(5)
    theta = unit_rows(data, 1, 3)[0]
    for policy in (
        tr.CLUCB(alpha=0.3, sigma=0.1, lam=0.5),
        tr.CLUCB2(alpha=0.3, sigma=0.1, lam=0.5),
        tr.CLUCB2T(alpha=0.3, sigma=0.1, lam=0.5, checkpoint=7, baseline_floor=0.1, clip="paper"),
    ):
        twin = twin_of(policy, 5, np.zeros((5, 3)), fixed=False)
        twin.floor = 0.0 if twin.floor is None else twin.floor
        session = tr.Session(policy, arms=5, dimension=3)
        for _ in range(ROUNDS):
            twin.X = tr.problems.spread_arms(5, theta, data) * data.uniform(0.7, 1.0, (5, 1))
            means = twin.X @ theta
            b = int(data.integers(5))
            context = Context(twin.X, None, b, float(means[b]))
            (arm, in_S), safe, values, _ = twin.decide(b, means[b])
            report = session.explain(context)
            np.testing.assert_allclose(report["total"] + report["slack"], values, atol=1e-8)
            assert report["safe"].tolist() == safe.tolist()
            assert session.select(context) == arm
            reward = float(means[arm] + 0.1 * data.standard_normal())
            session.update(arm, reward)  # of the round just selected: its features and its baseline
            twin.feed(arm, reward, in_S, b, means[b])
        assert 0 < session.state.ledger.explored[0] < ROUNDS


class Interleaved:
    """A random order of deciding, rewarding, cancelling and outside data, met by the policy and its
    twin side by side."""

    def __init__(self, policy, K, X, theta, seed, *, contexts=False):
        self.policy, self.K, self.X, self.theta, self.contexts = policy, K, X, theta, contexts
        self.twin = twin_of(policy, K, X, fixed=not contexts)
        if contexts:
            self.twin.floor = 0.0 if self.twin.floor is None else self.twin.floor
        self.state = init(policy, Arms(K, None if contexts else X, 0 if X is None else X.shape[1]))
        self.data = np.random.default_rng(seed)
        self.open, self.events, self.most = [], set(), 0

    def round(self):
        """Context, means, baseline and its known mean of a new round."""
        if not self.contexts:
            means = self.theta if self.X is None else self.X @ self.theta
            known = None if np.isnan(self.policy.baseline_mean) else self.policy.baseline_mean
            return Context(), means, self.policy.baseline, known
        X = tr.problems.spread_arms(self.K, self.theta, self.data) * self.data.uniform(
            0.7, 1.0, (self.K, 1)
        )
        self.twin.X = X
        means, b = X @ self.theta, int(self.data.integers(self.K))
        return Context(X, None, b, float(means[b])), means, b, float(means[b])

    def compare(self, context, b, mu):
        (arm, own), safe, values, charge = self.twin.decide(b, mu)
        report = explain(self.policy, self.state, context, self.data)
        np.testing.assert_allclose(report["total"] + report["slack"], values, atol=1e-7)
        clear = np.abs(values) > 1e-6
        assert (report["safe"] == safe)[clear].all()
        counted = report["open"]
        assert counted["decisions"] == len(self.twin.awaited())
        assert counted["baseline"] == sum(h.reward is None and not h.own for h in self.twin.history)
        if self.policy.bound == 0:
            assert counted["charged"] == pytest.approx(charge, abs=1e-7)
        self.events.add(report["event"])
        return arm, own

    def step(self):
        move = self.data.random()
        if move < 0.5 or not self.open:
            context, means, b, mu = self.round()
            arm, own = self.compare(context, b, mu)
            assert select(self.policy, self.state, context, self.data) == arm
            self.state = commit(self.policy, self.state, context, arm)
            self.open.append((self.twin.commit(arm, own, b, mu), context, float(means[arm])))
            self.most = max(self.most, len(self.open))
            return
        decision, context, mean = self.open.pop(int(self.data.integers(len(self.open))))
        if move < 0.9:
            decision.reward = float(max(mean + 0.05 * self.data.standard_normal(), 0.0))
            self.state = update(self.policy, self.state, context, decision.arm, decision.reward)
        elif move < 0.96:
            self.twin.cancel(decision)
            self.state = withdraw(self.policy, self.state, context, decision.arm)
        else:
            self.open.append((decision, context, mean))
            row = None if self.X is None else self.row(context, decision.arm)
            self.twin.elsewhere.append((row, decision.arm, mean))
            self.state = inform(self.policy, self.state, context, decision.arm, mean)

    def row(self, context, arm):
        return (self.X if context.features is None else context.features)[arm].copy()


@pytest.mark.parametrize(
    "kind", tiered(["independent", "K < d", "d <= K", "contexts"], ["K < d", "d <= K", "contexts"])
)
def test_any_order_of_decisions_rewards_cancellations_and_outside_data(kind):
    """The ledger is the one recomputed from the history, whatever is open."""
    data, seen, most = np.random.default_rng(3), set(), 0
    explored_baseline = 0
    cases = itertools.product(
        ("nothing", "lower"),
        BOUNDS,
        SELECTIONS,
        ({}, {"checkpoint": 9}, {"checkpoint": [4, 30, 90]}),
        (True, False),
    )
    for number, (rule, bound, selection, rounds, known) in enumerate(cases):
        if kind == "contexts" and not known:
            continue
        K, d = {"independent": (5, 0), "K < d": (4, 6), "d <= K": (6, 4), "contexts": (5, 3)}[kind]
        if d == 0:
            X, theta = None, data.random(K) * 0.6 + 0.2
            means = theta
        else:
            theta = unit_rows(data, 1, d)[0]
            X = tr.problems.spread_arms(K, theta, data) * data.uniform(0.7, 1.0, (K, 1))
            means = X @ theta
        b = int(np.argsort(means)[K // 2])
        baseline = (
            {}
            if kind == "contexts"
            else {"baseline": b, "baseline_mean": float(means[b]) if known else None}
        )
        policy = tr.Conservative(
            **baseline,
            alpha=0.6,
            delta=0.05,
            sigma=0.03,
            lam=0.3,
            bound=bound,
            selection=selection,
            open=rule,
            baseline_index=str(data.choice(["mean", "ucb"])),
            clip=str(data.choice(["both", "paper"])),
            martingale=str(data.choice(["freedman", "subgaussian"])),
            **rounds,
        )
        history = Interleaved(policy, K, X, theta, number, contexts=kind == "contexts")
        for _ in range(120):
            history.step()
        seen |= history.events
        most = max(most, history.most)
        explored_baseline += sum(h.own and h.arm == h.baseline for h in history.twin.history)
    assert explored_baseline > 0
    assert seen == {"ucb", "safe-other", "baseline"}
    assert most > 15


def test_a_cancelled_decision_leaves_no_trace():
    """A policy that decided and cancelled more, in a random order, stands where one stands that
    never did."""
    data = np.random.default_rng(4)
    theta = unit_rows(data, 1, 4)[0]
    X = tr.problems.spread_arms(6, theta, data)
    means = X @ theta
    b = int(np.argsort(means)[3])
    for model, checkpoint in itertools.product(("independent", "linear"), (1, [3, 8, 25, 60])):
        policy = tr.Conservative(
            baseline=b,
            baseline_mean=float(means[b]),
            alpha=0.5,
            sigma=0.05,
            model=model,
            open="lower",
            checkpoint=checkpoint,
        )
        arms = Arms(6, X, 4)
        first, second = init(policy, arms), init(policy, arms)
        for _ in range(80):
            extra = [select(policy, second, Context(), data)]
            second = commit(policy, second, Context(), extra[0])
            extra.append(int(data.integers(6)))
            second = commit(policy, second, Context(), extra[1])
            for arm in data.permutation(extra):
                second = withdraw(policy, second, Context(), int(arm))
            arm = select(policy, first, Context(), data)
            first, second = (
                commit(policy, first, Context(), arm),
                commit(policy, second, Context(), arm),
            )
            if data.random() < 0.7:
                reward = float(max(means[arm] + 0.05 * data.standard_normal(), 0.0))
                first, second = (
                    update(policy, state, Context(), arm, reward) for state in (first, second)
                )
            one, other = (explain(policy, state, Context(), data) for state in (first, second))
            for key in ("total", "slack", "lower", "upper", "budget_bound"):
                np.testing.assert_allclose(one[key], other[key], atol=1e-9)
            assert one["checkpoint_in"] == other["checkpoint_in"]
            assert one["open"] == pytest.approx(other["open"], abs=1e-9)
    with pytest.raises(ValueError, match="no decision of this arm is open"):
        withdraw(policy, init(policy, arms), Context(), 1)


class Unbounded(Naive):
    """Of arms nothing is known but that they earn at least 0."""

    def intervals(self, unknown):
        return np.zeros(self.K), np.full(self.K, np.inf), None


class Learner:
    """A policy by itself, in rounds that show the arms' features."""

    def __init__(self, policy, K, d):
        self.policy, self.state, self.rng = (
            policy,
            init(policy, Arms(K, None, d)),
            np.random.default_rng(0),
        )

    def select(self, context):
        return int(select(self.policy, self.state, context, self.rng))

    def update(self, context, arm, reward):
        self.state = update(self.policy, self.state, context, arm, reward)


@pytest.mark.parametrize("kind", ["independent", "contexts"])
def test_segments_play_the_arms_of_a_twin_with_a_ledger_for_each(kind):
    """One learner for all rounds; a guarantee of each segment that sees its own rounds only, with
    its part of delta."""
    data, events, n, K = np.random.default_rng(14), set(), 3, 4
    for selection, rounds, given in itertools.product(
        SELECTIONS, ({}, {"checkpoint": 5}), ("each", "all", "none")
    ):
        if kind == "contexts" and given == "none":
            continue
        means, b = data.random((n, K)) * 0.6 + 0.2, 1
        each = {"each": means[:, b], "all": np.full(n, 0.4), "none": [None] * n}[given]
        inner = (
            tr.UCB(sigma=0.1) if kind == "independent" else tr.LinUCB(width="theorem", noise=0.1)
        )
        safe = tr.Safe(
            inner,
            baseline=b,
            baseline_mean=0.4 if given == "all" else None,
            alpha=0.4,
            delta=0.15,
            sigma=0.05,
            selection=selection,
            martingale="freedman",
            **rounds,
        )
        policy = tr.SafeSegments(
            safe, segments=n, baseline_means=means[:, b] if given == "each" else None
        )
        assert isinstance(policy, tr.SafePromises)
        known = float(means[:, b].min()) if given == "each" else safe.baseline_mean
        guard = safe._replace(delta=safe.delta / n, baseline_mean=known)
        twins = [twin_of(guard, K, None) for _ in range(n)]
        if kind == "contexts":
            for twin in twins:
                twin.__class__ = Unbounded
        for twin in twins:  # a mean that is said for the round stands for no round to come
            twin.floor = 0.0 if given != "none" else None
        d = 0 if kind == "independent" else 2
        learner, session = Learner(inner, K, d), tr.Session(policy, arms=K, dimension=d or None)
        for _ in range(150):
            s = int(data.integers(n))
            context = Context(data.normal(size=(K, d)) if d else None, segment=s)
            mu = None if each[s] is None else float(each[s])
            (arm, in_S), allowed, *_ = twins[s].decide(b, mu, wanted=learner.select(context))
            report = session.explain(context)
            assert report["safe"].tolist() == allowed.tolist()
            assert session.select(context) == arm
            events.add((report["event"], arm == b))
            reward = float(np.clip(means[s, arm] + 0.05 * data.standard_normal(), 0, 1))
            session.update(arm, reward)
            learner.update(context, arm, reward)
            twins[s].feed(arm, reward, in_S, b, mu)
        assert session.state.guarded.parts.ledger["rounds"].tolist() == [
            len(twin.history) for twin in twins
        ]
    assert {("ucb", False), ("baseline", True)} <= events


def test_one_segment_is_safe_itself():
    data, means = np.random.default_rng(15), np.array([0.3, 0.5, 0.8])
    safe = tr.Safe(tr.UCB(sigma=0.1), baseline=1, alpha=0.2, sigma=0.1)
    sessions = tr.Session(safe, arms=3), tr.Session(tr.SafeSegments(safe, segments=1), arms=3)
    for _ in range(300):
        arm, other = (session.select() for session in sessions)
        assert arm == other
        reward = float(data.random() < means[arm])
        for session in sessions:
            session.update(arm, reward)
    one, other = sessions[0].state.guarded, sessions[1].state.guarded.parts
    assert one.ledger.tobytes() == other.ledger.tobytes()
