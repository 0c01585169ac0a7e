"""Kernels that only other kernels call: lowered once, then optimised and turned into machine code as a part of each caller.

Numba would optimise and emit each of them by itself as well, and wrap it for Python, again at every level of a chain of calls: two
thirds of the time to compile a policy. A caller holds all its parts before it is optimised, so its code is as good.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference
from numba.core.typing.templates import infer, infer_global, make_overload_template

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.compiler import StateDict
    from numba.core.compiler_machinery import PassManager

F = TypeVar("F", bound=Callable[..., object])
ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba's names of the objects that a function's code refers to begin


class _Part(JITCodeLibrary):
    """Code that is there to be linked."""

    def _optimize_functions(self, ll_module: "ir.Module") -> None:
        """Only what makes it small: each caller optimises it once more, with its own code around."""
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

    def __init__(self) -> None:
        NativeLowering.__init__(self)

    def run_pass(self, state: "StateDict") -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        NativeLowering.run_pass(self, state)
        compiled, name = state["cr"], state.func_id.func_name
        stand_in = _dynfunc.make_function(
            compiled.fndesc.lookup_module(), name, "called by kernels only", 0, compiled.env, (state.library,)
        )
        state.targetctx.insert_user_function(stand_in, compiled.fndesc, [state.library])
        state["cr"] = compiled._replace(cfunc=stand_in)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(NativeLowering):
    _name = "lower_whole"

    def __init__(self) -> None:
        NativeLowering.__init__(self)

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
            raise TypeError(f"{name} is lean but returns {state.return_type}, which nobody would count; use jit.")
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _RefuseUncounted(AnalysisPass):
    """A kernel that Python may call, too, is compiled once, with its first caller's way to count references. If it returns arrays and its
    callers count in different ways, memory is freed that is in use; `returns_views` compiles such kernels for each way."""

    _name = "refuse_uncounted"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: "StateDict") -> bool:
        if not state.flags.nrt:
            for call, signature in state.calltypes.items():
                called = state.typemap[call.func.name] if getattr(call, "op", None) == "call" else None
                if isinstance(called, types.Dispatcher) and not only_numbers(signature.return_type):
                    name, inner = state.func_id.func_name, called.dispatcher.py_func.__name__
                    raise TypeError(
                        f"{name} is (part of) a lean kernel but calls {inner}, which returns arrays; decorate {inner} with returns_views."
                    )
        return False


def _with(lowering: type[_LowerPart | _LowerWhole], checks: tuple[type, ...], pipelines: "list[PassManager]") -> "list[PassManager]":
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
    """For lean kernels, as parts of others."""

    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerPart, (_RefuseUncounted, _RefuseArrays), super().define_pipelines())


class LeanWholeCompiler(Compiler):
    """For lean kernels that Python calls."""

    def define_pipelines(self) -> "list[PassManager]":
        return _with(_LowerWhole, (_RefuseUncounted, _RefuseArrays), super().define_pipelines())


def shared_overload(
    function: Callable[..., object], options: Mapping[str, object], inline: str = "never", strict: bool = True
) -> Callable[[F], F]:
    """Decorator like Numba's `overload`: how compiled code calls `function`, once for all callers that give the same types.

    Numba compiles an implementation again for callers with other options, though these say all about it but whether references are
    counted: a tenth to a third of the time to compile a policy. options: of the implementations; error_model and forceinline among them.
    strict: whether implementations must name their arguments as `choose` does.
    """

    def decorate(choose: F) -> F:
        target = {"nopython": True, "no_cpython_wrapper": True} | dict(options)
        template = make_overload_template(function, choose, target, strict, inline)
        template._get_impl = _shared
        infer(template)
        infer_global(function, types.Function(template))
        return choose

    return decorate


def _shared(self: Any, args: Sequence[types.Type], kws: Mapping[str, types.Type]) -> Callable[..., object] | None:
    """As Numba's own, with no more of the caller's options in the key than its implementation takes over."""
    caller = ConfigStack.top_or_none()
    counts = self._jit_options.get("_nrt", caller is None or bool(caller.nrt))
    key = self.context, tuple(args), tuple(kws.items()), counts
    template = self._impl_cache.get(key)
    return self._build_impl(key, args, kws) if template is None else template
