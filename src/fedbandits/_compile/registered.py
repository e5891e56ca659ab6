"""Knowledge that kernels and the part that needs Numba share: widths, and implementations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

#: How many numbers lie side by side: so many float32 fill 512 bits, the widest registers there are.
LANES = 16


class Implementation(NamedTuple):
    """A kernel that compiled code calls in place of a stub whose first argument is a ``first``."""

    stub: Callable[..., Any]
    first: type
    function: Callable[..., Any]


#: All that were registered in this process.
IMPLEMENTATIONS: list[Implementation] = []
