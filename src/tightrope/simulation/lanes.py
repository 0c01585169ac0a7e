"""Replications in lanes: one compiled loop over many of them, in which every array of a run has the
lane as its last axis, so that neighbouring lanes read neighbouring words.

What all lanes share, as the policy, is there once; what a lane writes, and what differs between
problems, has a slice for each. A kernel is written for the layout, in which lane i's named tuples
are made of its slices, and calls the loop that replications play elsewhere.

Nobody hears of an exception in a kernel of a GPU, which only ends its lane. So a lane is marked as
refused before its loop is called and says afterwards how far it came; one that is still marked then
is played again on this processor, which raises what it has to say.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..compiled.kernels import jit, python_of
from ..compiled.lanes import WORDS, LaneTarget, seed_streams
from ..core.policy import Policy, compiled
from ..core.streams import DELAY, NOISE, POLICY, PROBLEM, WORD, seed_words
from .loops import NotInLanes, PerProblem, Slices, World
from .monitors import foreign_within, is_foreign
from .store import Rows

ROOM = 0.8  # of what is free, for lanes
ROLES = (PROBLEM, NOISE, POLICY, DELAY)
REFUSED = -1  # in place of the round that a lane has reached
Written: TypeAlias = bool | Callable[[str], bool]


class Layout:
    """Where the parts of a run lie that `loop` plays.

    shared: arguments that all lanes read. arrays: of lanes, for one replication of every problem,
    which is their last axis. parts: expressions for lane i's.
    """

    def __init__(
        self,
        loop: Callable[..., Any],
        runs: Sequence[tuple[Any, ...]],
        written: Sequence[Written],
    ) -> None:
        """loop: takes the parts, the first round, the one after the last and streams, and returns a
        state and the round that it has reached. runs: the same parts of a replication of every
        problem. written: which of them, or of their fields, a lane writes into."""
        self.loop = loop
        self.shared: list[Any] = list(runs[0])
        self.arrays: list[np.ndarray] = []
        self.parts = [
            self._expression(f"p{k}", items, written[k])
            for k, items in enumerate(zip(*runs, strict=True))
        ]

    def _expression(self, path: str, items: Sequence[Any], written: Written) -> str:
        first = items[0]
        if isinstance(first, tuple):
            fields = getattr(first, "_fields", range(len(first)))
            own = getattr(first, "WRITTEN", ())
            inside = [
                self._expression(
                    f"{path}[{place}]",
                    [item[place] for item in items],
                    (written(field) if callable(written) else written) or field in own,
                )
                for place, field in enumerate(fields)
            ]
            if inside == [f"{path}[{place}]" for place in range(len(inside))]:
                return path
            values = f"({', '.join(inside)},)"
            return f"like({path}, {values})" if hasattr(first, "_fields") else values
        if isinstance(first, np.ndarray):
            if written or any(not np.array_equal(item, first) for item in items[1:]):
                return self._lanes(np.stack(items, axis=-1))
        elif any(item != first for item in items[1:] if item == item or first == first):
            return self._lanes(np.array(items))
        return path

    def _lanes(self, array: np.ndarray) -> str:
        self.arrays.append(array)
        return f"a{len(self.arrays) - 1}[{':, ' * (array.ndim - 1)}i]"

    def source(self, target: LaneTarget) -> str:
        """Of the function that plays rounds first .. last - 1 of every lane that reached the first
        of them."""
        arguments = [f"p{k}" for k in range(len(self.shared))]
        arguments += [f"a{k}" for k in range(len(self.arrays))]
        roles = python_of(self.loop).__code__.co_argcount - len(self.parts) - 2
        streams = ", ".join(f"stream_of(words[:, {k}, i])" for k in range(roles))
        return (
            f"def lanes(first, last, words, reached, {', '.join(arguments)}):\n"
            f"    for i in {target.loop}:\n"
            "        if reached[i] == first:\n"
            f"            reached[i] = {REFUSED}\n"
            f"            ended = loop({', '.join(self.parts)}, first, last, {streams})\n"
            "            reached[i] = ended[1]\n"
        )

    def part(self, k: int, arrays: Sequence[np.ndarray]) -> Any:
        """Part k of all lanes, the lane as the last axis of its arrays."""
        scope = {f"p{k}": self.shared[k], "i": slice(None), "like": lambda of, made: of._make(made)}
        scope |= {f"a{j}": array for j, array in enumerate(arrays)}
        return eval(self.parts[k], scope)


class LaneRefused(Exception):
    """A lane whose kernel raised, or that cannot go on: its number."""


class InLanes(Protocol):
    """An experiment that can be played in lanes."""

    worlds: Sequence[World]
    policies: dict[str, PerProblem[Policy]]
    rounds: int
    seed: int

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows: ...

    def layout(self, name: str) -> Layout: ...

    def rows_of_lanes(
        self,
        name: str,
        replications: range,
        layout: Layout,
        reached: np.ndarray,
        arrays: Sequence[np.ndarray],
    ) -> Rows:
        """The rows of replications that are played; `arrays` are those of the layout."""
        ...


def check_lanes(experiment: Any) -> None:
    """Refuse what cannot play in lanes: rounds in Python, and classes whose choices are checked as
    they are made, by exceptions with numbers that a GPU has not."""
    if not hasattr(experiment, "layout"):
        raise NotInLanes(
            f"engine = 'cuda' plays simulations and identifications, no {experiment.kind}; use "
            "engine = 'threads'."
        )
    for per_problem in experiment.policies.values():
        for policy, world in zip(per_problem.items, experiment.worlds, strict=False):
            problem = world.problem
            fit = compiled(policy), getattr(type(problem), "COMPILED", True)
            foreign = foreign_within(policy) is not None, is_foreign(problem)
            for item, compiles, outside in zip((policy, problem), fit, foreign, strict=True):
                if not compiles or outside:
                    reason = "comes from outside" if compiles else "plays rounds in Python"
                    raise NotInLanes(
                        "engine = 'cuda' plays compiled policies and problems of this library, "
                        f"but {type(item).__name__} {reason}; use engine = 'threads' or "
                        "'processes'."
                    )


@jit
def fill_seeds(seeds, seed, first, role):  # type: ignore[no-untyped-def]
    for i in range(seeds.shape[0]):
        seeds[i] = seed_words(seed, first + i, role)


def lane_words(seed: int, replications: range) -> np.ndarray:
    """The streams of replications, (6, roles, lanes)."""
    words = np.zeros((WORDS, len(ROLES), len(replications)), dtype=np.uint64)
    for k, role in enumerate(ROLES):
        seeds = np.zeros((len(replications), 4), dtype=np.uint64)
        if max(seed, replications[-1]) <= WORD:
            fill_seeds(seeds, seed, replications[0], role)
        else:
            for i, r in enumerate(replications):
                sequence = np.random.SeedSequence(seed, spawn_key=(r, role))
                seeds[i] = sequence.generate_state(4, np.uint64)
        seed_streams(words[:, k], seeds)
    return words


def lane(item: Any, i: int) -> Any:
    """Lane i's of nested named tuples whose arrays have the lane as their last axis."""
    if isinstance(item, np.ndarray):
        own = np.ascontiguousarray(item[..., i])
        return own.view(np.recarray) if own.dtype.names else own
    if isinstance(item, tuple):
        return item._make(lane(part, i) for part in item)  # type: ignore[attr-defined]
    return item


