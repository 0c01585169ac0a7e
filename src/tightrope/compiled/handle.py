"""A handle: one pointer to a policy, its state and its random stream, which live in compiled code
between calls.

A call that takes a NamedTuple of arrays across the border from Python asks for the type of every
array, wraps each one and, on the way back, makes new tuples: more work than a decision. A handle
crosses as one pointer, and its type is known when it is made. What Python wants to see of the state
it asks for (`Handle.state`).

No Python runs while a handle or a number crosses, so a signal's exception cannot come in the
middle.
"""

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.pythonapi import NativeValue
from numba.experimental import structref
from numba.extending import box, intrinsic, overload, unbox
from numba.np.numpy_support import as_dtype

from .kernels import GENERATOR, compiled_for, jit

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.pythonapi import _BoxContext, _UnboxContext
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

    Intrinsic: TypeAlias = tuple[
        Signature, Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]
    ]

WORDS = types.Array(types.uint64, 1, "C")
NUMBERED = types.Array(types.int64, 1, "C")
# of a context's fields
KINDS = (
    types.Array(types.float64, 2, "C"),
    types.Array(types.boolean, 1, "C"),
    types.int64,
    types.float64,
    types.int64,
)
new: Any = structref.new  # a struct whose fields are empty
NUMBERS = (types.Integer, types.Float, types.Boolean)


@structref.register
class HandleType(types.StructRef):
    """Of a handle: the fields of `_made`."""

    @property
    def key(self) -> object:
        """The types of the fields, which know a policy's class; the name has only the class's name.
        Equal keys are one type."""
        return self._fields

    def __hash__(self) -> int:  # of a policy's and its state's types: 60 us, so once
        known = vars(self).get("hash")
        if known is None:
            known = self.hash = hash(self._fields)
        return int(known)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, HandleType) and self._fields == other._fields)

    def __getstate__(self) -> dict[str, object]:
        return {
            name: value for name, value in vars(self).items() if name != "hash"
        }  # another process hashes text otherwise


@box(HandleType)
def _box_handle(typ: HandleType, value: ir.Value, c: "_BoxContext") -> ir.Value:
    """In Python a handle is the object that counts its references, and nothing else."""
    meminfo = cgutils.create_struct_proxy(typ)(c.context, c.builder, value=value).meminfo
    return c.box(types.MemInfoPointer(types.voidptr), meminfo)


@unbox(HandleType)
def _unbox_handle(typ: HandleType, obj: ir.Value, c: "_UnboxContext") -> NativeValue:
    crossed = c.unbox(types.MemInfoPointer(types.voidptr), obj)
    handle = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    handle.meminfo = crossed.value
    return NativeValue(handle._getvalue(), is_error=crossed.is_error)


@intrinsic
def _generator(
    typing: "Context", state: types.Type, uint64: types.Type, uint32: types.Type, double: types.Type
) -> "Intrinsic":
    """The generator whose state and functions are at these addresses; its owner keeps it alive."""

    def codegen(
        context: "BaseContext",
        builder: ir.IRBuilder,
        signature: "Signature",
        args: Sequence[ir.Value],
    ) -> ir.Value:
        bits = cgutils.create_struct_proxy(
            types.NumPyRandomBitGeneratorType("NumPyRandomBitGeneratorType")
        )(context, builder)
        bits.state_address = bits.state = args[0]
        bits.fnptr_next_uint64, bits.fnptr_next_uint32, bits.fnptr_next_double = args[1:]
        generator = cgutils.create_struct_proxy(GENERATOR)(context, builder)
        generator.bit_generator = bits._getvalue()
        return generator._getvalue()

    return GENERATOR(types.uintp, types.uintp, types.uintp, types.uintp), codegen


def _make_handle(
    policy: object,
    state: object,
    rng: object,
    place: object,
    half: object,
    before: object,
    tally: object,
) -> object:
    raise TypeError("handles are made by compiled code")


