"""A server's view of a selection, made of random numbers: no score goes into it.

A server learns nothing from a selection if what it sees could have been made without the scores.
This module makes it, from the number of owners, the arity and a key. Almost every word that reaches
a server is masked by a word that only the other server has, and that is used once: such a word is
made by drawing it. Two kinds are not:

* Which of two is the larger is open. After two shuffles the scores stand in uniformly random order,
  and no two are equal. So results are made of a uniformly random order.
* The other server's share of such a result follows from the result and from the own share. The
  server works that out of its view, here as in the protocol.

``test_silent_views.py`` holds made and real views against one another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENING_BITS, OPENINGS, Correlation
from fedbandits.crypto.kernels.dealing import first_width, permute, second_width
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares import comparisons
from fedbandits.systems.samba.audit.views import (
    FirstView,
    SecondView,
    expanded_first,
    expanded_second,
    second_share,
)
from fedbandits.systems.samba.silent import Contests

#: Words of a given number of selections and columns.
Draw = Callable[[int], Words64]


def simulate_first(key: bytes, selections: int, arms: int, arity: int) -> FirstView:
    """Make a view of the first server, the Controller.

    Parameters
    ----------
    key
        32 bytes, from which all is drawn.
    selections
        How many selections.
    arms
        Owners that take part.
    arity
        Contenders of a group at most.
    """
    draw = _uniform(key, selections)
    words = draw(first_width(arms, comparisons(arms, arity)))
    shuffled, returned, scores, ahead, unit, answers = (draw(arms) for _ in range(6))
    view = FirstView(words, shuffled, returned, scores, ahead, (), unit, answers)
    had = expanded_first(view, arity)
    openings = _openings(Contests(arms, arity, True, "made"), had.share, had.comparisons, draw)
    return view._replace(openings=openings)


def simulate_second(key: bytes, selections: int, arms: int, arity: int) -> SecondView:
    """Make a view of the second server, Comp; parameters as of :func:`simulate_first`."""
    draw = _uniform(key, selections)
    compared = comparisons(arms, arity)
    words = draw(second_width(arms, compared))
    shuffled, pads, answer_pads, moved = (draw(arms) for _ in range(4))
    bits, joined = draw(compared), draw(compared)
    products = draw(compared).astype(np.uint32)
    view = SecondView(
        words, shuffled, bits, products, joined, pads, answer_pads, moved, openings=()
    )
    had = expanded_second(view, arity)
    share, contests = second_share(view, had), Contests(arms, arity, False, "made")
    return view._replace(openings=_openings(contests, share, had.comparisons, draw))


def _openings(
    contests: Contests, share: Words64, dealt: Correlation, draw: Draw
) -> tuple[Words64, ...]:
    """Make the other server's shares of all openings."""
    ranks, openings = _random_order(draw(share.shape[1])), list[Words64]()
    rows, contest = np.arange(len(ranks))[:, None], contests.begin(share, dealt)
    for item in range(contests.turn.items):
        compared = contests.compared(contest)
        number, shape = item % OPENINGS, compared.shape[:2]
        if number == OPENINGS - 1:  # who is the larger is open
            lost = ranks[rows, compared[..., 0]] < ranks[rows, compared[..., 1]]
            others = contest.sent.reshape(shape) ^ lost.astype(np.uint64)
        else:
            others = draw(shape[1]) >> np.uint64(64 - OPENING_BITS[number])
        contest = contests.take(contest, others.ravel(), dealt)
        openings.append(others)
    return tuple(openings)


def _uniform(key: bytes, selections: int) -> Draw:
    """Draw uniform words, no two calls the same."""
    stream, used = KeyStream(key, 1), 0

    def draw(columns: int) -> Words64:
        nonlocal used
        words = stream.block(used, selections * columns).reshape(selections, columns)
        used += selections * columns
        return words.copy()

    return draw


def _random_order(words: Words64) -> Ints:
    """Draw uniformly random ranks, one row a selection."""
    ranks = np.empty(words.shape, np.int64)
    for k in range(len(words)):
        permute(words[k], ranks[k])
    return ranks
