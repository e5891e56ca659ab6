"""Names of a module that are imported when they are first asked for: some need much."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    module: str, names: list[str], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a module.

    Type checkers must not see them: they would take any name for one that is there. So they are
    defined where ``TYPE_CHECKING`` is false, and names are imported where it is true.

    ``names`` is the module's ``__all__``. ``homes`` says where a name is:
    ``"fedbandits.client:Client"``, or ``"fedbandits.experiments.events"`` for a module. A name
    without a home is a module of the package.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the module's
        if name not in names:
            raise AttributeError(_unknown(module, name, names))
        home, _, path = homes.get(name, f"{module}.{name}").partition(":")
        found: Any = importlib.import_module(home)
        for step in path.split(".") if path else ():
            found = getattr(found, step)
        return found

    def __dir__() -> list[str]:  # noqa: N807
        return sorted(names)

    return __getattr__, __dir__


def _unknown(module: str, name: str, names: list[str]) -> str:
    from fedbandits._suggest import did_you_mean  # it takes longer to load than this package

    meant = "" if name.startswith("_") else did_you_mean(name, names)
    return f"module {module!r} has no attribute {name!r} {meant}".strip()
