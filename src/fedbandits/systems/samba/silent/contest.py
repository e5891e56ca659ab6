"""One server's side of a turn's comparisons: what it opens, and what comes of what both open.

What is opened at once is an item, see :class:`.dealt.Turn`.
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
from fedbandits.systems.samba.plan import SambaPlan
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
    """Rules of a run's contests, for one of the two servers."""

    def __init__(self, plan: SambaPlan, name: str, first: bool) -> None:
        self._arms, self._arity = plan.arms, plan.config.arity
        self._name, self._first = name, first
        self.turn = make_turn(plan.arms, plan.config.arity)
        self._pairs = [pairs(size, self._arity) for size in stage_sizes(self._arms, self._arity)]
        ends = np.cumsum([0, *map(len, self._pairs)]).tolist()
        #: Which of a turn's dealt comparisons each stage uses.
        self._dealt = [slice(*each) for each in pairwise(ends)]
        #: Messages that either server sends in a turn, its parts.
        self.parts = self.turn.parts

    def begin(self, share: Words64, dealt: Correlation) -> Contest:
        """Return the contest before anything was opened, with own shares of the first item."""
        return self._enter(share, np.arange(self._arms), 1, dealt)

    def packed(self, contest: Contest) -> bytes:
        """Pack the own shares of the item that comes next."""
        return pack_opening(self._opening(contest.item), contest.sent)

    def take(self, contest: Contest, others: bytes, dealt: Correlation) -> Contest:
        """Complete the item that comes next.

        ``others`` are the other server's shares; ``dealt`` is of all comparisons of the turn.

        Raises
        ------
        OpeningError
            If the shares are malformed.
        NoWinnerError
            If nobody wins.
        """
        item, number = contest.item, self._opening(contest.item)
        stage = (item - 1) // OPENINGS
        try:
            words = unpack_opening(number, others, len(self._pairs[stage]))
        except ValueError as malformed:
            raise OpeningError(f"{self._name}: an opening with {malformed}") from None
        side = Side(*(getattr(contest, field).copy() for field in Side._fields))
        own = _of(dealt, self._dealt[stage])
        take_opening(number, words, own, side, self._first)
        if number < OPENINGS - 1:
            open_next(number + 1, own, side, self._first)
            return msgspec.structs.replace(contest, item=item + 1, **side._asdict())
        contenders = contest.contenders.copy()
        groups = groups_of(contenders.size, self._arity)
        left = winners(contenders, contenders.size, groups, side.opened)
        if left < 0:
            raise NoWinnerError(f"{self._name}: nobody wins all comparisons of a group")
        return self._enter(contest.share, contenders[:left], item + 1, dealt)

    def exchange(
        self, contest: Contest, others: Iterator[bytes], dealt: Correlation
    ) -> tuple[Contest, bytes]:
        """Complete the items of a message; returns the own shares that became possible, packed."""
        sent = []
        for packed in others:
            contest = self.take(contest, packed, dealt)
            if contest.item <= self.turn.items:
                sent.append(self.packed(contest))
        return contest, b"".join(sent)

    def split(self, data: bytes, number: int, first: bool) -> Iterator[bytes]:
        """Split a message into its items, whose bytes come one after the other."""
        begin = 0
        for item in self.turn.items_of(number, first):
            end = begin + self.turn.item_bytes(item)
            yield data[begin:end]
            begin = end

    def _enter(self, share: Words64, contenders: Ints, item: int, dealt: Correlation) -> Contest:
        """Begin a stage, or be done where one is left."""
        stage = (item - 1) // OPENINGS
        if stage == len(self._pairs):
            none = Side(*(np.empty(0, np.uint64) for _ in Side._fields))
            return Contest(share, contenders, item, *none)
        both = contenders[self._pairs[stage]]
        side = new_side(len(both))
        side.sent[:] = share[both[:, 0]] - share[both[:, 1]]
        open_next(0, _of(dealt, self._dealt[stage]), side, self._first)
        return Contest(share, contenders, item, *side)

    @staticmethod
    def _opening(item: int) -> int:
        """Return which opening of its comparisons an item is."""
        return (item - 1) % OPENINGS


def _of(dealt: Correlation, part: slice) -> Correlation:
    """Return what was dealt for some of the comparisons."""
    return Correlation(*(each[part] for each in dealt))
