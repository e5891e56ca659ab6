"""Numbers side by side in one register, for compiled code.

Otherwise the compiler chooses whether a loop over arms runs side by side, and the rest at its end
runs number by number. Here the code states it. Every number goes through the same operations in the
same order, so results do not depend on the processor: with narrower registers, the compiler takes
several.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, imputils
from numba.core.typing import templates
from numba.extending import intrinsic, models, register_model

from fedbandits._compile.shared import LANES

# Numba's type annotations of these names differ between versions.
types: Any = numba.types
_cgutils: Any = cgutils
_imputils: Any = imputils
_models: Any = models
_templates: Any = templates


class Lanes(types.Type):  # type: ignore[misc]
    """Lanes: ``LANES`` numbers of one type, side by side."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(_models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        element = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, LANES))


def _common(arguments: tuple[Any, ...]) -> Any:
    """Return the common type of lanes of all arguments, or None; numbers count for each lane."""
    kinds = {argument for argument in arguments if isinstance(argument, Lanes)}
    others = [argument for argument in arguments if not isinstance(argument, Lanes | types.Number)]
    return kinds.pop() if len(kinds) == 1 and not others else None


def _extend(function: Any, operands: int, generate: Callable[..., Any]) -> None:
    """Let a function of Python's take lanes, and numbers beside lanes."""

    @_templates.infer_global(function)
    class _Template(_templates.AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            kind = _common(args) if len(args) == operands else None
            return None if kind is None else _templates.signature(kind, *[kind] * operands)

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return generate(builder, *arguments)

    _imputils.lower_builtin(function, *[Lanes] * operands)(lower)


def _by_kind(real: str, whole: str) -> Callable[..., Any]:
    """Return a builder for one instruction of LLVM's on floats, and another on integers."""

    def generate(builder: Any, *arguments: Any) -> Any:
        floats = isinstance(arguments[0].type.element, ir.FloatType | ir.DoubleType)
        return getattr(builder, real if floats else whole)(*arguments)

    return generate


def _by_name(name: str) -> Callable[..., Any]:
    """Return a builder for a function of LLVM's on lanes of floats."""

    def generate(builder: Any, *arguments: Any) -> Any:
        kind = arguments[0].type
        bits = 64 if isinstance(kind.element, ir.DoubleType) else 32
        whole = ir.FunctionType(kind, [kind] * len(arguments))
        spelled = f"llvm.{name}.v{LANES}f{bits}"
        known = _cgutils.get_or_insert_function(builder.module, whole, spelled)
        return builder.call(known, arguments)

    return generate


def _larger(builder: Any, a: Any, b: Any) -> Any:
    """Choose the larger as Numba does for two numbers: ``a`` if one is NaN."""
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


for _function, _operands, _generate in (
    (operator.add, 2, _by_kind("fadd", "add")),
    (operator.sub, 2, _by_kind("fsub", "sub")),
    (operator.mul, 2, _by_kind("fmul", "mul")),
    (operator.truediv, 2, _by_kind("fdiv", "")),
    (operator.neg, 1, _by_kind("fneg", "neg")),
    (operator.rshift, 2, _by_kind("", "lshr")),
    (operator.and_, 2, _by_kind("", "and_")),
    (operator.xor, 2, _by_kind("", "xor")),
    (math.sqrt, 1, _by_name("sqrt")),
    (math.copysign, 2, _by_name("copysign")),
    (max, 2, _larger),
):
    _extend(_function, _operands, _generate)


def _spread(builder: Any, value: Any) -> Any:
    nothing = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = builder.insert_element(nothing, value, ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, nothing, first)


def _from_number(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, source, target.dtype))


_imputils.lower_cast(types.Number, Lanes)(_from_number)


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c with one rounding, of numbers or of lanes."""
    lanes_kind = _common((a, b, c))
    kind = lanes_kind or a
    fused = _by_name("fma") if lanes_kind else ir.IRBuilder.fma

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return fused(builder, *arguments)

    return kind(kind, kind, kind), generate


@intrinsic
def lanes(typing_context: Any, value: Any) -> Any:
    """Put one number in every lane."""
    dtype = types.unliteral(value)

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return Lanes(dtype)(dtype), generate


@intrinsic
def counting(typing_context: Any, first: Any) -> Any:
    """Count ``first``, ``first`` + 1, …, as uint64."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        steps = ir.Constant(ir.VectorType(word, LANES), list(range(LANES)))
        return builder.add(_spread(builder, arguments[0]), steps)

    return Lanes(types.uint64)(types.uint64), generate


