"""Lanes: one loop over many replications, each with its own slice of every array and its own
streams, for a GPU or, to test the same layout without one, for this processor.

A stream is NumPy's PCG64 in six words, from which NumPy's own distributions draw (Numba has them in
Python), so that a lane draws what its replication draws elsewhere, to the bit.
"""

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import extending, njit, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.np.random import distributions, generator_core, random_methods

from .kernels import jit

WORD = np.uint64
WORDS = 6  # state and increment, high word first; whether half a word is left, and which
LOW_HALF, HALF, ONE = WORD(0xFFFFFFFF), WORD(32), WORD(1)
MULTIPLIER_HIGH, MULTIPLIER_LOW = WORD(0x2360ED051FC65DA4), WORD(0x4385DF649FCCF645)


class StreamType(types.Type):
    """A random generator whose words are a slice of an array."""

    def __init__(self) -> None:
        super().__init__("Stream")


STREAM = StreamType()
WORDS_OF_STREAM = types.Array(types.uint64, 1, "A")


@extending.register_jitable
def high_word(a, b):
    """The upper half of a product of two words."""
    low, high = a & LOW_HALF, a >> HALF
    first, second = b & LOW_HALF, b >> HALF
    middle = (low * first >> HALF) + (high * first & LOW_HALF) + low * second
    return high * second + (high * first >> HALF) + (middle >> HALF)


@extending.register_jitable
def next_word(words):
    """One step of PCG64, XSL-RR."""
    high, low = words[0], words[1]
    new_low = low * MULTIPLIER_LOW + words[3]
    new_high = (
        high_word(low, MULTIPLIER_LOW) + high * MULTIPLIER_LOW + low * MULTIPLIER_HIGH + words[2]
    )
    if new_low < words[3]:
        new_high += ONE
    words[0], words[1] = new_high, new_low
    mixed, turn = new_high ^ new_low, new_high >> WORD(58)
    return (mixed >> turn) | (mixed << ((WORD(64) - turn) & WORD(63)))


def next_half(words):
    if words[4] != WORD(0):
        words[4] = WORD(0)
        return np.uint32(words[5])
    word = next_word(words)
    words[4], words[5] = ONE, word >> HALF
    return np.uint32(word & LOW_HALF)


def next_double(words):
    return float(next_word(words) >> WORD(11)) * (1.0 / 9007199254740992.0)


@jit
def seed_streams(words, seeds):
    """Make words (6, n) those of PCG64 seeded with (n, 4) words of a SeedSequence."""
    for i in range(seeds.shape[0]):
        state_high, state_low, high, low = seeds[i]
        words[2, i] = (high << ONE) | (low >> WORD(63))
        words[3, i] = (low << ONE) | ONE
        words[0, i], words[1, i] = words[2, i], words[3, i]  # a step from 0
        words[1, i] += state_low
        words[0, i] += state_high + (ONE if words[1, i] < state_low else WORD(0))
        next_word(words[:, i])


class LaneTarget(Protocol):
    """Where lanes are played."""

    loop: str  # over the lanes of `words`

    def kernel(self, source: str, loop: Any) -> Any:
        """The compiled function `lanes` of a source that calls `loop`."""
        ...

    def send(self, value: Any) -> Any:
        """A nested value with its arrays where kernels read them."""
        ...

    def fetch(self, array: Any) -> np.ndarray: ...

    def launch(self, kernel: Any, lanes: int, *arguments: Any) -> None: ...

    def room(self) -> int:
        """Free bytes."""
        ...


