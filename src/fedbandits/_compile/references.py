"""Large named tuples are handed from one compiled function to another by their addresses.

Numba takes a tuple apart for each call, down to the seven words of every array in it, and puts it
together again on the other side: a loop over agents, whose state has a hundred arrays, was 35,000
instructions of which 28,000 did nothing else. Here a call hands over one address. Fields are read
where a kernel names them, and a tuple that lies in such a field is handed on by its own address.

Nobody writes to a named tuple. So what lies at the address stays as it is while a function runs,
and its caller holds the arrays meanwhile: nobody else counts them.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, datamodel, lowering
from numba.core import ir as numba_ir
from numba.core.registry import cpu_target

from fedbandits._compile.sources import is_of_package

# Which of their classes and functions have types differs between versions.
types: Any = numba.types
_datamodel: Any = datamodel
_cgutils: Any = cgutils
_models: Any = datamodel.models
_Lower: Any = lowering.Lower
_BYTE = ir.IntType(8).as_pointer()
#: Words of a tuple up to which they are handed over one by one, in registers mostly.
_FEW = 8


def _words(made: Any) -> int:
    """Count the numbers and addresses that a value of an LLVM type is made of."""
    if isinstance(made, ir.ArrayType):
        return int(made.count) * _words(made.element)
    return sum(map(_words, made.elements)) if isinstance(made, ir.LiteralStructType) else 1


class _ByAddress:
    """A data model whose tuple lies in memory as usual, and is an address as an argument."""

    def get_argument_type(self) -> Any:
        return self.get_value_type().as_pointer()  # type: ignore[attr-defined]

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the address of a tuple, which is put in a place of its own if it has none."""
        address = getattr(value, "address", None)
        if address is None:
            address = _cgutils.alloca_once(builder, value.type)
            builder.store(value, address)
        return address

    def from_argument(self, builder: Any, address: Any) -> Any:
        return loaded(builder, address)


class _ByAddressTuple(_ByAddress, _models.TupleModel):  # type: ignore[misc]
    """The data model of a large tuple whose fields have several types."""


class _ByAddressUniTuple(_ByAddress, _models.UniTupleModel):  # type: ignore[misc]
    """The data model of a large tuple whose fields have one type."""


def _model(usual: Any, by_address: Any, manager: Any, kind: Any) -> Any:
    """Make the data model of a named tuple: by its address if it is ours, and large."""
    words = _words(usual(manager, kind).get_value_type())
    large = words > _FEW and is_of_package(kind.instance_class)
    return (by_address if large else usual)(manager, kind)


for _kind, _usual, _large in (
    (types.NamedTuple, _models.TupleModel, _ByAddressTuple),
    (types.NamedUniTuple, _models.UniTupleModel, _ByAddressUniTuple),
):
    _datamodel.default_manager.register(_kind, functools.partial(_model, _usual, _large))


def loaded(builder: Any, address: Any) -> Any:
    """Load what lies at an address where nobody writes while it is of use."""
    value = builder.load(address)
    value.address = address
    return value


@functools.cache
def _offset(kind: Any, field: int) -> int:
    """Return how many bytes a field of a tuple lies from its beginning."""
    context: Any = cpu_target.target_context
    made = context.get_value_type(kind)
    if isinstance(made, ir.ArrayType):
        return field * int(context.get_abi_sizeof(made.element))
    return int(made.get_element_offset(context.target_data, field))