class Lanes:
    """Replications side by side.

    arrays: of all of them, here: words of streams, the rounds reached, and the layout's. playing:
    numbers of those that go on, whose arrays are on the target, too.
    """

    def __init__(self, layout: Layout, target: LaneTarget, words: np.ndarray, problems: np.ndarray):
        """problems: which of the layout's each lane plays."""
        self.target, self.kernel = target, target.kernel(layout.source(target), layout.loop)
        self.shared = target.send(layout.shared)
        self.arrays = [words, np.zeros(problems.size, dtype=np.int64)]
        self.arrays += [array[..., problems] for array in layout.arrays]
        self.playing = np.arange(problems.size)
        self.send()

    def send(self) -> None:
        self.sent = [
            self.target.send(np.ascontiguousarray(array[..., self.playing]))
            for array in self.arrays
        ]

    def fetch(self) -> None:
        for array, sent in zip(self.arrays, self.sent, strict=True):
            array[..., self.playing] = self.target.fetch(sent)

    def play(self, first: int, last: int) -> np.ndarray:
        """Play a slice of rounds; how many each lane has played of it. Where fewer than half of the
        lanes go on they are gathered, since one that has ended waits for its neighbours."""
        words, reached, *arrays = self.sent
        self.target.launch(
            self.kernel, self.playing.size, first, last, words, reached, *self.shared, *arrays
        )
        now = self.target.fetch(reached)
        if now.min() == REFUSED:
            raise LaneRefused(self.playing[now.argmin()])
        going = now == last
        if 0 < 2 * going.sum() < going.size:
            self.fetch()
            self.playing = self.playing[going]
            self.send()
        return np.maximum(now - first, 0)


def play_lanes(
    layout: Layout, target: LaneTarget, seed: int, replications: range, rounds: int, slices: Slices
) -> list[np.ndarray]:
    """The arrays of lanes after all rounds: the rounds reached, and the layout's. Replication r
    plays the layout's problem r modulo their number. As many are played at once as the target has
    room for."""
    problems = layout.arrays[0].shape[-1]
    each = sum(array.nbytes for array in layout.arrays) // problems + 8 * (WORDS * len(ROLES) + 1)
    most = int(ROOM * target.room()) // each
    if most < 1:
        raise ValueError(
            f"engine = 'cuda': a replication takes {each / 2**20:,.0f} MiB, more than the GPU has "
            "free; use engine = 'threads'."
        )
    played = []
    for begin in range(0, len(replications), most):
        part = replications[begin : begin + most]
        chosen = np.arange(part.start, part.stop) % problems
        lanes = Lanes(layout, target, lane_words(seed, part), chosen)

        def play(first: int, last: int, lanes: Lanes = lanes) -> int:
            done = lanes.play(first, last)
            slices.advance(int(done.sum()))
            return first + int(done.max())

        try:
            Slices(slices.stopping, lambda played: None, least=1).run(play, rounds)
        except LaneRefused as refused:
            raise LaneRefused(begin + refused.args[0]) from None
        lanes.fetch()
        played.append(lanes.arrays[1:])
    return [np.concatenate(parts, axis=-1) for parts in zip(*played, strict=True)]


def replicate_in_lanes(
    experiment: InLanes, name: str, replications: range, slices: Slices, target: LaneTarget
) -> Rows:
    layout = experiment.layout(name)
    try:
        reached, *arrays = play_lanes(
            layout, target, experiment.seed, replications, experiment.rounds, slices
        )
        return experiment.rows_of_lanes(name, replications, layout, reached, arrays)
    except LaneRefused as refused:
        replication = replications[refused.args[0]]
    experiment.replicate(name, replication, slices)
    raise RuntimeError(
        f"engine = 'cuda': replication {replication} of {name!r} was refused on the GPU but plays "
        "on this processor, so their numbers differ; use engine = 'threads'."
    )
