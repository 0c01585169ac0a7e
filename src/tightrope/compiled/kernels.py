"""The decorators that kernels wear."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import _dispatcher, _dynfunc, types  # type: ignore[attr-defined]
from numba.core import boxing, cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.pythonapi import NativeValue, _boxers, _unboxers
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference
from numba.core.typing.templates import infer, infer_global, make_overload_template
from numba.core.typing.typeof import typeof_impl

from .cache import KernelCache, config

if TYPE_CHECKING:
    from numba.core.compiler import StateDict
    from numba.core.compiler_machinery import PassManager
    from numba.core.pythonapi import _BoxContext, _UnboxContext

# Kernels that only other kernels call: lowered once, then optimised and turned into machine code as
# a part of each caller.


F = TypeVar("F", bound=Callable[..., object])
ENVIRONMENT = (
    "_ZN08NumbaEnv"  # how Numba's names of the objects that a function's code refers to begin
)


class _Part(JITCodeLibrary):
    def _optimize_functions(self, ll_module: "ir.Module") -> None:
        """Only what makes it small: each caller optimises it once more, with its own code
        around."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1)
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    _name = "lower_part"

    def run_pass(self, state: "StateDict") -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        NativeLowering.run_pass(self, state)
        compiled, name = state["cr"], state.func_id.func_name
        stand_in = _dynfunc.make_function(
            compiled.fndesc.lookup_module(),
            name,
            "called by kernels only",
            0,
            compiled.env,
            (state.library,),
        )
        state.targetctx.insert_user_function(stand_in, compiled.fndesc, [state.library])
        state["cr"] = compiled._replace(cfunc=stand_in)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(NativeLowering):
    _name = "lower_whole"

    def run_pass(self, state: "StateDict") -> bool:
        NativeLowering.run_pass(self, state)
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT) and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    state.library.codegen.set_env(variable.name, environment)
        return True


def only_numbers(numba_type: types.Type) -> bool:
    if isinstance(numba_type, types.BaseTuple):
        return all(only_numbers(inner) for inner in iter(cast(Any, numba_type)))
    return isinstance(numba_type, types.Number | types.Boolean | types.NoneType)


@register_pass(mutates_CFG=False, analysis_only=True)
class _RefuseArrays(AnalysisPass):
    """Nobody counts the references that a lean kernel returns."""

    _name = "refuse_arrays"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: "StateDict") -> bool:
        if not only_numbers(state.return_type):
            name = state.func_id.func_name
            raise TypeError(
                f"{name} is lean but returns {state.return_type}, which nobody would count; use "
                "jit."
            )
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _RefuseUncounted(AnalysisPass):
    """A kernel that Python may call, too, is compiled once, with its first caller's way to count
    references. If it returns arrays and its callers count in different ways, memory is freed that
    is in use; `returns_views` compiles such kernels for each way."""

    _name = "refuse_uncounted"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: "StateDict") -> bool:
        if not state.flags.nrt:
            for call, signature in state.calltypes.items():
                called = (
                    state.typemap[call.func.name] if getattr(call, "op", None) == "call" else None
                )
                if isinstance(called, types.Dispatcher) and not only_numbers(signature.return_type):
                    name, inner = state.func_id.func_name, called.dispatcher.py_func.__name__
                    raise TypeError(
                        f"{name} is (part of) a lean kernel but calls {inner}, which returns "
                        f"arrays; decorate {inner} with returns_views."
                    )
        return False


def _with(
    lowering: type[_LowerPart | _LowerWhole],
    checks: tuple[type, ...],
    pipelines: "list[PassManager]",
) -> "list[PassManager]":
    for pipeline in pipelines:
        for check in checks:
            pipeline.add_pass_after(check, NopythonTypeInference)
        for place, (step, _) in enumerate(pipeline.passes):
            if step is NativeLowering:
                pipeline.passes[place] = (lowering, lowering.__doc__ or lowering._name)
        pipeline.finalize()
    return pipelines


class PartCompiler(Compiler):
    """For kernels that are parts of others."""

    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerPart, (_RefuseUncounted,), super().define_pipelines())


class WholeCompiler(Compiler):
    """For kernels that Python calls: they link their parts."""

    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerWhole, (_RefuseUncounted,), super().define_pipelines())


