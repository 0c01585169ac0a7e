"""A state says what its numbers are, and a file with others is refused: for policies of the package
and from outside."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import tightrope as tr
from session import strangers
from standard import problems, stands_for
from tightrope.core.fields import Kind, Record, StateOf, kind_of
from tightrope.core.verbs import describe, init
from tightrope.extend import (
    ArmIndex,
    Count,
    Extended,
    Finite,
    Policy,
    RewardSum,
    inner_policy,
    jit,
    policy,
)
from tightrope.policies import examples
from tightrope.session.codec import flatten, policy_of, restore
from tightrope.testing import Broken, check_pair


class Exponents(NamedTuple):
    """A plug-in's state whose fields have the names of others' and mean something else."""

    depth: np.ndarray  # (K,) learned whole numbers
    points: Finite  # (K,) learned
    own: Finite  # (K,) learned, negative ones too; likewise:
    seen: np.ndarray
    open: Extended
    pulls: Count  # (K,)
    sums: Finite  # (K,) weighted by importance
    leader: ArmIndex  # (1,)


@policy("arms", paper="none", public=False)
class Stranger(Policy):
    """Plays the arm of the largest weighted sum."""

    def init(self, arms):
        K = arms.number
        zeros = (np.zeros(K) for _ in range(6))
        return Exponents(np.zeros(K, dtype=np.int64), *zeros, np.zeros(1, dtype=np.int64))

    @jit
    def select(self, state, context, rng):
        return int(state.leader[0])

    def reward_range(self):
        return 0.0, 1.0

    @jit
    def update(self, state, context, action, reward):
        state.depth[action] += 1
        state.points[action] += 0.5
        state.own[action] -= 1.0
        state.seen[action] -= 2.0
        state.open[action] -= 3.0
        state.pulls[action] += 1.0
        state.sums[action] += 5.0 * reward  # an importance weight
        state.leader[0] = (state.leader[0] + 1) % state.pulls.shape[0]
        return state


@policy("arms", paper="none", public=False)
class Around(Policy):
    """A wrapper from outside, whose own field has the name of one inside."""

    inner: Policy = inner_policy()

    class State(NamedTuple):
        leader: Finite  # (1,) no arm at all
        guest: Annotated[Any, StateOf("inner")]

    def init(self, arms):
        return self.State(np.full(1, -7.5), init(self.inner, arms))

    def select(self, state, context, rng):
        return self.inner.select(state.guest, context, rng)

    def update(self, state, context, action, reward):
        return self.State(state.leader, self.inner.update(state.guest, context, action, reward))


def played(chosen, **given):
    """A session after ten rewards."""
    session = tr.Session(chosen, **({"arms": 3} | given), seed=0)
    for t in range(10):
        session.update(session.select(), float(t % 2))
    return session


def refusal(path, chosen, **changes):
    """The sentence with which a file is refused after some of its arrays were changed."""
    header, arrays = strangers.opened(path)
    strangers.write(path, header, arrays | changes)
    with pytest.raises(ValueError, match=r"\.$") as caught:
        tr.Session.load(path, policy=chosen)
    strangers.write(path, header, arrays)
    return str(caught.value)


def test_a_plug_ins_fields_mean_what_it_says_they_mean(tmp_path):
    """By their names `depth` and `points` would be fixed, `own`, `seen` and `open` counts, and
    `sums` at most `pulls`."""
    session = played(Stranger())
    loaded = tr.Session.load(session.save(tmp_path / "s.npz"), policy=Stranger())
    assert loaded.state.own.min() < 0
    assert loaded.state.sums.max() > loaded.state.pulls.max()
    for name, value in flatten(session.state).items():
        np.testing.assert_array_equal(flatten(loaded.state)[name], value)
    assert [loaded.select() for _ in range(4)] == [session.select() for _ in range(4)]


def test_a_plug_ins_file_is_held_to_what_it_says(tmp_path):
    path, one = played(Stranger()).save(tmp_path / "s.npz"), np.zeros(3)
    assert "state.pulls holds a negative count" in refusal(
        path, Stranger(), **{"state.pulls": one - 1.0}
    )
    assert "state.leader holds a number outside [0, 2]" in refusal(
        path, Stranger(), **{"state.leader": np.array([3])}
    )
    assert "state.own holds a number that is not finite" in refusal(
        path, Stranger(), **{"state.own": one + np.inf}
    )


def test_a_wrapper_says_whose_state_it_holds(tmp_path):
    """The inner state is held to the inner policy's rewards and checkpoints, whatever the wrapper's
    field is called."""
    chosen = Around(inner=tr.BetaThompson())
    path = played(chosen).save(tmp_path / "s.npz")
    assert tr.Session.load(path, policy=chosen).state.leader[0] == -7.5
    assert "state.guest.sums is outside what" in refusal(
        path, chosen, **{"state.guest.sums": np.full(3, 50.0)}
    )
    guarded = Around(inner=tr.CUCB2(baseline=0, baseline_mean=0.5))
    path = played(guarded).save(tmp_path / "g.npz")
    _, arrays = strangers.opened(path)
    place = np.full_like(arrays["state.guest.ledger.place"], 10**6)
    assert "state.guest.ledger.place holds a number outside [0, 1]" in refusal(
        path, guarded, **{"state.guest.ledger.place": place}
    )


def test_a_wrapper_that_does_not_say_it_is_told_to(tmp_path):
    class Silent(NamedTuple):
        guest: Any

    template = Silent(init(tr.CUCB2(baseline=0, baseline_mean=0.5), tr.extend.Arms(3)))
    with pytest.raises(
        ValueError,
        match=r"ledger.place cannot be checked for UCB.* Annotated\[Any, StateOf\('inner'\)\]",
    ):
        restore(template, flatten(template), tr.UCB(), tr.extend.Arms(3))


def test_check_policy_asks_for_the_kind_of_whole_numbers():
    """The plug-in's `depth` is a plain array of whole numbers, which could be places in arrays."""
    with pytest.raises(
        Broken,
        match=r"Exponents.depth holds whole numbers of no declared kind; "
        r"annotate the "
        r"field, as "
        r"ArmIndex, Count",
    ):
        check_pair(Stranger(), tr.problems.Bernoulli([0.3, 0.5]), masks=False)


