"""Exact checks of a protocol against its claim: each is played once, and no attack is needed.

A claim rests on more than noise: on masks that hide single releases, on sums that are never of too
few, on visits that count up to a number, on draws that no other process makes. Each either holds
or does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fedbandits.privacy.sizes import Tick


class ProtocolFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check of a protocol.

    Parameters
    ----------
    looks_at
        The behaviour and the claim that were compared, in words.
    found
        The result, in words.
    wrong
        Differences from the claim, a clause each.
    """

    looks_at: str
    found: str
    wrong: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """True if nothing differs from the claim."""
        return not self.wrong


class ProtocolCheck(NamedTuple):
    """A check of a protocol.

    Parameters
    ----------
    looks_at
        The behaviour and the claim to compare, in words.
    play
        Plays the check; returns ``found`` and ``wrong`` of :class:`ProtocolFinding`.
    """

    looks_at: str
    play: Callable[[], tuple[str, tuple[str, ...]]]


def check_protocol(check: ProtocolCheck, tick: Tick) -> ProtocolFinding:
    """Play a check once."""
    found, wrong = check.play()
    tick(1.0)
    return ProtocolFinding(looks_at=check.looks_at, found=found, wrong=wrong)