class LeanPartCompiler(Compiler):
    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerPart, (_RefuseUncounted, _RefuseArrays), super().define_pipelines())


class LeanWholeCompiler(Compiler):
    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerWhole, (_RefuseUncounted, _RefuseArrays), super().define_pipelines())


OVERLOADS: list[Any] = []  # (function, choose, inline, strict), to be registered for other targets


def shared_overload(
    function: Callable[..., object],
    options: Mapping[str, object],
    inline: str = "never",
    strict: bool = True,
) -> Callable[[F], F]:
    """Decorator like Numba's `overload`: how compiled code calls `function`, once for all callers
    that give the same types.

    Numba compiles an implementation again for callers with other options, though these say all
    about it but whether references are counted: a tenth to a third of the time to compile a policy.
    options: of the implementations; error_model and forceinline among them.
    strict: whether implementations must name their arguments as `choose` does.
    """

    def decorate(choose: F) -> F:
        target = {"nopython": True, "no_cpython_wrapper": True} | dict(options)
        template = make_overload_template(function, choose, target, strict, inline)
        template._get_impl = _shared
        infer(template)
        infer_global(function, types.Function(template))
        OVERLOADS.append((function, choose, inline, strict))
        return choose

    return decorate


def _shared(
    self: Any, args: Sequence[types.Type], kws: Mapping[str, types.Type]
) -> Callable[..., object] | None:
    """As Numba's own, with no more of the caller's options in the key than its implementation takes
    over."""
    caller = ConfigStack.top_or_none()
    counts = self._jit_options.get("_nrt", caller is None or bool(caller.nrt))
    key = self.context, tuple(args), tuple(kws.items()), counts
    template = self._impl_cache.get(key)
    return self._build_impl(key, args, kws) if template is None else template


# How tuples, arrays and random generators cross between Python and compiled code: by C functions
# alone.


GENERATOR = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
UNSIGNED = ir.IntType(64)  # an address, as Numba's model of a bit generator holds it


def _constant(c: "_BoxContext", item: object) -> ir.Value:
    """A Python object kept among the constants of the compiled function, also in its cached form (a
    borrowed reference)."""
    return c.env_manager.read_const(c.env_manager.add_const(item))


def box_array(typ: types.Array, val: ir.Value, c: "_BoxContext") -> ir.Value:
    c.pyapi.serialize_object, c.pyapi.unserialize = (
        lambda item: item,
        lambda item: _constant(c, item),
    )
    try:
        return boxing.box_array(typ, val, c)
    finally:
        del c.pyapi.serialize_object, c.pyapi.unserialize


def box_named_tuple(
    typ: "types.NamedTuple | types.NamedUniTuple", val: ir.Value, c: "_BoxContext"
) -> ir.Value:
    """A named tuple, made as its `_make` does: tuple.__new__(class, values)."""
    values = boxing.box_tuple(typ, val, c)
    boxed = c.pyapi.call_function_objargs(
        _constant(c, tuple.__new__), (_constant(c, typ.instance_class), values)
    )
    c.pyapi.decref(values)
    return boxed


def unbox_bit_generator(
    typ: types.NumPyRandomBitGeneratorType, obj: ir.Value, c: "_UnboxContext"
) -> NativeValue:
    """State and functions of a NumPy bit generator, from the C struct that its capsule holds
    (numpy/random/bitgen.h)."""
    builder, pyapi = c.builder, c.pyapi
    capsule = pyapi.object_getattr_string(obj, "capsule")
    get = pyapi._get_function(
        ir.FunctionType(pyapi.voidptr, [pyapi.pyobj, pyapi.cstring]), name="PyCapsule_GetPointer"
    )
    name = c.context.insert_const_string(builder.module, "BitGenerator")
    struct = builder.bitcast(builder.call(get, [capsule, name]), UNSIGNED.as_pointer())
    pyapi.decref(capsule)
    bits = cgutils.create_struct_proxy(typ)(c.context, builder)
    bits.parent = obj
    for place, field in enumerate(
        ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
    ):
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


OPTIONS: Any = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}  # nobody calls kernels from C
INTERPRETED = bool(config.DISABLE_JIT)


