"""Masks of increments: copies of them as parties make them, and a test that they are uniform.

An increment is seen with masks of all helpers but one taken off, by these helpers and the
controller together. What is left must be uniform modulo 2⁶⁴, as if nothing were behind it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.masks import Masks
from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets


class Kept:
    """Copies of all masks that the parties of a run make.

    Attributes
    ----------
    of_members
        Masks of each message, in the order of helpers, by the member's place, the number of the sum
        and the salt of the message.
    of_helpers
        Masks that helpers take off: the helper's place, number, salt and mask of each.
    """

    def __init__(self) -> None:
        self.of_members: defaultdict[tuple[int, int, int], list[Words64]] = defaultdict(list)
        self.of_helpers: list[tuple[int, int, int, Words64]] = []

    def brought(self, role: str, place: int, own: Any) -> Any:
        """Return a party's supplies, with secrets that copy each mask."""
        if isinstance(own, HelperSecrets):

            def keep_of_helper(number: int, salt: int, mask: Words64) -> None:
                self.of_helpers.append((place, number, salt, mask))

            return _keeping(own, keep_of_helper)
        if isinstance(getattr(own, "masks", None), AgentSecrets):

            def keep_of_member(number: int, salt: int, mask: Words64) -> None:
                self.of_members[place, number, salt].append(mask)

            return own._replace(masks=_keeping(own.masks, keep_of_member))
        return own

    def unknown(self) -> int:
        """Count masks that a helper took off and that no member has put on for that helper."""
        put_on = {
            (helper, number, salt, mask.tobytes())
            for (_, number, salt), masks in self.of_members.items()
            for helper, mask in enumerate(masks)
        }
        return sum((*named, mask.tobytes()) not in put_on for *named, mask in self.of_helpers)


def _keeping(given: Any, keep: Callable[[int, int, Words64], None]) -> Any:
    """Return a party's secrets; ``keep`` is called with a copy of each mask."""
    return given._replace(masks=lambda key: _KeptMasks(given.masks(key), keep))


class _KeptMasks(Masks):
    """Masks under one key; each is copied when it is made."""

    def __init__(self, masks: Masks, keep: Callable[[int, int, Words64], None]) -> None:
        self._masks, self._keep = masks, keep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._masks, name)

    def fill(self, number: int, salt: int, out: Words64) -> None:
        self._masks.fill(number, salt, out)
        self._keep(number, salt, out.copy())


class Masked(NamedTuple):
    """An increment as it was sent.

    Parameters
    ----------
    sent, bare : (size,) uint64
        What was sent, and what is behind its masks.
    masks : (helpers, size) uint64
        Its masks.
    """

    sent: Words64
    bare: Words64
    masks: Words64


class View(NamedTuple):
    """Increments as somebody sees them.

    Parameters
    ----------
    taken
        Which masks are taken off, in words.
    seen, cover : (n, size) uint64
        What is left of increments, and the same without what is behind the masks.
    """

    taken: str
    seen: Words64
    cover: Words64

    @property
    def distance(self) -> float:
        """Distance from uniform numbers, of these and of their differences; :func:`distance`."""
        return max(
            distance(words)
            for each in (self.seen, self.cover)
            for words in (each, *differences(each))
            if words.size
        )


def views(increments: list[Masked]) -> Iterator[View]:
    """Yield increments as they are seen by the controller with some helpers.

    No mask is taken off, or those of all helpers but one, or of any fewer; each may be taken off
    twice over, as then what cancels masks of another helper shows.
    """
    helpers = len(increments[0].masks)
    for times in itertools.product((0, 1, 2), repeat=helpers):
        if all(each == 1 for each in times):
            continue
        weights = np.array(times, np.uint64)[:, None]
        seen = [one.sent - (weights * one.masks).sum(0, dtype=np.uint64) for one in increments]
        cover = [each - one.bare for each, one in zip(seen, increments, strict=True)]
        taken = [f"those of helper {i}" for i, each in enumerate(times) for _ in range(each)]
        yield View(" and ".join(taken) or "none", np.array(seen), np.array(cover))


def differences(words: Words64) -> Iterator[Words64]:
    """Yield differences of (n, size) numbers: to the next row, and 1, 2, 4, … places on in a row.

    Where masks are related, as by a counter, each alone is uniform, and these are not.
    """
    yield words[1:] - words[:-1]
    lag = 1
    while lag < words.shape[1]:
        yield words[:, lag:] - words[:, :-lag]
        lag *= 2


def repeated(masks: list[Words64]) -> int:
    """Count numbers of masks that come twice, also with another sign."""
    words = np.concatenate([each.reshape(-1) for each in masks])
    return words.size - np.unique(np.minimum(words, np.uint64(0) - words)).size


def distance(words: Words64) -> float:
    """Return how far whole numbers modulo 2⁶⁴ are from uniform ones, in deviations.

    The largest of six statistics that are standard normal where numbers are uniform: how near they
    are to 0, the cosine and the sine of their angle, of the numbers and with all bits reversed.
    """
    found = [abs(z) for each in (words, _reversed(words)) for z in _statistics(each.reshape(-1))]
    return float(max(found))


def _statistics(words: Words64) -> Iterator[float]:
    turn = words.astype(np.float64) / 2.0**64
    near = np.maximum(2.0 * np.minimum(turn, 1.0 - turn), 2.0**-64)
    yield float((-np.log(near) - 1.0).sum() / np.sqrt(words.size))
    angle: Floats = 2.0 * np.pi * turn
    for wave in (np.cos, np.sin):
        yield float(np.sqrt(2.0 / words.size) * wave(angle).sum())


def _reversed(words: Words64) -> Words64:
    """Return numbers whose bits are in the other order: then low ones count."""
    plain = np.ascontiguousarray(words.reshape(-1), ">u8").view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(plain, axis=1)[:, ::-1]
    return np.packbits(bits, axis=1).view(">u8").reshape(-1).astype(np.uint64)
