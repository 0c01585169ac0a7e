"""Sessions whose calls are interrupted: each is afterwards what it was before the call, or what it
would be after it.

A session and its twin get the same calls, the session under a timer that raises KeyboardInterrupt.
The twin says what both states are.
"""

import collections
import contextlib
import copy
import os
import pickle
import signal
import sys
from unittest import mock

import numpy as np

import tightrope as tr
from session import histories
from tightrope.core.verbs import Context
from tightrope.session import store
from tightrope.session.agent import CompiledAgent

DEFAULT = 0.25
MOST_ARMS = 9
# calls of one session before it begins anew, so that it stays as small as sessions of a test are
RESTARTED = 200
SECONDS = 0.001
RARELY = 0.02  # how often a method is called that nobody calls in every round, where `decide` has 6


def settle_process():
    """What these runs need of their process: it says nothing of exceptions that nobody can catch,
    and waits for no disk."""
    sys.unraisablehook = lambda told: (
        None
    )  # what comes in the end of an object is told and goes nowhere
    os.fsync = lambda handle: None  # files need not survive a power cut


def kinds():
    """Name -> (policy, arguments of Session, what may be done): those of the histories and what
    only signals need."""
    more = {
        "UCB, window": (tr.UCB(), {"arms": 4, "window": 5}, "grow"),
        "UCB, window in order": (tr.UCB(), {"arms": 4, "window": 5, "apply": "in order"}, ""),
        "LinGapE": (tr.LinGapE(epsilon=0.5), {"arms": np.eye(3)}, "stops"),
        "Zooming": (tr.Zooming(lipschitz=1.0), {"points": np.linspace(0.0, 1.0, 5)}, "points"),
        "BetaThompson, names": (tr.BetaThompson(), {"arms": 4, "names": ["a", "b", "c", "d"]}, ""),
    }
    return histories.kinds() | more


class Timer:
    """Raises KeyboardInterrupt within the calls that it is given, once in each at most."""

    def __init__(self, seconds=SECONDS):
        self.seconds, self.armed, self.came = seconds, False, 0

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, self.ring)
        if self.seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, self.seconds, self.seconds)
        return self

    def at(self, seconds):
        """Ring once, so many seconds from now."""
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)

    def ring(self, number, frame):
        if self.armed:
            self.armed = False
            self.came += 1
            raise KeyboardInterrupt

    def interrupts(self, call):
        """Whether the call was interrupted, though libraries may have made another error of it, or
        none (in the end of an object).

        What it raises otherwise is left to the twin, which raises it too.
        """
        try:
            self.armed = True
            call()
        except (ValueError, KeyboardInterrupt):
            pass
        interrupted, self.armed = not self.armed, False
        return interrupted


class Everywhere:
    """Interrupts a call where a numbered one of the session's functions begins or ends, as a signal
    does: Python looks for them at calls. number: a function that says which."""

    def __init__(self, number):
        self.number = number

    def interrupts(self, call):
        left, came = self.number(), False

        def tracer(frame, event, arg):
            nonlocal left, came
            if "tightrope/session/" not in frame.f_code.co_filename:
                return None
            left -= event in ("call", "return")
            if left <= 0 and not came and event in ("call", "return"):
                came = True
                sys.settrace(None)
                raise KeyboardInterrupt
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            call()
        except (ValueError, KeyboardInterrupt):
            pass
        finally:
            sys.settrace(before)
        return came


def seen(session):
    """All that a session's file says of it, as a value that can be compared, but for what it knows
    of others."""
    past = session._past
    header, arrays = store.packed_session(session)
    header.past = past.branch, past.forks
    arrays = {name: value for name, value in arrays.items() if not name.startswith("base")}
    return repr(header), {
        name: (value.dtype.str, value.shape, value.tobytes()) for name, value in arrays.items()
    }


