"""Which records of its users a local server counts: for a release, and in a phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.federation.state import Step


class Kept(NamedTuple):
    """A record that does not count yet."""

    place: int
    context: Floats  # (d,)
    reward: float
    counts: bool  # for releases


def counted(step: Step, place: int, visits: Ints, most: int) -> Step:
    """A decision, and whether its record will count for releases.

    Parameters
    ----------
    step
        The decision.
    place : int
        Where its user stands.
    visits : (users,) int64
        How often each user has come before; the step notes one more.
    most : int
        Records of a user that count, k; 0 if all do.
    """
    if not most or step.opened is None:
        return step
    number, found = step.opened
    found = msgspec.structs.replace(found, counts=bool(visits[place] < most))

    def note_visit() -> Sequence[Message]:
        visits[place] += 1
        return ()

    return msgspec.structs.replace(step, opened=(number, found), write=note_visit)
