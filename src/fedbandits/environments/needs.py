"""Memory and work that an experiment needs at least.

Environments and systems state these needs, so that an experiment that does not fit into memory is
refused before it runs. Only arrays that last are counted. A run takes somewhat more, never less.
"""

from __future__ import annotations

from typing import NamedTuple


class Memory(NamedTuple):
    """Arrays of one kind, of so many ``bytes``; ``what`` and ``keys`` are words for an error."""

    what: str  # what the arrays hold
    bytes: float
    keys: str  # which keys of a configuration to lower


class Needs(NamedTuple):
    """Needs of one replicate. They are empty if nothing is known."""

    parts: tuple[Memory, ...] = ()
    operations: float = 0.0  # multiply-adds, or like work, in all rounds; within a factor of 10

    @property
    def bytes(self) -> float:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)


#: Bytes of numbers.
F64, F32 = 8, 4
