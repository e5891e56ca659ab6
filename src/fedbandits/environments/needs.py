"""What something takes to be played: memory that it certainly keeps, and work.

Declared by environments and systems beside what they allocate, so that an experiment that cannot
fit is refused before it runs. Counted are the arrays that last; what is used for a moment comes on
top, so that a run takes somewhat more than is said, never less.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """Arrays of one kind.

    Parameters
    ----------
    what
        What they hold, as an error says it.
    bytes
        How many, in all.
    keys
        The keys of a configuration to lower, as an error says it.
    """

    what: str
    bytes: float
    keys: str


class Needs(NamedTuple):
    """Needs of one replicate; empty where nothing is known.

    Parameters
    ----------
    parts
        What it keeps.
    operations
        Multiplications with an addition, or what takes as long, to the last round: within an order
        of magnitude.
    """

    parts: tuple[Part, ...] = ()
    operations: float = 0.0

    @property
    def bytes(self) -> float:
        """Of all parts."""
        return sum(part.bytes for part in self.parts)


#: Bytes of numbers.
F64, F32 = 8, 4
