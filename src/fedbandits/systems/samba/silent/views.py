"""Views of a selection: all that a server was dealt, has of its own, and is sent.

Everything else that it knows follows from these, by arithmetic of its own that :class:`Tournaments`
does. So whoever can make these words up, with the right distribution, has shown that the server
learns nothing (:mod:`.simulator`).

Many selections with the same number of owners stand side by side: the first axis of an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import (
    OPENINGS,
    Correlation,
    new_side,
    open_next,
    take_opening,
)
from fedbandits.crypto.kernels.dealing import (
    First,
    ForFirst,
    ForSecond,
    Second,
    expand_first,
    expand_second,
    new_first,
    new_second,
    permuted_share,
    returned_share,
)
from fedbandits.crypto.kernels.tournament import winners
from fedbandits.crypto.shares import comparisons, groups_of, pairs, stage_sizes

#: One opening of every stage says which of two is the larger: the last one.
RESULT = OPENINGS - 1


class FirstView(NamedTuple):
    """View of the first server (Controller); arrays are (selections, arms) where not said."""

    words: Words64  # (selections, first_width) of its seed
    shuffled: Words64  # dealt: Δ of π₀
    returned: Words64  # dealt: Δ of π₀ undone
    scores: Words64  # x⁰, from the owners
    ahead: Words64  # m, from the second server
    openings: tuple[Words64, ...]  # (selections, comparisons of the stage): shares of the other
    unit: Words64  # m'', from the second server
    answers: Words64  # B'' + PRF', from the second server


class SecondView(NamedTuple):
    """View of the second server (Comp); arrays are (selections, arms) where not said."""

    words: Words64  # (selections, second_width) of its seed
    shuffled: Words64  # dealt: Δ of π₁
    bits: Words64  # (selections, comparisons), dealt
    products: NDArray[np.uint32]  # (selections, comparisons), dealt
    joined: Words64  # (selections, comparisons), dealt
    pads: Words64  # x¹, of its keys
    answer_pads: Words64  # PRF', of its keys
    moved: Words64  # m', from the first server
    openings: tuple[Words64, ...]  # (selections, comparisons of the stage): shares of the other


class Opened(NamedTuple):
    """Results that a server works out of a view."""

    values: tuple[Words64, ...]  # (selections, comparisons of the stage): what was opened, by item
    won: Ints  # (selections,) the winner's place after both shuffles
    unshuffled: Ints  # (selections,) the same with the server's own permutation undone
    shuffled: Ints  # (selections,) where that permutation takes it
    share: Words64  # (selections, arms) of the scores after the server's own shuffle
    told: Words64  # (selections, arms) what the owners are sent; of the first server only


class Tournaments:
    """One server's side of the tournaments of many selections.

    Parameters
    ----------
    shares
        Its shares of the shuffled scores, (selections, arms) uint64.
    dealt
        What it was dealt for comparisons, each array (selections, comparisons).
    arity
        Contenders of a group at most.
    first
        Whether it is the first server.
    """

    def __init__(self, shares: Words64, dealt: Correlation, arity: int, first: bool) -> None:
        self._shares, self._dealt, self._arity, self._first = shares, dealt, arity, first
        count, arms = shares.shape
        self._places = np.tile(np.arange(arms), (count, 1))
        self._left, self._used, self._item = arms, 0, 0
        self._rows = np.arange(count)[:, None]
        self.items = OPENINGS * len(stage_sizes(arms, arity))

    @property
    def result_is_next(self) -> bool:
        """True if the next opening says which of two is the larger."""
        return self._item % OPENINGS == RESULT

    @property
    def next_comparisons(self) -> int:
        """Comparisons of the stage that is played, in every selection."""
        return len(pairs(self._left, self._arity))

    def compared(self) -> tuple[Ints, Ints]:
        """Return the places of those compared in this stage, each (selections, comparisons)."""
        who = self._places[:, pairs(self._left, self._arity)]
        return who[..., 0], who[..., 1]

    def open(self) -> Words64:
        """Make own shares of the next opening, (selections, comparisons)."""
        number, count = self._item % OPENINGS, self.next_comparisons
        if number == 0:
            one, other = self.compared()
            stage = slice(self._used, self._used + count)
            self._now = Correlation(*(each[:, stage].ravel() for each in self._dealt))
            self._side = new_side(self._now.share.size)
            self._side.sent[:] = (
                self._shares[self._rows, one] - self._shares[self._rows, other]
            ).ravel()
            self._used += count
        open_next(number, self._now, self._side, self._first)
        return self._side.sent.reshape(-1, count).copy()

    def take(self, others: Words64) -> Words64:
        """Return what is opened, given the other server's shares, (selections, comparisons)."""
        number, own = self._item % OPENINGS, self._side.sent.reshape(others.shape).copy()
        flat = np.ascontiguousarray(others).ravel()
        take_opening(number, flat, self._now, self._side, self._first)
        self._item += 1
        if number == RESULT:
            results = self._side.opened.reshape(others.shape)
            groups = groups_of(self._left, self._arity)
            won = zip(self._places, results, strict=True)
            self._left = min(winners(places, self._left, groups, each) for places, each in won)
            if self._left < 0:
                raise ValueError("results that no numbers can cause")
        return own + others if number == 0 else own ^ others

    @property
    def won(self) -> Ints:
        """The winners' places, (selections,); all stages must have been played."""
        return self._places[:, 0].copy()


