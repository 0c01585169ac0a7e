"""How tuples, arrays and random generators cross between Python and compiled code: by C functions alone.

Numba's own boxers find the class of a tuple or an array, and the functions behind a generator, by running Python. Where Ctrl-C or
another signal is handled just there, they go on with a null pointer and the process crashes. Sessions cross with a handle (`handle.py`);
simulations, `learn`, `evaluate` and `explain` cross with the tuples themselves, thousands of times a second. The functions here
replace Numba's in its registry for the whole process and make the same objects.
"""

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import boxing, cgutils
from numba.core.pythonapi import NativeValue, _boxers, _unboxers
from numba.core.typing.typeof import typeof_impl

if TYPE_CHECKING:
    from numba.core.pythonapi import _BoxContext, _UnboxContext

GENERATOR = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
UNSIGNED = ir.IntType(64)  # an address, as Numba's model of a bit generator holds it


def _constant(c: "_BoxContext", item: object) -> ir.Value:
    """A Python object kept among the constants of the compiled function, also in its cached form (a borrowed reference)."""
    return c.env_manager.read_const(c.env_manager.add_const(item))


def box_array(typ: types.Array, val: ir.Value, c: "_BoxContext") -> ir.Value:
    c.pyapi.serialize_object, c.pyapi.unserialize = lambda item: item, lambda item: _constant(c, item)
    try:
        return boxing.box_array(typ, val, c)
    finally:
        del c.pyapi.serialize_object, c.pyapi.unserialize


def box_named_tuple(typ: "types.NamedTuple | types.NamedUniTuple", val: ir.Value, c: "_BoxContext") -> ir.Value:
    """A named tuple, made as its `_make` does: tuple.__new__(class, values)."""
    values = boxing.box_tuple(typ, val, c)
    boxed = c.pyapi.call_function_objargs(_constant(c, tuple.__new__), (_constant(c, typ.instance_class), values))
    c.pyapi.decref(values)
    return boxed


def unbox_bit_generator(typ: types.NumPyRandomBitGeneratorType, obj: ir.Value, c: "_UnboxContext") -> NativeValue:
    """State and functions of a NumPy bit generator, from the C struct that its capsule holds (numpy/random/bitgen.h)."""
    builder, pyapi = c.builder, c.pyapi
    capsule = pyapi.object_getattr_string(obj, "capsule")
    get = pyapi._get_function(ir.FunctionType(pyapi.voidptr, [pyapi.pyobj, pyapi.cstring]), name="PyCapsule_GetPointer")
    name = c.context.insert_const_string(builder.module, "BitGenerator")
    struct = builder.bitcast(builder.call(get, [capsule, name]), UNSIGNED.as_pointer())
    pyapi.decref(capsule)
    bits = cgutils.create_struct_proxy(typ)(c.context, builder)
    bits.parent = obj
    for place, field in enumerate(("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")):
        setattr(bits, field, builder.load(builder.gep(struct, [ir.IntType(32)(place)])))
    bits.state_address = bits.state
    return NativeValue(bits._getvalue())


_boxers.functions[types.Array] = box_array
_boxers.functions[types.NamedTuple] = _boxers.functions[types.NamedUniTuple] = box_named_tuple
_unboxers.functions[types.NumPyRandomBitGeneratorType] = unbox_bit_generator


@typeof_impl.register(np.random.Generator)
def typeof_generator(value: np.random.Generator, context: object) -> types.Type:
    """The one type of all generators, which Numba makes anew at every call."""
    return GENERATOR
