"""Random histories of a session, and the same learning written down as a plain list of events."""

import numpy as np

import tightrope as tr
from tightrope.core.verbs import Context, commit, explain, inform, init, update
from tightrope.session.codec import flatten


def kinds():
    """Name -> (policy, arguments of Session, what the history may do)."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    safe = {"alpha": 0.3, "sigma": 0.3, "delta": 0.1}
    return {
        "UCB": (tr.UCB(), {"arms": 4}, "grow"),
        "UCB in order": (tr.UCB(), {"arms": 4, "apply": "in order"}, ""),
        "LinUCB": (tr.LinUCB(), {"arms": X}, "grow"),
        "LinTS, new features": (
            tr.LinTS(scale=0.3),
            {"arms": 5, "dimension": 3, "apply": "in order"},
            "features",
        ),
        "LinUCB, catalogue": (tr.LinUCB(), {"dimension": 3}, "features catalogue"),
        "SoftUCB": (tr.SoftUCB(), {"arms": X}, "grow"),
        "CUCB2": (tr.CUCB2(baseline=1, baseline_mean=0.5, **safe), {"arms": 4}, ""),
        "CUCB2, mean unknown": (tr.CUCB2(baseline=1, **safe), {"arms": 4}, ""),
        "CUCB, lower": (
            tr.CUCB(baseline=1, baseline_mean=0.5, open="lower", **safe),
            {"arms": 4},
            "",
        ),
        "CLUCB2T, lower": (
            tr.CLUCB2T(baseline=1, baseline_mean=0.5, checkpoint=7, open="lower", **safe),
            {"arms": 5, "dimension": 3},
            "features",
        ),
        "CLUCB2": (tr.CLUCB2(baseline=1, baseline_mean=0.5, **safe), {"arms": X}, ""),
        "Safe": (
            tr.Safe(tr.BetaThompson(), baseline=0, baseline_mean=0.4, **safe),
            {"arms": 4},
            "",
        ),
        "SafePromises": (
            tr.Safe(
                tr.BetaThompson(),
                baseline=0,
                promises=[tr.Promise(alpha=0.3), tr.Promise(alpha=0.5, segment="each")],
                segments=2,
                baseline_mean=[0.4, 0.5],
                sigma=0.3,
            ),
            {"arms": 4},
            "segments",
        ),
        "C2UCB": (tr.C2UCB(), {"arms": X, "oracle": tr.oracles.TopK(2)}, "grow"),
        "SafeSets": (
            tr.SafeSets(tr.C2UCB(), baseline=[0, 1], baseline_mean=0.5, arm_bound=8.0, **safe),
            {"arms": X, "oracle": tr.oracles.TopK(2)},
            "grow",
        ),
        "ESCB": (tr.ESCB(), {"arms": 4, "oracle": tr.oracles.TopK(2)}, "grow"),
        "C2UCB in order": (
            tr.C2UCB(),
            {"arms": X, "oracle": tr.oracles.TopK(2), "apply": "in order"},
            "",
        ),
    }


class Twin:
    """What a session should have learned: commits, rewards and data in order, without the decisions
    that were cancelled."""

    def __init__(self, in_order):
        self.in_order = in_order
        self.events = []  # (kind, decision number or None, context, action, reward)
        self.waiting = []  # in order: (number, rewards that came, whether it ended)

    def decide(self, number, context, action):
        self.events.append(("commit", number, context, action, None))
        self.waiting.append([number, [], False])

    def reward(self, number, context, action, value, ended):
        entry = next(item for item in self.waiting if item[0] == number)
        if action is not None:
            entry[1].append(("update", number, context, action, value))
        entry[2] = ended
        self.pass_on(entry)

    def pass_on(self, entry):
        for item in list(self.waiting) if self.in_order else [entry]:
            self.events += item[1]
            item[1] = []
            if item[2]:
                self.waiting.remove(item)
            elif self.in_order:
                break

    def cancel(self, number):
        self.events = [item for item in self.events if item[1] != number]
        self.waiting = [item for item in self.waiting if item[0] != number]
        if self.in_order and self.waiting:
            self.pass_on(self.waiting[0])

    def state(self, policy, arms, changing, catalogue):
        """All events on a fresh state; a catalogue starts afresh with as many candidates as its
        largest round."""
        told = arms._replace(features=None) if changing else arms
        if catalogue:
            told = told._replace(
                number=max([told.number, *(len(item[2].features) for item in self.events)])
            )
        state = init(policy, told)
        for kind, _, context, action, value in self.events:
            seen = padded(context, told)
            if kind == "commit":
                state = commit(policy, state, seen, action)
            else:
                state = (update if kind == "update" else inform)(policy, state, seen, action, value)
        return state, told


def padded(context, arms):
    """A round with the arms that were added later: not eligible, without features."""
    mask, features = context.eligible, context.features
    before = len(features) if features is not None else len(mask)
    if before == arms.number:
        return context
    more = np.zeros(arms.number, dtype=bool)
    more[:before] = True if mask is None else mask
    if features is not None:
        features = np.concatenate([features, np.zeros((arms.number - before, features.shape[1]))])
    return context._replace(eligible=more, features=features)


def run(kind, seed, path, steps=25, between=None):
    """A random history; returns the session and its twin, checking on the way what every call
    promises.

    between: makes the session that goes on of the one that was, after every call.
    """
    policy, given, may = kinds()[kind]
    rng = np.random.default_rng([seed, sorted(kinds()).index(kind)])
    default = 0.25
    session = tr.Session(policy, **given, seed=seed, default_reward=default)
    sets, changing, catalogue = (
        session.arms.oracle is not None,
        "features" in may,
        "catalogue" in may,
    )
    twin, made, retired = Twin(session.apply == "in order"), {}, set()

    def rewards(action):
        return rng.integers(0, 5, size=len(action)) / 4 if sets else float(rng.integers(0, 5) / 4)

    for step in range(steps):
        if between is not None:
            session = between(session)
        K = session.arms.number
        move = rng.choice(
            ["decide"] * 5
            + ["reward"] * 4
            + ["cancel", "expire", "close", "file", "retire", "data", "grow"]
        )
        if move == "decide":
            features = (
                rng.normal(size=(int(rng.integers(2, 7)) if catalogue else K, 3))
                if changing
                else None
            )
            if features is not None:
                features /= np.linalg.norm(features, axis=1, keepdims=True)
                K = len(features)
            mask = rng.random(K) < 0.7 if rng.random() < 0.5 else None
            usable = np.array([k not in retired for k in range(K)]) & (
                True if mask is None else mask
            )
            if usable.sum() < (2 if sets else 1):
                continue
            segment = int(rng.integers(2)) if "segments" in may else None
            d = session.decide(Context(features, segment=segment), mask, id=f"d{step}")
            assert usable[d.arm].all()
            assert session.decide(id=f"d{step}") is d
            action = np.array(d.arm) if sets else d.arm
            context = Context(features, usable, segment=segment)
            made[d.id] = [context, action, list(d.arm) if sets else None]
            twin.decide(d.id, context, action)
        elif move in ("reward", "close", "cancel") and session.open:
            id = list(session.open)[int(rng.integers(len(session.open)))]
            context, action, left = made[id]
            if move == "cancel":
                if sets and len(left) < len(action):
                    continue
                session.cancel(id)
                twin.cancel(id)
                del made[id]
            elif move == "close":
                session.close(id)
                twin.reward(id, context, None, None, True)
            elif sets:
                part = [
                    left.pop(int(rng.integers(len(left))))
                    for _ in range(int(rng.integers(1, len(left) + 1)))
                ]
                values = rewards(part)
                assert session.reward(id, dict(zip(part, values.tolist(), strict=True)))
                twin.reward(id, context, np.array(part), values, not left)
                assert not session.reward(id, {part[0]: float(values[0])})
            else:
                value = rewards(action)
                assert session.reward(id, value)
                twin.reward(id, context, action, value, True)
                assert not session.reward(id, value)
        elif move == "expire":
            for id in session.expire(older_than=6):
                context, action, left = made[id]
                missing = np.array(sorted(left)) if sets else action
                twin.reward(
                    id, context, missing, np.full(len(left), default) if sets else default, True
                )
        elif move == "file":
            session = tr.Session.load(session.save(path))
        elif move == "retire" and not catalogue:
            arm = int(rng.integers(K))
            if arm in retired:
                session.restore(arm)
                retired.remove(arm)
            elif len(retired) < K - 2:
                session.retire(arm)
                retired.add(arm)
        elif move == "grow" and "grow" in may and K < 7:
            features = rng.normal(size=(1, 3)) if session.arms.features is not None else None
            assert session.add_arms(features=features, number=1) == [K]
        elif move == "data" and not changing:
            arms = np.array([int(rng.integers(K))])
            latest = session._book.latest(session.decided)
            if latest is not None and latest.plays(arms if sets else int(arms[0])):
                continue
            value = rewards(arms)
            segment = int(rng.integers(2)) if "segments" in may else None
            session.update(
                arms if sets else int(arms[0]),
                value,
                Context(segment=segment) if segment is not None else None,
            )
            last = session._rounds.last
            shown = np.ones(K, dtype=bool) if last.eligible is None else last.eligible
            twin.events.append(
                (
                    "inform",
                    None,
                    Context(eligible=shown, segment=segment),
                    arms if sets else int(arms[0]),
                    value,
                )
            )
    assert list(session.open) == [item[0] for item in twin.waiting if not item[2]]
    return session, twin


def differences(kind, session, twin):
    """Entries of the explanation that differ from those of the twin by more than 1e-9."""
    (_, _, may), policy = kinds()[kind], session.policy
    state, told = twin.state(policy, session.arms, "features" in may, session.catalogue)
    features = (
        np.random.default_rng(0).normal(size=(told.number, 3)) / 3 if "features" in may else None
    )
    mask, found = None if session._rounds.retired is None else ~session._rounds.retired, []
    for segment in range(2) if "segments" in may else [None]:
        here = session.explain(Context(features, segment=segment))
        draws = tr.core.streams.stream(session.seed, session.rounds, 3)
        there = explain(policy, state, Context(features, mask, segment=segment), draws)
        found += [
            key
            for key in here
            if not (
                close(here[key], there[key])
                or (key == "leader" and tied(there, here[key], there[key]))
            )
        ]
    return found


def tied(report, first, second):
    """Whether two arms have the same lower bound, so that rounding decides which of them leads
    (arms with equal features)."""
    return "lower" in report and close(report["lower"][first], report["lower"][second])


def close(a, b):
    if isinstance(a, dict):
        return all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return all(map(close, a, b))
    if isinstance(a, str) or a is None:
        return isinstance(b, str) or b is None  # numbers in sentences are rounded
    return np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def same_state(first, second):
    """Equal to the bit."""
    a, b = flatten(first.state), flatten(second.state)
    return a.keys() == b.keys() and all(
        np.array_equal(a[key], b[key], equal_nan=a[key].dtype.kind == "f") for key in a
    )
