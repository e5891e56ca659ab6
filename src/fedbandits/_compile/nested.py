"""Nested kernels: kernels get machine code of their own only when Python calls them.

Numba optimises every function that it compiles, makes machine code of it, and a wrapper for Python.
A kernel that other kernels call needs none of that: its code is linked into theirs, and optimised
there. A kernel that Python calls later gets machine code at the first such call. ``thrift`` saves
further work of Numba's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding as _binding
from numba.core import compiler as _compiler
from numba.core import compiler_lock as _compiler_lock
from numba.core import compiler_machinery as _machinery
from numba.core import sigutils as _sigutils
from numba.core import targetconfig as _targetconfig
from numba.core import typed_passes as _typed_passes

from fedbandits._compile.references import ReferringLower
from fedbandits._compile.thrift import is_of_use, remembered_signatures

# Numba's type annotations of these names differ between versions.
numba_compiler: Any = _compiler
lock: Any = _compiler_lock.global_compiler_lock
machinery: Any = _machinery
sigutils: Any = _sigutils
targetconfig: Any = _targetconfig
typed_passes: Any = _typed_passes
llvm: Any = _binding

#: Whether this thread compiles a callee of compiled code.
_now = threading.local()


class NotForPython:
    """A placeholder for the function that Python would call."""

    __slots__ = ("__weakref__",)


@contextmanager
def _compiling(nested: bool) -> Iterator[None]:
    before, _now.nested = getattr(_now, "nested", False), nested
    try:
        yield
    finally:
        _now.nested = before


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """Lowers to LLVM; machine code and wrapper are made only for kernels that Python calls."""

    _name = "lowering_of_kernels"

    @property
    def lowering_class(self) -> Any:
        return ReferringLower

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
            state.library.enable_object_caching()
            optimised_once(state.library)
        if not getattr(_now, "nested", False):
            return bool(super().run_pass(state))
        state.flags.no_cpython_wrapper = state.flags.no_compile = True
        super().run_pass(state)
        without_machine_code(state.library)
        entry = NotForPython()
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [state.library])
        # Before 0.62 Numba keeps of libraries nothing that must be initialised anew.
        state.reload_init.extend(getattr(state.library, "_reload_init", ()))
        state["cr"] = state["cr"]._replace(cfunc=entry)
        return True


class KernelCompiler(numba_compiler.CompilerBase):  # type: ignore[misc]
    """Numba's pipeline with this package's lowering."""

    def define_pipelines(self) -> list[Any]:
        usual = numba_compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = machinery.PassManager("kernel")
        for step, description in filter(is_of_use, usual.passes):
            ours.add_pass(_Lowering if step is typed_passes.NativeLowering else step, description)
        ours.finalize()
        return [ours]


def optimised_once(library: Any) -> None:
    """Let a library be optimised once, with all that it calls.

    Numba optimises the functions of every library one by one, then the whole twice. For a nested
    library optimising the functions is enough: callers inline only small functions. For a library
    with machine code optimising the whole is enough. So compiling takes a fifth less, and loops
    over agents are 3 to 8% faster. Where P-FCB exchanges in every round it is 5% slower.
    """

    def optimise() -> None:
        managers = library.codegen._module_pass_manager()
        several = isinstance(managers, tuple)  # not before 0.62
        passes, *builder = managers if several else (managers,)
        passes.run(library._final_module, *builder)

    def lay_out(module: Any) -> None:
        module.data_layout = library.codegen._data_layout

    if not getattr(_now, "nested", False):
        library._optimize_functions = lay_out
    library._optimize_final_module = optimise


def without_machine_code(library: Any) -> None:
    """Leave a library as lowered: it is optimised in the library that links it."""

    def finish() -> None:
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        library._finalized = True

    library._optimize_final_module = lambda: None
    library._finalize_final_module = finish


def is_for_python(compiled: Any) -> bool:
    """Tell whether Python can call a compilation."""
    return not isinstance(compiled.entry_point, NotForPython)


def reduced(compiled: Any) -> tuple[Any, ...]:
    """Reduce a compilation to its kept parts; a nested compilation has no machine code."""
    library = compiled.library
    library._ensure_finalized()
    module, described = library._get_module_for_linking(), compiled.fndesc
    bitcode, code, symbols = module.as_bitcode(), None, []
    if is_for_python(compiled):
        code = library._get_compiled_object()
        symbols_of_module = (*module.functions, *module.global_variables)
        symbols = [thing.name for thing in symbols_of_module if not thing.is_declaration]
        library._shared_module = None  # a copy, which is parsed again for linking
    described.typemap = described.calltypes = None  # as Numba does; some cannot be pickled
    return (
        library.name, code, symbols, bitcode, described, compiled.environment,
        compiled.signature, compiled.reload_init, tuple(compiled._find_referenced_environments()),
    )  # fmt: skip


def rebuilt(context: Any, kept: tuple[Any, ...]) -> Any:
    """Restore a compilation from its kept parts."""
    name, code, symbols, bitcode, described, environment, signature, reload_init, known = kept
    for initialise in reload_init:
        initialise()
    library = context.codegen().create_library(name)
    library.enable_object_caching()
    parsed_when_linked(library, bitcode)
    entry: Any = NotForPython()
    if code is None:
        without_machine_code(library)
        library._finalize_final_module()
    else:
        library._set_compiled_object(code)
        library._finalize_final_module()
        library.codegen._engine._defined_symbols.update(symbols)
        entry = context.get_executable(library, described, environment)
        for known_environment in known:
            library.codegen.set_env(known_environment.env_name, known_environment)
    return numba_compiler.CompileResult(
        target_context=context, typing_context=context.typing_context, library=library,
        environment=environment, entry_point=entry, fndesc=described, type_annotation=None,
        signature=signature, objectmode=False, lifted=(), typing_error=None, call_helper=None,
        metadata=None, reload_init=reload_init, referenced_envs=known,
    )  # fmt: skip


def parsed_when_linked(library: Any, bitcode: bytes) -> None:
    """Let the code of a library be parsed when it is first linked into another.

    Kernels that Python calls seldom are linked. Parsed code of a loop takes a hundred times the
    room.
    """

    def parse() -> Any:
        if library._shared_module is None:
            library._shared_module = llvm.parse_bitcode(bitcode)
        return library._shared_module

    library._get_module_for_linking = parse


def make_known(compiled: Any) -> None:
    """Give machine code the environments of all kernels that are linked into it."""
    for environment in compiled._find_referenced_environments():
        compiled.library.codegen.set_env(environment.env_name, environment)


class TwoWays:
    """Two ways in which Numba's dispatcher of a kernel compiles: for compiled code or Python."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._whole, self._add = dispatcher.compile, dispatcher.add_overload
        self._choose = dispatcher.get_call_template
        dispatcher.compile, dispatcher.add_overload = self._compile, self._add_overload
        dispatcher.get_call_template = self._nested

    def _nested(self, arguments: Any, named: Any) -> Any:
        """Choose a compilation for a call in compiled code."""
        _now.asked = True  # the next compilation is for compiled code
        try:
            return self._choose(arguments, named)
        finally:
            _now.asked = False

    def _compile(self, signature: Any) -> Any:
        nested, _now.asked = getattr(_now, "asked", False), False
        with lock, _compiling(nested), remembered_signatures():
            entry = self._whole(signature)
            if nested:
                return entry
            arguments, _ = sigutils.normalize_signature(signature)
            compiled = self._dispatcher.overloads[tuple(arguments)]
            if isinstance(entry, NotForPython):
                return self._for_python(signature, compiled)
            make_known(compiled)
            return entry

    def _add_overload(self, compiled: Any) -> None:
        if is_for_python(compiled):
            self._add(compiled)
        else:
            self._dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    def _for_python(self, signature: Any, compiled: Any) -> Any:
        """Give a compilation its machine code, and its wrapper for Python."""
        dispatcher, flags = self._dispatcher, numba_compiler.Flags()
        dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
        context = numba_compiler._make_subtarget(dispatcher.targetctx, flags)
        library = context.codegen().create_library(f"{compiled.library.name} from Python")
        library.enable_object_caching()
        optimised_once(library)
        with targetconfig.ConfigStack().enter(flags), context.push_code_library(library):
            context.create_cpython_wrapper(
                library, compiled.fndesc, compiled.environment, None, release_gil=flags.release_gil
            )
        library.add_linking_library(compiled.library)
        entry = context.get_executable(library, compiled.fndesc, compiled.environment)
        whole = compiled._replace(library=library, entry_point=entry)
        make_known(whole)
        dispatcher.targetctx.insert_user_function(entry, compiled.fndesc, [compiled.library])
        self._add(whole)
        dispatcher._cache.save_again(signature, whole)
        return entry
