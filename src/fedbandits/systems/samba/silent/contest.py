"""One server's side of a turn's comparisons: what it opens, and what comes of what both open.

What is opened at once is an item, see :class:`.dealt.Turn`. A party plays one selection; an audit
plays many side by side, and every array then has an axis of selections in front.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import (
    OPENINGS,
    Correlation,
    Side,
    new_side,
    open_next,
    take_opening,
)
from fedbandits.crypto.kernels.tournament import winners
from fedbandits.crypto.shares import groups_of, pack_opening, pairs, stage_sizes, unpack_opening
from fedbandits.errors import RemoteProtocolError
from fedbandits.systems.samba.silent.dealt import make_turn


class OpeningError(RemoteProtocolError):
    """Shares of an opening that no server sends that keeps to the protocol."""


class NoWinnerError(OpeningError):
    """Somewhere nobody has won all comparisons: what was opened, or dealt, was wrong."""


class Contest(msgspec.Struct, frozen=True):
    """State of one server in the comparisons of a turn. Its arrays are never written to.

    Parameters
    ----------
    share
        (entries,) the server's shares of all scores, in the order that neither knows.
    contenders
        Places of those who are still in.
    item
        The item whose own shares are next to be completed; after the last one, one more.
    opened, borrow, passes, sent
        What it holds of the comparisons of this stage, see :class:`.comparison.Side`.
    """

    share: Words64
    contenders: Ints
    item: int
    opened: Words64
    borrow: Words64
    passes: Words64
    sent: Words64


class Contests:
    """Rules of a run's contests, for the ``first`` or the second server, which errors name."""

    def __init__(self, arms: int, arity: int, first: bool, name: str) -> None:
        self._arity, self._first, self._name = arity, first, name
        self.turn = make_turn(arms, arity)
        self._pairs = [pairs(size, arity) for size in stage_sizes(arms, arity)]
        ends = np.cumsum([0, *self.turn.comparisons]).tolist()
        #: Which of a turn's dealt comparisons each stage uses.
        self._dealt = [slice(*each) for each in pairwise(ends)]

    def begin(self, share: Words64, dealt: Correlation) -> Contest:
        """Return the contest before anything was opened, with own shares of the first item."""
        places = np.broadcast_to(np.arange(share.shape[-1]), share.shape)
        return self._enter(share, places, 1, dealt)

    def compared(self, contest: Contest) -> Ints:
        """Return the places of those compared in this stage, (comparisons, 2)."""
        return contest.contenders[..., self._pairs[_stage(contest.item)]]

    def take(self, contest: Contest, others: Words64, dealt: Correlation) -> Contest:
        """Complete the item that comes next.

        ``others`` are the other server's shares; ``dealt`` is of all comparisons of the turn.

        Raises
        ------
        NoWinnerError
            If nobody wins.
        """
        item, number = contest.item, _opening(contest.item)
        side = Side(*(getattr(contest, field).copy() for field in Side._fields))
        own = self._of_stage(dealt, item)
        take_opening(number, others, own, side, self._first)
        if number < OPENINGS - 1:
            open_next(number + 1, own, side, self._first)
            return msgspec.structs.replace(contest, item=item + 1, **side._asdict())
        contenders = contest.contenders.copy()
        selections = contenders.reshape(-1, contenders.shape[-1])
        groups = groups_of(selections.shape[1], self._arity)
        results = side.opened.reshape(len(selections), -1)
        left = min(
            winners(places, places.size, groups, smaller)
            for places, smaller in zip(selections, results, strict=True)
        )
        if left < 0:
            raise NoWinnerError(f"{self._name}: nobody wins all comparisons of a group")
        return self._enter(contest.share, contenders[..., :left], item + 1, dealt)

    def packed(self, contest: Contest) -> bytes:
        """Pack the own shares of the item that comes next."""
        return pack_opening(_opening(contest.item), contest.sent)

    def exchange(
        self, contest: Contest, others: Iterator[bytes], dealt: Correlation
    ) -> tuple[Contest, bytes]:
        """Complete the items of a message; returns the own shares that became possible, packed.

        Raises
        ------
        OpeningError
            If the shares are malformed, or nobody wins.
        """
        sent = []
        for packed in others:
            contest = self.take(contest, self.unpacked(contest.item, packed), dealt)
            if contest.item <= self.turn.items:
                sent.append(self.packed(contest))
        return contest, b"".join(sent)

    def unpacked(self, item: int, packed: bytes) -> Words64:
        """Read one server's shares of an item."""
        try:
            return unpack_opening(_opening(item), packed, self.turn.comparisons[_stage(item)])
        except ValueError as malformed:
            raise OpeningError(f"{self._name}: an opening with {malformed}") from None

    def split(self, data: bytes, number: int, first: bool) -> Iterator[bytes]:
        """Split a message into its items, whose bytes come one after the other."""
        begin = 0
        for item in self.turn.items_of(number, first):
            end = begin + self.turn.item_bytes(item)
            yield data[begin:end]
            begin = end

    def _enter(self, share: Words64, contenders: Ints, item: int, dealt: Correlation) -> Contest:
        """Begin a stage, or be done where one is left."""
        if item > self.turn.items:
            none = Side(*(np.empty(0, np.uint64) for _ in Side._fields))
            return Contest(share, contenders, item, *none)
        both = contenders[..., self._pairs[_stage(item)]]
        one, other = (np.take_along_axis(share, both[..., k], -1).ravel() for k in (0, 1))
        side = new_side(one.size)
        side.sent[:] = one - other
        open_next(0, self._of_stage(dealt, item), side, self._first)
        return Contest(share, contenders, item, *side)

    def _of_stage(self, dealt: Correlation, item: int) -> Correlation:
        """Return what was dealt for the comparisons of an item's stage."""
        part = self._dealt[_stage(item)]
        return Correlation(*(each[..., part].ravel() for each in dealt))


def _stage(item: int) -> int:
    return (item - 1) // OPENINGS


def _opening(item: int) -> int:
    """Return which opening of its comparisons an item is."""
    return (item - 1) % OPENINGS