def test_annotations_may_be_text():
    annotations = [
        ("pulls", "Count"),
        ("either", "RewardSum | None"),
        ("lost", "Nowhere"),
        ("plain", "np.ndarray"),
    ]
    Text = NamedTuple("Text", annotations)
    Text.__module__ = __name__
    assert kind_of(Text, "pulls") == kind_of(Exponents, "pulls") != Kind()
    assert kind_of(Text, "either").rewards == "pulls"
    assert kind_of(Text, "plain") is None
    with pytest.raises(
        ValueError,
        match=r"Text.lost is annotated as .*'Nowhere' is not defined; import what it names",
    ):
        kind_of(Text, "lost")
    assert RewardSum is not None


def test_a_record_takes_kinds_only():
    with pytest.raises(TypeError, match="leader = 3 is no kind"):
        Record(leader=3)


def fields(state, policy, path="state"):
    """(path, array, kind or Record, policy it belongs to) of every array in a state."""
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            yield from fields(value, policy_of(state, name, policy), f"{path}.{name}")
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            yield f"{path}.{name}", value, kind_of(type(state), name), policy


def cases():
    """(policy, arms) of every registered example on one problem of every kind that it accepts."""
    seen = {}
    for name, problem in problems().items():
        for title, example in examples(problem).items():
            if stands_for(example, name, problem):
                seen.setdefault((title, name), (example, describe(problem)._replace(horizon=50)))
    return seen.values()


def forbidden(kind, array, policy, arms):
    """Numbers that a kind forbids in an array of this type."""
    least, most = (
        limit(policy, arms) if callable(limit) else limit for limit in (kind.least, kind.most)
    )
    if array.dtype.kind == "f" and (kind.finite or least > -np.inf or most < np.inf):
        yield from (np.nan, np.inf) if kind.finite or most < np.inf else (np.nan,)
    if np.isfinite(least) and array.dtype.kind != "u":
        yield from (least - 1, -(10**9))
    if np.isfinite(most):
        yield most + 1 if most < 2**62 else 2 * most if array.dtype.kind == "f" else 2**62 + 2**20
    if kind.whole and array.dtype.kind == "f":
        yield 0.5
    if kind.derived and array.size:
        first = array.reshape(-1)[0]
        yield first + 1 if np.isfinite(first) else 0
    if kind.once and array.size > 1:
        yield array.reshape(-1)[1]


def test_every_array_of_every_policy_says_its_kind():
    """Undeclared whole numbers could be places in arrays."""
    silent = set()
    for example, arms in cases():
        for path, array, kind, _ in fields(init(example, arms), example):
            whole = [part for part in array.dtype.names or () if array.dtype[part].kind in "iu"]
            if kind is None or (
                array.dtype.names and any(part not in kind.kinds for part in whole)
            ):
                silent.add((type(example).__name__, path))
            if array.dtype.kind in "iu" and not (
                kind.derived or (np.isfinite(kind.least) and kind.whole)
            ):
                silent.add((type(example).__name__, path))
    assert silent == set()


def test_every_number_that_a_kind_forbids_is_refused():
    """Every field of every registered policy, in every way that its kind forbids."""
    tried = kinds = 0
    for example, arms in cases():
        template = init(example, arms)
        flat = flatten(template)
        restore(template, flat, example, arms)
        for path, array, declared, owner in fields(template, example):
            parts = declared.kinds if isinstance(declared, Record) else {None: declared}
            for part, kind in parts.items():
                target = array if part is None else array[part]
                kinds += target.size > 0
                for value in forbidden(kind, target, owner, arms) if target.size else ():
                    changed = array.copy()
                    (changed if part is None else changed[part]).flat[0] = value
                    with pytest.raises(ValueError, match=r"\.$"):
                        restore(template, flat | {path: changed}, example, arms)
                    tried += 1
            if array.dtype.kind == "b" and array.size:
                changed = array.copy()
                changed.view(np.uint8).reshape(-1)[0] = 2
                with pytest.raises(ValueError, match="neither True nor False"):
                    restore(template, flat | {path: changed}, example, arms)
    assert tried > 2 * kinds > 2000


def test_sums_are_held_to_the_rewards_of_their_counts():
    for example in (
        tr.BetaThompson(),
        tr.KLUCB(),
        tr.Safe(tr.KLUCB(), baseline=0, baseline_mean=0.5),
    ):
        template = init(example, tr.extend.Arms(3))
        flat = flatten(template)
        for path in (name for name in flat if name.endswith(".sums")):
            with pytest.raises(
                ValueError, match=f"{path} is outside what the policy's rewards, from 0 to 1"
            ):
                restore(
                    template, flat | {path: np.array([0.0, 2.0, 0.0])}, example, tr.extend.Arms(3)
                )
