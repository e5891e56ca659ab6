"""Large named tuples are handed from one compiled function to another by their addresses.

Numba takes a tuple apart for each call, down to the seven words of every array in the tuple, and
the called function puts the tuple together again. In a loop over agents, whose state has a hundred
arrays, 28,000 of 35,000 instructions did only this. Here a call hands over one address. Fields are
read where a kernel names them, and a tuple in a field is handed on by the field's own address.

Nobody writes to a named tuple. So the memory at the address does not change while a function runs.
The caller holds the arrays meanwhile, and the called function counts no references to the arrays.
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

# Only some of these classes and functions have types, and not the same ones in every version.
types: Any = numba.types
_datamodel: Any = datamodel
_cgutils: Any = cgutils
_models: Any = datamodel.models
_Lower: Any = lowering.Lower
_BYTE = ir.IntType(8).as_pointer()
#: The most words of a tuple that is handed over word by word, mostly in registers.
_FEW = 8


def _words(layout: Any) -> int:
    """Count the numbers and addresses in a value of an LLVM type."""
    if isinstance(layout, ir.ArrayType):
        return int(layout.count) * _words(layout.element)
    return sum(map(_words, layout.elements)) if isinstance(layout, ir.LiteralStructType) else 1


class _ByAddress:
    """A data model whose tuple lies in memory as usual, and is an address as an argument."""

    def get_argument_type(self) -> Any:
        return self.get_value_type().as_pointer()  # type: ignore[attr-defined]

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the address of a tuple; a tuple without an address is stored first."""
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


def _model(usual: Any, by_address: Any, manager: Any, tuple_type: Any) -> Any:
    """Make the data model of a named tuple: by address if the class is ours and the tuple large."""
    words = _words(usual(manager, tuple_type).get_value_type())
    large = words > _FEW and is_of_package(tuple_type.instance_class)
    return (by_address if large else usual)(manager, tuple_type)


for _tuple_type, _usual, _large in (
    (types.NamedTuple, _models.TupleModel, _ByAddressTuple),
    (types.NamedUniTuple, _models.UniTupleModel, _ByAddressUniTuple),
):
    _datamodel.default_manager.register(_tuple_type, functools.partial(_model, _usual, _large))


def loaded(builder: Any, address: Any) -> Any:
    """Load the value at an address, and note the address: nobody writes to that memory."""
    value = builder.load(address)
    value.address = address
    return value


@functools.cache
def _offset(tuple_type: Any, field: int) -> int:
    """Return the offset of a field, in bytes from the beginning of its tuple."""
    context: Any = cpu_target.target_context
    layout = context.get_value_type(tuple_type)
    is_array = isinstance(layout, ir.ArrayType)
    parts = [layout.element] * layout.count if is_array else layout.elements
    place = 0
    for part in parts[:field]:  # llvmlite gives offsets themselves in later versions only
        place += -place % int(context.get_abi_alignment(part)) + int(context.get_abi_sizeof(part))
    return place + -place % int(context.get_abi_alignment(parts[field]))


class ReferringLower(_Lower):  # type: ignore[misc]
    """A lowering to LLVM that reads fields of a tuple at an address where kernels use them."""

    def init(self) -> None:
        super().init()
        #: Addresses of variables, and of fields by the address of their tuple.
        self._addresses: dict[str, Any] = {}
        self._fields: dict[Any, Any] = {}
        self._of_arguments: set[int] = set()
        #: Values of variables that are assigned once, and names of the variables that refer.
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
        """Tell whether a variable is an argument at an address, its copy, or a field of either."""
        type_, value, referring = self.typeof(name), self._once[name], self._referring
        if isinstance(value, numba_ir.Arg):
            same = self.typeof(f"arg.{value.name}") == type_
            return same and isinstance(self.context.data_model_manager[type_], _ByAddress)
        if isinstance(value, numba_ir.Var):
            return value.name in referring and self.typeof(value.name) == type_
        if not (isinstance(value, numba_ir.Expr) and value.op == "getattr"):
            return False
        if value.value.name not in referring:
            return False
        if not isinstance(type_, types.Array | types.BaseTuple):
            return False
        parent = self.typeof(value.value.name)
        return isinstance(parent, types.BaseNamedTuple) and parent[_field(parent, value)] == type_

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
        parent = self.typeof(value.value.name)
        return self._field_at(value.value.name, parent, _field(parent, value))

    def _field_at(self, name: str, parent: Any, field: int) -> Any:
        """Return the address of a field.

        Addresses of an argument's fields are computed where the function begins.
        """
        address = self._addresses[name]
        place = id(address), field
        if place in self._fields:
            return self._fields[place]
        if not (isinstance(address, ir.Argument) or id(address) in self._of_arguments):
            return self._beside(address, parent, field)
        with self.builder.goto_entry_block():
            field_address = self._fields[place] = self._beside(address, parent, field)
        self._of_arguments.add(id(field_address))
        return field_address

    def _beside(self, address: Any, parent: Any, field: int) -> Any:
        pointer = self.context.get_value_type(parent[field]).as_pointer()
        offset = ir.Constant(ir.IntType(64), _offset(parent, field))
        begin = self.builder.bitcast(address, _BYTE)
        return self.builder.bitcast(self.builder.gep(begin, [offset], inbounds=True), pointer)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Read one field of a tuple at an address, without loading the tuple."""
        if expr.op == "getattr" and expr.value.name in self._addresses:
            parent = self.typeof(expr.value.name)
            if isinstance(parent, types.BaseNamedTuple) and expr.attr in parent.fields:
                field = _field(parent, expr)
                value = loaded(self.builder, self._field_at(expr.value.name, parent, field))
                result = self.context.cast(self.builder, value, parent[field], resty)
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
                layout, attributes = argument.type.pointee, argument.attributes
                attributes.align = int(self.context.get_abi_alignment(layout))
                attributes.dereferenceable = int(self.context.get_abi_sizeof(layout))

    def _alloca_var(self, name: str, fetype: Any) -> None:
        if name not in self._referring:
            super()._alloca_var(name, fetype)

    def loadvar(self, name: str) -> Any:
        if name in self._addresses:
            return loaded(self.builder, self._addresses[name])
        return super().loadvar(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Note the address of a value that was loaded from there, if arrays are not counted."""
        address = getattr(value, "address", None)
        if address is None or name not in self._once or self.context.enable_nrt:
            super().storevar(value, name, argidx)
        else:
            self._addresses[name] = address

    def delvar(self, name: str) -> None:
        if name not in self._referring and name not in self._addresses:
            super().delvar(name)


def _field(parent: Any, expression: Any) -> int:
    return int(parent.fields.index(expression.attr))
