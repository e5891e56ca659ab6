"""What was tried to see from where on it pays, as numbers."""

from __future__ import annotations

from typing import Literal

import msgspec

#: What is varied: the number of parties, or ε.
Axis = Literal["parties", "epsilon"]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One value that was tried.

    Parameters
    ----------
    value
        The value of the key.
    epsilon
        The ε that accounting supports there.
    parties
        Number of parties there.
    replicates
        Number of replicates that both systems have finished.
    unit
        Unit of ``saves``.
    saves
        Mean of what the private system saves beside learning alone.
    half_width
        Half the width of its 95% interval; None if too little is known for one.
    share
        ``saves`` as a share of what learning alone loses. None if that is 0.
    pays
        Whether the whole interval is on the good side; False if it is on the other, else None.
    """

    value: float
    epsilon: float
    parties: int
    replicates: int
    unit: str
    saves: float
    half_width: float | None
    share: float | None
    pays: bool | None


class Curve(msgspec.Struct, frozen=True):
    """All values of one key that were tried, in ascending order.

    Parameters
    ----------
    axis
        What is varied.
    key
        Path of the key.
    tried
        What was found at each value.
    left_out
        Values that this experiment cannot have, each with the reason.
    """

    axis: Axis
    key: str
    tried: tuple[Tried, ...]
    left_out: tuple[str, ...] = ()


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """From how many parties on, or from which ε on, learning together privately pays.

    Parameters
    ----------
    lines
        The advice in words.
    how
        How it was found, in words.
    unit
        Unit of all differences.
    parties
        What parties are called: ``hospitals``.
    system, baseline
        Labels of the private system, and of the one whose parties learn alone.
    replicates
        Replicates of every value.
    curves
        What was tried.
    """

    lines: tuple[str, ...]
    how: str
    unit: str
    parties: str
    system: str
    baseline: str
    replicates: int
    curves: tuple[Curve, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)