class ReferringLower(_Lower):  # type: ignore[misc]
    """A lowering to LLVM that reads fields of a tuple at an address where kernels use them."""

    def init(self) -> None:
        super().init()
        #: Addresses of variables, and of fields by the address of their tuple.
        self._addresses: dict[str, Any] = {}
        self._fields: dict[Any, Any] = {}
        self._of_arguments: set[int] = set()
        #: Variables that are assigned once, with what they are assigned, and which of them refer.
        self._once = {} if self.generator_info else self._assigned_once()
        self._referring: set[str] = set()
        before = -1
        while len(self._referring) > before:
            before = len(self._referring)
            self._referring |= {name for name in self._once if self._refers(name)}

    def _assigned_once(self) -> dict[str, Any]:
        assigned: dict[str, list[Any]] = {}
        for block in self.blocks.values():
            for statement in block.find_insts(numba_ir.Assign):
                assigned.setdefault(statement.target.name, []).append(statement.value)
        return {name: values[0] for name, values in assigned.items() if len(values) == 1}

    def _refers(self, name: str) -> bool:
        """Tell whether a variable is an argument at an address, a field of one, or its copy."""
        kind, value, found = self.typeof(name), self._once[name], self._referring
        if isinstance(value, numba_ir.Arg):
            same = self.typeof(f"arg.{value.name}") == kind
            return same and isinstance(self.context.data_model_manager[kind], _ByAddress)
        if isinstance(value, numba_ir.Var):
            return value.name in found and self.typeof(value.name) == kind
        if not (isinstance(value, numba_ir.Expr) and value.op == "getattr"):
            return False
        if value.value.name not in found or not isinstance(kind, types.Array | types.BaseTuple):
            return False
        whole = self.typeof(value.value.name)
        return isinstance(whole, types.BaseNamedTuple) and whole[_field(whole, value)] == kind

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, numba_ir.Assign) and inst.target.name in self._referring:
            self._addresses[inst.target.name] = self._address_of(inst.value)
        else:
            super().lower_inst(inst)

    def _address_of(self, value: Any) -> Any:
        if isinstance(value, numba_ir.Arg):
            return self.fnargs[value.index].address
        if isinstance(value, numba_ir.Var):
            return self._addresses[value.name]
        whole = self.typeof(value.value.name)
        return self._field_at(value.value.name, whole, _field(whole, value))

    def _field_at(self, name: str, whole: Any, field: int) -> Any:
        """Return the address of a field; those of arguments are computed as a function begins."""
        address = self._addresses[name]
        place = id(address), field
        if place in self._fields:
            return self._fields[place]
        if not (isinstance(address, ir.Argument) or id(address) in self._of_arguments):
            return self._beside(address, whole, field)
        with self.builder.goto_entry_block():
            found = self._fields[place] = self._beside(address, whole, field)
        self._of_arguments.add(id(found))
        return found

    def _beside(self, address: Any, whole: Any, field: int) -> Any:
        kind = self.context.get_value_type(whole[field]).as_pointer()
        offset = ir.Constant(ir.IntType(64), _offset(whole, field))
        begin = self.builder.bitcast(address, _BYTE)
        return self.builder.bitcast(self.builder.gep(begin, [offset], inbounds=True), kind)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Read a number of a tuple at an address from there, and not the tuple."""
        if expr.op == "getattr" and expr.value.name in self._addresses:
            whole = self.typeof(expr.value.name)
            if isinstance(whole, types.BaseNamedTuple) and expr.attr in whole.fields:
                field = _field(whole, expr)
                value = loaded(self.builder, self._field_at(expr.value.name, whole, field))
                result = self.context.cast(self.builder, value, whole[field], resty)
                self.incref(resty, result)
                return result
        return super().lower_expr(resty, expr)

    def setup_function(self, fndesc: Any) -> None:
        """Tell LLVM that nobody writes to a tuple at an address while the function runs."""
        super().setup_function(fndesc)
        for argument in self.call_conv.get_arguments(self.function):
            if isinstance(argument.type, ir.PointerType) and isinstance(
                argument.type.pointee, ir.LiteralStructType | ir.ArrayType
            ):
                argument.add_attribute("noalias")
                made, attributes = argument.type.pointee, argument.attributes
                attributes.align = int(self.context.get_abi_alignment(made))
                attributes.dereferenceable = int(self.context.get_abi_sizeof(made))

    def _alloca_var(self, name: str, fetype: Any) -> None:
        if name not in self._referring:
            super()._alloca_var(name, fetype)

    def loadvar(self, name: str) -> Any:
        if name in self._addresses:
            return loaded(self.builder, self._addresses[name])
        return super().loadvar(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Keep the address of a value that was read there, where nobody counts who holds arrays."""
        address = getattr(value, "address", None)
        if address is None or name not in self._once or self.context.enable_nrt:
            super().storevar(value, name, argidx)
        else:
            self._addresses[name] = address

    def delvar(self, name: str) -> None:
        if name not in self._referring and name not in self._addresses:
            super().delvar(name)


def _field(whole: Any, expression: Any) -> int:
    return int(whole.fields.index(expression.attr))