def alike(session, now, twin, then):
    """Whether two sessions are the same, of which `seen` said `now` and `then`.

    Where a policy has looked for an arm that was not taken, numbers that it works with may stand in
    its state. They are no difference where all later calls are the same.
    """
    lasting = [
        (header, {name: value for name, value in arrays.items() if not name.startswith("state.")})
        for header, arrays in (now, then)
    ]
    if now == then or lasting[0] != lasting[1]:
        return now == then
    rng = np.random.default_rng(len(now[0]))
    told = []
    for one in (copy.copy(session), copy.copy(twin)):
        state = rng.bit_generator.state
        K, changing = one.arms.number, one._rounds.changing
        for step in range(3):
            features = rng.uniform(-0.5, 0.5, size=(K, 3)) if changing else None
            if isinstance(one.policy, tr.SafePromises):
                features = Context(segment=step % 2)
            explained = one.explain(features, draws=10)
            made = one.decide(features, id=f"later {step}")
            told.append(
                (repr(explained), np.array(made.arm).tolist(), np.array(made.propensity).tolist())
            )
            arms = np.atleast_1d(made.arm).tolist()
            one.reward(
                made.id, dict.fromkeys(arms, 0.5) if isinstance(made.arm, np.ndarray) else 0.5
            )
        told.append(repr(one.explain(features, draws=10)))
        rng.bit_generator.state = state
    return told[: len(told) // 2] == told[len(told) // 2 :]


# Calls that need nothing but the session, and those that need the id of an open decision.
ALONE = {
    "fork": lambda s: s.fork(2),
    "restore": lambda s: [s.restore(arm) for arm in s.retired[:1]],
    "view": lambda s: s.view().explain(draws=10),
    "copy": copy.copy,
    "to_bytes": lambda s: s.to_bytes(),
    "open": lambda s: s.open,
    "answered": lambda s: list(s.answered()),
    "repr": repr,
    "html": lambda s: s._repr_html_(),
    "names": lambda s: s.names,
    "retired": lambda s: s.retired,
    "forget_round": lambda s: s.forget_round(),
    "stopped": lambda s: s.stopped,
    "recommend": lambda s: s.recommend(),
    "point": lambda s: s.point(1),
    "arm_at": lambda s: s.arm_at(0.25),
}
BY_ID = {
    "cancel": lambda s, id: s.cancel(id),
    "close": lambda s, id: s.close(id),
    "expire": lambda s, id: s.expire(ids=[id]),
    "is_open": lambda s, id: s.is_open(id),
}
RARE = (
    "follow",
    "decide_beside",
    "learn",
    "merge",
    "fork",
    "add_arms",
    "retire",
    "restore",
    "explain",
    "propensities",
    "view",
    "copy",
    "save",
    "load",
    "to_bytes",
    "from_bytes",
    "open",
    "is_open",
    "answered",
    "repr",
    "html",
    "names",
    "retired",
    "forget_round",
    "stopped",
    "recommend",
    "point",
    "arm_at",
)


class Moves:
    """Random calls of a session, drawn so that the same one can be made of its twin."""

    def __init__(self, kind, seed, folder):
        self.policy, self.given, self.may = kinds()[kind]
        self.rng = np.random.default_rng([seed, sorted(kinds()).index(kind)])
        self.folder, self.seed, self.number = folder, seed, 0

    def begun(self):
        """A new session."""
        return tr.Session(self.policy, **self.given, seed=self.seed, default_reward=DEFAULT)

    def round(self, session):
        """Arguments of a random round: features, or a segment, and mask."""
        K, features, mask = session.arms.number, None, None
        if "segments" in self.may:
            features = Context(segment=int(self.rng.integers(2)))
        if "features" in self.may:
            K = int(self.rng.integers(2, 7)) if session.catalogue else K
            features = self.rng.normal(size=(K, 3))
            features /= np.linalg.norm(features, axis=1, keepdims=True)
        if self.rng.random() < 0.4:
            mask = self.rng.random(K) < 0.8
        return features, mask

    def reward(self, session, arms):
        values = self.rng.integers(0, 5, size=np.size(arms)) / 4
        return values if session.arms.oracle is not None else float(values[0])

    def any_open(self, session):
        ids = list(session.open)
        return ids[int(self.rng.integers(len(ids)))] if ids else "none"

    def __call__(self, session):
        """(name, call): the name of a public method, and what calls it on any session that is as
        this one is."""
        self.number += 1
        weights = {
            "decide": 6,
            "select": 4,
            "reward": 8,
            "update": 6,
            "cancel": 2,
            "close": 1,
            "expire": 1,
        }
        weights |= dict.fromkeys(RARE, RARELY)
        name = str(
            self.rng.choice(
                list(weights), p=np.array(list(weights.values())) / sum(weights.values())
            )
        )
        if name in ALONE:
            return name, ALONE[name]
        if name in BY_ID:
            id = self.any_open(session)
            return name, lambda s: BY_ID[name](s, id)
        return name, getattr(self, f"call_{name}")(session)

    def call_decide(self, session):
        (features, mask), id = self.round(session), f"d{self.number}"
        return lambda s: s.decide(features, mask, id=id)

    def call_select(self, session):
        features, mask = self.round(session)
        return lambda s: s.select(features, mask)

    def call_follow(self, session):
        (features, mask), id = self.round(session), f"f{self.number}"
        arm = [0, 1] if session.arms.oracle is not None else 0
        return lambda s: s.follow(arm, id, features, mask, propensity=0.5)

    def call_decide_beside(self, session):
        (features, mask), id = self.round(session), f"b{self.number}"
        return lambda s: s.decide_beside(1, lambda arm, p: 0.5, features, mask, id=id)

    def call_reward(self, session):
        id = self.any_open(session)
        arms = session.open[id].arm if id != "none" else 0
        value = self.reward(session, arms)
        if np.size(value) > 1 and self.rng.random() < 0.5:
            value = {int(arms[0]): float(value[0])}
        return lambda s: s.reward(id, value)

    def call_update(self, session):
        id = self.any_open(session)
        arms = np.array(session.open[id].arm) if id != "none" else int(self.rng.integers(2))
        arms = np.atleast_1d(arms) if session.arms.oracle is not None else int(arms)
        value = self.reward(session, arms)
        context = session.open[id].context if id != "none" else None
        if "segments" not in self.may:
            context = context.features if context is not None and "features" in self.may else None
        return lambda s: s.update(arms, value, context)

    def call_learn(self, session):
        rows = {
            "arm": self.rng.integers(0, 3, size=6),
            "reward": self.rng.integers(0, 5, size=6) / 4,
        }
        if "features" in self.may:
            rows |= {name: self.rng.normal(size=6) / 2 for name in "xyz"}
            return lambda s: s.learn(rows, features=list("xyz"))
        return lambda s: s.learn(rows)

    def call_merge(self, session):
        """With a worker that went on from it and has learned something of its own."""

        def call(s):
            one = tr.Session.from_bytes(s.to_bytes(), seed=77)
            for key in list(one.open):
                one.close(key)
            if not one.waiting and "features" not in self.may and one.arms.oracle is None:
                one.update(0, 0.5)
            s.merge(one)

        return call

    def call_add_arms(self, session):
        grows = "grow" in self.may and session.arms.number < MOST_ARMS
        features = self.rng.normal(size=(1, 3)) / 2 if session.arms.features is not None else None
        return lambda s: s.add_arms(features=features, number=1 if grows else 0)

    def call_retire(self, session):
        arm = int(self.rng.integers(session.arms.number))
        return lambda s: s.retire(arm) if len(s.retired) < s.arms.number - 2 else None

    def call_explain(self, session):
        features, mask = self.round(session)
        return lambda s: s.explain(features, mask, draws=10)

    def call_propensities(self, session):
        features, mask = self.round(session)
        return lambda s: s.propensities(features, mask)

    def call_save(self, session):
        return lambda s: s.save(self.folder / "saved.npz")

    def call_load(self, session):
        if not (self.folder / "saved.npz").exists():
            session.save(self.folder / "saved.npz")
        return lambda s: tr.Session.load(self.folder / "saved.npz")

    def call_from_bytes(self, session):
        data = session.to_bytes()
        return lambda s: tr.Session.from_bytes(data)


def quietly(call, session):
    """The call of a twin; a refusal is the same for both."""
    with contextlib.suppress(ValueError):
        call(session)


class Found:
    """What came of many calls: interruptions by what the session was afterwards, and by method."""

    def __init__(self):
        self.calls, self.outcomes, self.broken = 0, collections.Counter(), collections.Counter()
        self.examples = {}

    def add(self, other):
        self.calls += other.calls
        self.outcomes += other.outcomes
        self.broken += other.broken
        self.examples = other.examples | self.examples

    def __str__(self):
        told = ", ".join(f"{number:,} {name}" for name, number in sorted(self.outcomes.items()))
        return f"{self.calls:,} calls, {self.outcomes.total():,} interrupted: {told}"


def run(kind, seed, calls, folder, interrupts):
    """Calls of sessions of a kind. interrupts: a function of a call, whether it was interrupted
    (see `Timer.interrupts`)."""
    found, moves = Found(), Moves(kind, seed, folder)
    (folder / "saved.npz").unlink(missing_ok=True)
    for number in range(calls):
        if number % RESTARTED == 0:
            session, twin = moves.begun(), moves.begun()
        name, call = moves(twin)
        found.calls += 1
        if not interrupts(lambda: call(session)):  # noqa: B023
            quietly(call, twin)
            continue
        now, before = seen(session), seen(twin)
        if alike(session, now, twin, before):
            found.outcomes["as before"] += 1
            continue
        quietly(call, twin)
        after = seen(twin)
        if alike(session, now, twin, after):
            found.outcomes["as after"] += 1
            continue
        found.outcomes["neither"] += 1
        found.broken[kind, name] += 1
        found.examples[kind, name] = (
            seed,
            number,
            *differing(now, before),
            "|",
            *differing(now, after),
        )
        session = copy.copy(twin)
        twin = copy.copy(twin)
    if not alike(session, seen(session), twin, seen(twin)):
        found.outcomes["apart at the end"] += 1
        found.broken[kind, "the end"] += 1
    return found


def differing(one, other):
    """Which parts of two files differ, for the reader of a failure."""
    a, b = (item[0] for item in (one, other))
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    place = place or 0
    header = (
        [] if a == b else ["header", *(text[max(0, place - 60) : place + 60] for text in (a, b))]
    )
    return header + [
        name for name in one[1].keys() | other[1].keys() if one[1].get(name) != other[1].get(name)
    ]


class Disturber:
    """What may become of a session between two calls: a copy, a pickle, a file, or a call that a
    signal ends, in either of its states."""

    def __init__(self, seed, path, timer):
        self.rng, self.path, self.timer = np.random.default_rng(seed), path, timer
        self.came = 0

    def __call__(self, session):
        ways = (
            copy.copy,
            copy.deepcopy,
            lambda s: pickle.loads(pickle.dumps(s)),
            lambda s: tr.Session.from_bytes(s.to_bytes()),
            lambda s: tr.Session.load(s.save(self.path)),
        )
        way = int(self.rng.integers(8))
        if way < len(ways):
            return ways[way](session)
        if way > len(ways):
            return session
        features = (
            self.rng.normal(size=(session.arms.number, 3)) / 3 if session._rounds.changing else None
        )
        before = seen(session)
        twin = copy.copy(session)
        self.timer.at(float(self.rng.uniform(1e-5, 4e-4)))
        if self.timer.interrupts(lambda: session.decide(features, id="interrupted")):
            self.came += 1
            if "interrupted" in session.open:
                assert session.decided == twin.decided + 1
            else:
                assert alike(session, seen(session), twin, before)
        return twin  # which goes on as if nothing had been asked


def disturbed(kind, seed, folder, plain):
    """(differences, signals that came) of a history that is disturbed between its calls.

    It is compared with one that goes on in memory, played by the agent that calls the verbs from
    Python. plain: the disturbed one, too.
    """
    with Timer(None) as timer:
        disturber, by_verbs = (
            Disturber(seed, folder / "t.npz", timer),
            mock.patch("tightrope.session.agent.compiled", lambda policy: False),
        )
        with by_verbs:
            one, _ = histories.run(kind, seed, folder / "s.npz")
            assert not isinstance(one._agent, CompiledAgent)
        with by_verbs if plain else contextlib.nullcontext():
            other, _ = histories.run(kind, seed, folder / "s.npz", between=disturber)
            a, b = seen(one), seen(other)
            return [] if alike(one, a, other, b) else differing(a, b), disturber.came