@overload(_make_handle)
def _overload_make_handle(
    policy: object,
    state: object,
    rng: object,
    place: object,
    half: object,
    before: object,
    tally: object,
) -> object:
    kinds = {
        "policy": policy,
        "state": state,
        "rng": rng,
        "place": place,
        "half": half,
        "before": before,
        "tally": tally,
    }
    kind = HandleType(list(kinds.items()))

    def make(
        policy: object,
        state: object,
        rng: object,
        place: object,
        half: object,
        before: object,
        tally: object,
    ) -> object:
        handle = new(kind)
        handle.policy, handle.state, handle.rng, handle.place, handle.half = (
            policy,
            state,
            rng,
            place,
            half,
        )
        handle.before, handle.tally = before, tally
        return handle

    return make


@jit
def _open(  # type: ignore[no-untyped-def]
    policy, state, place, half, before, tally, address, uint64, uint32, double
):
    return _make_handle(
        policy, state, _generator(address, uint64, uint32, double), place, half, before, tally
    )


@intrinsic
def _write(typing: "Context", state: types.Type, out: types.Type) -> "Intrinsic":
    """Writes every number of a state, and the address, sizes and strides of every array, one after
    the other as 64 bits."""

    def codegen(
        context: "BaseContext",
        builder: ir.IRBuilder,
        signature: "Signature",
        args: Sequence[ir.Value],
    ) -> ir.Value:
        target = cgutils.create_struct_proxy(WORDS)(context, builder, value=args[1]).data
        word, place = ir.IntType(64), 0

        def store(value: ir.Value) -> None:
            nonlocal place
            builder.store(value, builder.gep(target, [ir.IntType(64)(place)]))
            place += 1

        def walk(kind: types.Type, value: ir.Value) -> None:
            if isinstance(kind, types.BaseTuple):
                for k, inner in enumerate(cast(Any, kind)):
                    walk(inner, builder.extract_value(value, k))
            elif isinstance(kind, types.Array):
                array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
                store(builder.ptrtoint(array.data, word))
                for sizes in (array.shape, array.strides):
                    for k in range(kind.ndim):
                        store(builder.extract_value(sizes, k))
            elif isinstance(kind, types.Float):
                store(builder.bitcast(context.cast(builder, value, kind, types.float64), word))
            elif isinstance(kind, NUMBERS):
                store(context.cast(builder, value, kind, types.int64))

        walk(signature.args[0], args[0])
        return context.get_dummy_value()

    return types.none(state, out), codegen


@jit
def _read(handle, out):  # type: ignore[no-untyped-def]
    _write(handle.state, out)


def _kinds(kind: types.Type) -> Iterator[types.Type]:
    if isinstance(kind, types.BaseTuple):
        for inner in cast(Any, kind):
            yield from _kinds(inner)
    else:
        yield kind


def can_be_held(state: Iterable[object]) -> bool:
    """Whether a handle can hold a state: a tuple of numbers, arrays, None and such tuples. Arrays
    that run backwards are not held."""
    plain_kinds = all(
        isinstance(kind, (*NUMBERS, types.NoneType, types.Array)) for kind in _kinds(typeof(state))
    )
    return plain_kinds and all(min(array.strides, default=0) >= 0 for array in _arrays(state))


def _arrays(state: Iterable[object]) -> Iterator[np.ndarray]:
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