def comparisons_per_item(arms: int, arity: int) -> tuple[int, ...]:
    """Return the comparisons of every opening of a selection, in the order of items."""
    sizes = stage_sizes(arms, arity)
    return tuple(len(pairs(size, arity)) for size in sizes for _ in range(OPENINGS))


def expanded_first(view: FirstView, arity: int) -> First:
    """Return what the first server has been dealt, with an axis of selections in front."""
    count, arms = view.scores.shape
    had = [new_first(arms, comparisons(arms, arity)) for _ in range(count)]
    for words, shuffled, returned, each in zip(
        view.words, view.shuffled, view.returned, had, strict=True
    ):
        expand_first(words, ForFirst(shuffled, returned), each)
    return First(*_stacked(had))


def expanded_second(view: SecondView, arity: int) -> Second:
    """Return what the second server has been dealt, with an axis of selections in front."""
    count, arms = view.pads.shape
    had = [new_second(arms, comparisons(arms, arity)) for _ in range(count)]
    corrections = zip(view.shuffled, view.bits, view.products, view.joined, strict=True)
    for words, dealt, each in zip(view.words, corrections, had, strict=True):
        expand_second(words, ForSecond(*dealt), each)
    return Second(*_stacked(had))


def _stacked(had: Sequence[First] | Sequence[Second]) -> Iterator[Any]:
    *fields, dealt = zip(*had, strict=True)
    yield from map(np.stack, fields)
    yield Correlation(*map(np.stack, zip(*dealt, strict=True)))


def open_first(view: FirstView, had: First, arity: int) -> Opened:
    """Work out all that the first server can, of its view, by the protocol's arithmetic."""
    values, won = _replayed(Tournaments(had.share, had.comparisons, arity, True), view.openings)
    share, told = np.empty_like(view.scores), np.empty_like(view.scores)
    for k in range(len(share)):
        permuted_share(view.scores[k], view.ahead[k], had.places[k], view.shuffled[k], share[k])
        returned_share(view.unit[k], had.places[k], view.returned[k], told[k])
    back, there = _through(had.places, won)
    return Opened(values, won, back, there, share, told + view.answers)


def open_second(view: SecondView, had: Second, arity: int) -> Opened:
    """Work out all that the second server can, of its view."""
    share = second_share(view, had)
    values, won = _replayed(Tournaments(share, had.comparisons, arity, False), view.openings)
    back, there = _through(had.places, won)
    return Opened(values, won, back, there, share, np.empty((len(won), 0), np.uint64))


def second_share(view: SecondView, had: Second) -> Words64:
    """Return the second server's shares of the shuffled scores, (selections, arms)."""
    share = np.empty_like(view.moved)
    for k in range(len(share)):
        permuted_share(had.share[k], view.moved[k], had.places[k], view.shuffled[k], share[k])
    return share


def _replayed(
    contest: Tournaments, openings: tuple[Words64, ...]
) -> tuple[tuple[Words64, ...], Ints]:
    values = []
    for others in openings:
        contest.open()
        values.append(contest.take(others))
    return tuple(values), contest.won


def _through(places: Ints, won: Ints) -> tuple[Ints, Ints]:
    """Return the winner's place with a permutation undone, and with it done once more."""
    rows = np.arange(len(won))
    return np.argsort(places, axis=1)[rows, won], places[rows, won]
