"""Lazy imports: names of a module are imported on first use, because some need many libraries."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(module: str, names: list[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a module.

    Type checkers must not see these two functions: they would take every name for an attribute of
    the module. So they are defined where ``TYPE_CHECKING`` is false. The branch where it is true
    imports all names, for type checkers; from these lines this function reads where a name comes
    from. A name without an import is a module of the package. ``names`` is the module's
    ``__all__``.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the module's
        if name not in names:
            raise AttributeError(_unknown(module, name, names))
        home, path = _homes(module).get(name, (module, name))
        if home == module:
            return importlib.import_module(f"{module}.{name}")
        first, *further = path.split(".")
        attribute: Any = getattr(__import__(home, fromlist=[first]), first)
        return functools.reduce(getattr, further, attribute)

    def __dir__() -> list[str]:  # noqa: N807
        return sorted(names)

    return __getattr__, __dir__


@functools.cache
def _homes(module: str) -> Mapping[str, tuple[str, str]]:
    """Read, from a module's text, the module and the name behind each name for type checkers.

    Assignments such as ``open = Ledger.open`` count as well.
    """
    import ast  # a command that shows help needs none of it

    spec = sys.modules[module].__spec__
    text: str = spec.loader.get_source(module)  # type: ignore[union-attr]
    homes: dict[str, tuple[str, str]] = {}
    for block in ast.parse(text).body:
        if not (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"):
            continue
        for line in block.body:
            if isinstance(line, ast.ImportFrom):
                for alias in line.names:
                    homes[alias.asname or alias.name] = str(line.module), alias.name
            elif isinstance(line, ast.Assign):
                root, _, path = ast.unparse(line.value).partition(".")
                home, name = homes[root]
                homes[ast.unparse(line.targets[0])] = home, f"{name}.{path}"
    return homes


def _unknown(module: str, name: str, names: list[str]) -> str:
    from fedbandits._suggest import did_you_mean  # it takes longer to load than this package

    meant = "" if name.startswith("_") else did_you_mean(name, names)
    return f"module {module!r} has no attribute {name!r} {meant}".strip()