class Stream:
    """A random stream of PCG64 that can go back to where the last proposal found it.

    Python and compiled code draw from it alike. `place` and `half` are views of all in the
    generator that a draw changes: its memory is that of NumPy's `pcg64_state`, a pointer to the
    place, followed by the half of a number that waits. ValueError for another generator.
    """

    __slots__ = ("before", "half", "place", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        if type(rng.bit_generator) not in (np.random.PCG64, np.random.PCG64DXSM):
            raise ValueError(
                f"rng draws from {type(rng.bit_generator).__name__}, but the memory of PCG64 and "
                "PCG64DXSM alone is known."
            )
        address = cast(Any, rng.bit_generator).ctypes.state_address
        place = (ctypes.c_uint64 * 2).from_address(ctypes.c_uint64.from_address(address).value)
        half = (ctypes.c_uint64 * 1).from_address(address + ctypes.sizeof(ctypes.c_void_p))
        self.rng, self.place, self.half = (
            rng,
            np.ctypeslib.as_array(place),
            np.ctypeslib.as_array(half),
        )
        self.before = np.zeros(3, dtype=np.uint64)

    def mark(self) -> None:
        self.before[:2], self.before[2] = self.place, self.half[0]

    def rewind(self) -> None:
        self.place[:], self.half[0] = self.before[:2], self.before[2]

    def moved(self) -> bool:
        return bool((self.place != self.before[:2]).any() or self.half[0] != self.before[2])


class Handle:
    """A policy, its state and a random stream in compiled code.

    policy, state: NamedTuples of numbers, arrays and such tuples. tally: (6,) int64, which kernels
    count in, see `session.agent`.
    """

    __slots__ = (
        "_arrays",
        "_last",
        "_out",
        "_read",
        "_state_type",
        "_stream",
        "_words",
        "pointer",
        "type",
    )

    def __init__(
        self, policy: Iterable[object], state: Iterable[object], stream: Stream, tally: np.ndarray
    ) -> None:
        self._stream = stream  # keeps the addresses valid
        bits = stream.rng.bit_generator
        interface = bits.ctypes
        functions = [
            ctypes.cast(getattr(interface, name), ctypes.c_void_p).value
            for name in ("next_uint64", "next_uint32", "next_double")
        ]
        parts = (
            policy,
            state,
            stream.place,
            stream.half,
            stream.before,
            tally,
            interface.state_address,
            *functions,
        )
        kinds = (typeof(policy), typeof(state), WORDS, WORDS, WORDS, NUMBERED, *(types.uintp,) * 4)
        opening = compiled_for(_open, kinds)
        self.pointer: object = opening.entry_point(*parts)
        self.type = opening.signature.return_type
        self._read: Callable[[object, np.ndarray], None] | None = (
            None  # compiled when the state is first asked for
        )
        self._state_type = kinds[1]
        self._arrays = {array.ctypes.data: array for array in _arrays(state)}
        size = sum(
            1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1 for kind in _kinds(kinds[1])
        )
        self._out, self._words = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
        self._last: object = None  # the state of _words

    @property
    def state(self) -> Any:
        """The state as Python sees it. Arrays that were there from the start are the very ones that
        kernels write into, others copies."""
        if self._read is None:
            self._read = compiled_for(_read, (self.type, WORDS)).entry_point
        self._read(self.pointer, self._out)
        if (
            self._last is not None and (self._out == self._words).all()
        ):  # the same numbers and the same arrays
            return self._last
        state = _python(self._state_type, iter(self._out.tolist()), self._arrays)
        if all(array.ctypes.data in self._arrays for array in _arrays(state)):
            self._words[:], self._last = self._out, state
        return state


def _python(kind: types.Type, words: Iterator[int], known: Mapping[int, np.ndarray]) -> Any:
    """The value that `_write` wrote. known: arrays of Python by their addresses."""
    if isinstance(kind, types.BaseTuple):
        values = [_python(inner, words, known) for inner in cast(Any, kind)]
        return kind.instance_class(*values) if hasattr(kind, "instance_class") else tuple(values)
    if isinstance(kind, types.NoneType):
        return None
    word = next(words)
    if isinstance(kind, types.Float):
        return struct.unpack("d", struct.pack("Q", word))[0]
    if not isinstance(kind, types.Array):
        return (bool if isinstance(kind, types.Boolean) else int)(
            struct.unpack("q", struct.pack("Q", word))[0]
        )
    shape, strides = (tuple(next(words) for _ in range(kind.ndim)) for _ in range(2))
    array = known.get(word)
    if array is not None and (array.shape, array.strides) == (shape, strides):
        return array
    dtype = as_dtype(kind.dtype)
    size = (
        sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + dtype.itemsize
        if all(shape)
        else 0
    )
    memory: Any = (ctypes.c_char * size).from_address(word) if size else bytearray()
    return np.ndarray(shape, dtype, memory, strides=strides).copy()
