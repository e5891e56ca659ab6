"""What linear agents decide on, and what they keep of it until the reward comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from fedbandits._typing import Floats, Floats32


class Offer(NamedTuple):
    """A situation in which not all arms can be chosen, where each has a model of its own.

    Where arms share one, whoever has fewer shows fewer columns.

    Parameters
    ----------
    context : (d, 1) float32
        What all arms show.
    arms
        Numbers of those that can be chosen, from 0, each once.
    """

    context: Floats32
    arms: Sequence[int]


class OpenDecision(msgspec.Struct, frozen=True, gc=False):
    """A decision whose reward has not come yet.

    Parameters
    ----------
    arm
        What was chosen.
    context : (d,) float64
        Its context.
    counts
        Whether its record will count for releases.
    """

    arm: int
    context: Floats
    counts: bool = True
