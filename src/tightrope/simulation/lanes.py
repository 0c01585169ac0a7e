"""Replications in lanes: one compiled loop over many of them, in which every array of a run has the
lane as its last axis, so that neighbouring lanes read neighbouring words.

What all lanes share, as the policy, is there once; what a lane writes, and what differs between
problems, has a slice for each. A kernel is written for the layout, in which lane i's named tuples
are made of its slices, and calls the loop that replications play elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..compiled.kernels import jit
from ..compiled.lanes import WORDS, Backend, seed_streams
from ..core.policy import Policy, Problem, compiled
from ..core.streams import DELAY, NOISE, POLICY, PROBLEM, seed_words
from .loops import PendingSets, Slices, until_stop
from .monitors import foreign_within, is_foreign

ROOM = 0.8  # of what is free, for lanes
ROLES = (PROBLEM, NOISE, POLICY, DELAY)
Written: TypeAlias = bool | Callable[[str], bool]


class Layout:
    """Where the parts of a run lie.

    shared: arguments that all lanes read. arrays: of lanes, for one replication of every problem,
    which is their last axis. parts: expressions for lane i's.
    """

    def __init__(self, runs: Sequence[tuple[Any, ...]], written: Sequence[Written]) -> None:
        """runs: the same parts of a replication of every problem. written: which of them, or of
        their fields, a lane writes into."""
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

    def source(self, target: Backend) -> str:
        """Of the function that plays rounds first .. last - 1 of every lane by `loop`."""
        arguments = [f"p{k}" for k in range(len(self.shared))]
        arguments += [f"a{k}" for k in range(len(self.arrays))]
        streams = ", ".join(f"stream_of(words[:, {k}, i])" for k in range(len(ROLES)))
        return (
            f"def lanes(first, last, words, {', '.join(arguments)}):\n"
            f"    for i in {target.loop}:\n"
            f"        loop({', '.join(self.parts)}, first, last, {streams})\n"
        )

    def part(self, k: int, arrays: Sequence[np.ndarray]) -> Any:
        """Part k of all lanes, the lane as the last axis of its arrays."""
        scope = {f"p{k}": self.shared[k], "i": slice(None), "like": lambda of, made: of._make(made)}
        scope |= {f"a{j}": array for j, array in enumerate(arrays)}
        return eval(self.parts[k], scope)


def check_lanes(policy: Policy, problem: Problem, pending: object) -> None:
    """Refuse what cannot play in lanes: rounds in Python, and classes whose choices are checked as
    they are made, which nobody would hear of."""
    fit = compiled(policy), getattr(type(problem), "COMPILED", True)
    foreign = foreign_within(policy) is not None, is_foreign(problem)
    for item, compiles, outside in zip((policy, problem), fit, foreign, strict=True):
        if not compiles or outside or isinstance(pending, PendingSets):
            reason = "comes from outside" if compiles and outside else "plays rounds in Python"
            raise ValueError(
                "engine = 'cuda' plays compiled policies and problems of this library, but "
                f"{type(item).__name__} {reason}; use engine = 'threads' or 'processes'."
            )


def lane_words(seed: int, replications: range) -> np.ndarray:
    """The streams of replications, (6, roles, lanes)."""
    words = np.zeros((WORDS, len(ROLES), len(replications)), dtype=np.uint64)
    for k, role in enumerate(ROLES):
        seeds = np.array([seed_words(seed, r, role) for r in replications])
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


@jit
def until_stop_in_lane(  # type: ignore[no-untyped-def]
    policy,
    state,
    problem,
    log,
    may_stop,
    played,
    first,
    last,
    problem_rng,
    noise_rng,
    policy_rng,
    delay_rng,
):
    if played[0] == first:
        played[0] = until_stop(
            policy, state, problem, log, first, last, may_stop, problem_rng, noise_rng, policy_rng
        )[1]


def play_lanes(
    layout: Layout,
    loop: Callable[..., Any],
    target: Backend,
    seed: int,
    replications: range,
    rounds: int,
    slices: Slices,
) -> list[np.ndarray]:
    """The arrays of lanes after all rounds. Replication r plays the layout's problem r modulo their
    number. As many lanes are played at once as the target has room for."""
    problems = layout.arrays[0].shape[-1]
    each = sum(array.nbytes for array in layout.arrays) // problems + 8 * WORDS * len(ROLES)
    most = int(ROOM * target.room()) // each
    if most < 1:
        raise ValueError(
            f"engine = 'cuda': a replication takes {each / 2**20:,.0f} MiB, more than the GPU has "
            "free; use engine = 'threads'."
        )
    kernel, shared = target.kernel(layout.source(target), loop), target.send_all(layout.shared)
    stops = loop is until_stop_in_lane  # whose last array says how far each lane came
    played = []
    for begin in range(0, len(replications), most):
        part = replications[begin : begin + most]
        chosen = np.arange(part.start, part.stop) % problems
        arrays = [target.send(np.ascontiguousarray(array[..., chosen])) for array in layout.arrays]
        words = target.send(lane_words(seed, part))

        def play(
            first: int, last: int, arrays: Any = arrays, words: Any = words, n: int = len(part)
        ) -> int:
            target.launch(kernel, n, first, last, words, *shared, *arrays)
            return int(target.fetch(arrays[-1]).max()) if stops else last

        def advance(done: int, n: int = len(part)) -> None:
            slices.advance(done * n)

        Slices(slices.stopping, advance).run(play, rounds)
        played.append([target.fetch(array) for array in arrays])
    return [np.concatenate(parts, axis=-1) for parts in zip(*played, strict=True)]