PART: Any = OPTIONS | {
    "forceinline": True,
    "pipeline_class": PartCompiler,
}  # of what is compiled for its callers only
LEAN: Any = {"_nrt": False, "pipeline_class": LeanPartCompiler}


def fingerprint(arguments: tuple[object, ...]) -> object:
    """The types of arguments, told apart: Numba's own fingerprint, with the places of generators
    and the classes of all tuples. None: ask `typeof` every time."""
    kinds = [type(item) for item in arguments]
    others: Any = [item for item in arguments if type(item) is not np.random.Generator]
    try:
        key = _dispatcher.compute_fingerprint(tuple(others))
    except NotImplementedError:
        return None
    add_classes(kinds, arguments)
    return key, *kinds


def add_classes(kinds: list[type], value: tuple[object, ...]) -> None:
    for item in value:
        if isinstance(item, tuple):
            kinds.append(type(item))
            add_classes(kinds, item)


class Kernel(CPUDispatcher):
    """A compiled function that knows the classes of tuples by what they are.

    Numba's C code knows the class of a NamedTuple by its name alone: two policy classes of one
    name, or one that was edited in a notebook, would be the first of them.
    """

    def __call__(self, *arguments: object, **named: object) -> object:
        if named or len(arguments) < self.py_func.__code__.co_argcount:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        for item in arguments:
            if isinstance(item, tuple):
                break
        else:
            return super().__call__(*arguments)
        key = fingerprint(arguments)
        known = vars(self).setdefault("entries", {})
        entry = known.get(key)
        if entry is None:
            entry = compiled_for(self, tuple(map(self.typeof_pyval, arguments))).entry_point
            if key is not None:
                known[key] = entry
        return entry(*arguments)


def compiled_for(kernel: Any, kinds: tuple[types.Type, ...]) -> Any:
    """The machine code of a kernel for these types, compiled or read from disk at the first call;
    `entry_point` calls it unchecked."""
    if kinds not in kernel.overloads:
        kernel.compile(kinds)
    return kernel.overloads[kinds]


class _LeanKernel(CPUDispatcher):
    """Other kernels call it without a wrapper, whose boxing and unboxing takes a third of the time
    to compile; Python calls `outside`."""

    outside: Callable[..., object]

    def __call__(self, *arguments: object) -> object:
        return self.outside(*arguments)


def lean(function: F) -> F:
    """`jit` for kernels that return numbers or nothing and make no arrays: compiled without
    reference counts, as a part of every caller.

    Counting references to every array of a policy and its state at every call costs 5 ns each,
    which is most of a round of 0.2 us. An array that such a kernel returned would be freed too
    early, so that is refused (TypeError when it is compiled).
    """
    if INTERPRETED:
        return function
    options = OPTIONS | {
        "nopython": True,
        "_nrt": False,
        "no_cpython_wrapper": True,
        "forceinline": True,
    }
    kernel: Any = _LeanKernel(function, targetoptions=options, pipeline_class=LeanPartCompiler)
    kernel.outside = jit(function, _nrt=False, pipeline_class=LeanWholeCompiler)
    return kernel


def returns_views(function: F) -> F:
    """For kernels that return arrays of their arguments and are called by other kernels only,
    whether these count references or not.

    Each kind of caller gets code of its own. Python calls run uncompiled.
    """
    if not INTERPRETED:

        @functools.wraps(function)
        def choose(*arguments: types.Type) -> F:
            return function

        shared_overload(function, PART)(choose)
    return function


def jit(function: F, **more: object) -> F:
    """Compile `function` without the GIL, with C-like division, cached on disk by the sources it is
    made of (see `_cache`)."""
    if INTERPRETED:
        return function
    options = OPTIONS | {"nopython": True} | more
    kernel: Any = Kernel(
        function, targetoptions=options, pipeline_class=options.pop("pipeline_class", WholeCompiler)
    )
    kernel._cache = KernelCache(function)
    return kernel


def python_of(kernel: Any) -> Callable[..., Any]:
    """The plain Python function behind a kernel."""
    return getattr(kernel, "py_func", kernel)


def is_kernel(item: object) -> bool:
    """Whether something is compiled when it is called."""
    return isinstance(item, CPUDispatcher)