class Backend:
    """What targets share: how functions of Numba and of this file are said to a compiler.

    device: the compiled form of a Python function that kernels call. compiled: the kernel of a
    function that takes lanes, of a source and its loop.
    """

    def __init__(
        self,
        extending: Any,
        models: Any,
        cgutils: Any,
        device: Callable[..., Any],
        compiled: Callable[[Callable[..., Any], str, Any], Any],
    ):
        self.kernels: dict[tuple[str, Any], Any] = {}
        self.compiled = compiled

        @extending.register_model(StreamType)
        class _Stream(models.StructModel):
            def __init__(self, manager, kind):
                super().__init__(manager, kind, [("words", WORDS_OF_STREAM)])

        extending.make_attribute_wrapper(StreamType, "words", "words")

        @extending.intrinsic
        def stream_of(context, words):
            def lower(context, builder, signature, values):
                made = cgutils.create_struct_proxy(STREAM)(context, builder)
                made.words = values[0]
                if context.enable_nrt:
                    context.nrt.incref(builder, signature.args[0], values[0])
                return made._getvalue()

            return STREAM(words), lower

        @extending.intrinsic
        def like(context, example, values):
            kinds, cls = tuple(values), example.instance_class
            made = (
                types.NamedUniTuple(kinds[0], len(kinds), cls)
                if len(set(kinds)) == 1
                else types.NamedTuple(kinds, cls)
            )

            def lower(context, builder, signature, values):
                if context.enable_nrt:
                    context.nrt.incref(builder, signature.return_type, values[1])
                return values[1]

            return made(example, values), lower

        self.names = {"stream_of": stream_of, "like": like}
        draws = {
            generator_core.next_uint64: next_word,
            generator_core.next_uint32: next_half,
            generator_core.next_double: next_double,
        }
        for stub, of_words in draws.items():
            extending.overload(stub)(self._from_words(device(of_words)))
        for name, method in METHODS.items():
            extending.overload_method(StreamType, name)(method(device))

    def kernel(self, source: str, loop: Any) -> Any:
        """The compiled function `lanes` of a source that calls `loop`."""
        if (source, loop) not in self.kernels:
            scope = self.names | {"loop": loop}
            exec(source, scope)
            self.kernels[source, loop] = self.compiled(scope["lanes"], source, loop)
        return self.kernels[source, loop]

    @staticmethod
    def _from_words(of_words: Any) -> Any:
        def choose(bitgen):
            if isinstance(bitgen, StreamType):
                return lambda bitgen: of_words(bitgen.words)
            return None

        return choose


def _plain(function: Any) -> Callable[..., Any]:
    def method(device: Callable[..., Any]) -> Any:
        draw = device(function)
        return lambda self: lambda self: draw(self)

    return method


def _beta(device):
    draw = device(distributions.random_beta)
    return lambda self, a, b: lambda self, a, b: draw(self, a, b)


def _geometric(device):
    draw = device(distributions.random_geometric)
    return lambda self, p: lambda self, p: np.int64(draw(self, p))


def _integers(device):
    draw = device(random_methods.buffered_bounded_lemire_uint32)

    def choose(self, low, high):
        def integers(self, low, high):
            if high - low == 1:
                return np.int64(low)
            return np.int64(low) + np.int64(draw(self, np.uint32(high - low - 1)))

        return integers

    return choose


METHODS: dict[str, Callable[..., Any]] = {
    "random": lambda device: lambda self: lambda self: generator_core.next_double(self),
    "standard_normal": _plain(distributions.random_standard_normal),
    "standard_exponential": _plain(distributions.random_standard_exponential),
    "beta": _beta,
    "geometric": _geometric,
    "integers": _integers,
}


class Processor(Backend):
    """This processor, one lane after the other: what tests compare with."""

    loop = "range(words.shape[2])"

    def __init__(self) -> None:
        device = njit(error_model="numpy", nogil=True)
        super().__init__(
            extending, models, cgutils, device, lambda function, source, loop: device(function)
        )

    def send(self, value: Any) -> Any:
        return value

    def fetch(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def launch(self, kernel: Any, lanes: int, *arguments: Any) -> None:
        kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))
        with contextlib.suppress(Exception):  # as on a GPU, where nobody hears of it
            kernel(*arguments)

    def room(self) -> int:
        return 2**62
