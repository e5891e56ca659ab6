"""Checks of what parties do, held against what is claimed of it: exact, without an attacker's luck.

A claim rests on more than noise: on masks that hide single releases, on sums that are never of too
few, on visits that count up to a number, on draws that no other process makes. Each of these either
holds or does not. So each is played once, and what came out is said in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fedbandits.privacy.sizes import Tick


class ProtocolFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check of what parties do.

    Parameters
    ----------
    looks_at
        What was held against what, in words.
    found
        What came out, in words.
    wrong
        What differs from the claim, a clause each; nothing if all is as claimed.
    """

    looks_at: str
    found: str
    wrong: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """True if nothing differs from the claim."""
        return not self.wrong


class ProtocolCheck(NamedTuple):
    """A check of what parties do.

    Parameters
    ----------
    looks_at
        What is held against what, in words.
    play
        It returns what came out, and what is wrong, as :class:`ProtocolFinding` has them.
    """

    looks_at: str
    play: Callable[[], tuple[str, tuple[str, ...]]]


def check_protocol(check: ProtocolCheck, tick: Tick) -> ProtocolFinding:
    """Play a check once."""
    found, wrong = check.play()
    tick(1.0)
    return ProtocolFinding(looks_at=check.looks_at, found=found, wrong=wrong)