def _folded(builder: Any, values: Any, join: Callable[[Any, Any, Any], Any]) -> Any:
    """Fold all lanes to one number, each half with the other: the order is always the same."""
    folded, width = values, LANES
    while width > 1:
        width //= 2
        order = [(lane + width) % LANES for lane in range(LANES)]
        turned = ir.Constant(ir.VectorType(ir.IntType(32), LANES), order)
        folded = join(builder, folded, builder.shuffle_vector(folded, folded, turned))
    return builder.extract_element(folded, ir.IntType(32)(0))


@intrinsic
def largest(typing_context: Any, values: Any) -> Any:
    """Return the largest number of all lanes; any number if some are NaN."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], _larger)

    return values.dtype(values), generate


@intrinsic
def summed(typing_context: Any, values: Any) -> Any:
    """Compute the sum of all lanes of floats."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], ir.IRBuilder.fadd)

    return values.dtype(values), generate


@intrinsic
def among(typing_context: Any, value: Any, values: Any) -> Any:
    """Tell whether a number is in a lane."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        value, lanes_ = arguments
        same = builder.fcmp_ordered("==", lanes_, _spread(builder, value))
        bits = builder.bitcast(same, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(values.dtype, values), generate


def _entry(context: Any, builder: Any, sig: Any, arguments: Any, further: int = 0) -> Any:
    """Return the address of an entry of an array, or of the entry ``further`` in its row.

    An integer index belongs to an array with one axis. An index is never negative: no index counts
    from an end.
    """
    kind, index = sig.args[:2]
    several = isinstance(index, types.BaseTuple)
    given = _cgutils.unpack_tuple(builder, arguments[1]) if several else [arguments[1]]
    indices = [
        context.cast(builder, one, its, types.intp)
        for one, its in zip(given, index if several else [index], strict=True)
    ]
    indices[-1] = builder.add(indices[-1], indices[-1].type(further))
    array = context.make_array(kind)(context, builder, arguments[0])
    return _cgutils.get_item_pointer(context, builder, kind, array, indices)


def _side_by_side(builder: Any, pointer: Any, element: Any) -> Any:
    return builder.bitcast(pointer, ir.VectorType(element, LANES).as_pointer())


def _fits(array: Any, index: Any) -> bool:
    axes = len(index) if isinstance(index, types.BaseTuple) else 1
    return isinstance(array, types.Array) and array.ndim == axes


@intrinsic
def spread(typing_context: Any, array: Any, index: Any) -> Any:
    """Put one entry of an array in every lane."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _spread(builder, builder.load(_entry(context, builder, sig, arguments)))

    return Lanes(array.dtype)(array, index), generate


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Load neighbours in a row of an array: float64 unchanged, all others as float32.

    All of them must be in memory that belongs to the array.
    """
    if not _fits(array, index):
        return None
    real = ir.VectorType(ir.FloatType(), LANES)
    floats = array.dtype in (types.float32, types.float64)

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        element = context.get_data_type(array.dtype)
        if array.layout == "C":
            place = _side_by_side(builder, _entry(context, builder, sig, arguments), element)
            loaded = builder.load(place, align=context.get_abi_sizeof(element))
        else:  # entries may lie apart in memory
            loaded = ir.Constant(ir.VectorType(element, LANES), ir.Undefined)
            for lane in range(LANES):
                one = builder.load(_entry(context, builder, sig, arguments, lane))
                loaded = builder.insert_element(loaded, one, ir.IntType(32)(lane))
        return loaded if floats else builder.uitofp(loaded, real)

    return Lanes(array.dtype if floats else types.float32)(array, index), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, values: Any, most: Any) -> Any:
    """Write lanes to neighbours in a row, from an entry on: at most the first ``most``.

    Of integers the low bits are written.
    """
    if not (_fits(array, index) and array.layout == "C"):
        return None

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        element = context.get_data_type(array.dtype)
        size = context.get_abi_sizeof(element)
        entry, value, room = _entry(context, builder, sig, arguments), arguments[2], arguments[3]
        if values.dtype != array.dtype:
            value = builder.trunc(value, ir.VectorType(element, LANES))
        all_fit = builder.icmp_signed(">=", room, room.type(LANES))
        with builder.if_else(all_fit, likely=True) as (whole, some):
            with whole:
                builder.store(value, _side_by_side(builder, entry, element), align=size)
            with some, _cgutils.for_range(builder, room) as loop:
                one = builder.extract_element(value, loop.index)
                builder.store(one, builder.gep(entry, [loop.index]))
        return context.get_dummy_value()

    return types.none(array, index, values, types.intp), generate
