"""Views of a selection: all words that a server of a silent run was dealt, drew, or received.

All other knowledge of the server follows from its view, by the arithmetic of :class:`.Contests`. So
a simulator of views, with the right distribution, proves that the server learns nothing. The tests
have such a simulator (``tests/systems/silent_simulator.py``).

Many selections with the same number of owners stand side by side: the first axis of an array.
:func:`first_views` and :func:`second_views` make the views of a transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENINGS, Correlation
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
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares import comparisons
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.ciphers import (
    DEALT,
    TO_FIRST,
    TO_SECOND,
    UP,
    WORD_BYTES,
    Line,
    read_words,
)
from fedbandits.systems.samba.keys import DealtKeys, ServerKeys
from fedbandits.systems.samba.messages import DealtFirst, DealtSecond, ToFirst, ToSecond, Word
from fedbandits.systems.samba.silent import Contests, Deals
from fedbandits.systems.samba.streams import Pads


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
    """Results of a server's arithmetic on a view."""

    had: Any  # First or Second: the dealt words, expanded
    values: tuple[Words64, ...]  # (selections, comparisons of the stage): opened values, by item
    won: Ints  # (selections,) the winner's place after both shuffles
    unshuffled: Ints  # (selections,) the same with the server's own permutation undone
    shuffled: Ints  # (selections,) the same with the server's own permutation done once more
    share: Words64  # (selections, arms) of the scores after the server's own shuffle
    told: Words64  # (selections, arms) answers to the owners; of the first server only


def expanded_first(view: FirstView, arity: int) -> First:
    """Return the first server's dealt words, with an axis of selections in front."""
    count, arms = view.scores.shape
    had = [new_first(arms, comparisons(arms, arity)) for _ in range(count)]
    for words, shuffled, returned, expanded in zip(
        view.words, view.shuffled, view.returned, had, strict=True
    ):
        expand_first(words, ForFirst(shuffled, returned), expanded)
    return First(*_stacked(had))


def expanded_second(view: SecondView, arity: int) -> Second:
    """Return the second server's dealt words, with an axis of selections in front."""
    count, arms = view.pads.shape
    had = [new_second(arms, comparisons(arms, arity)) for _ in range(count)]
    corrections = zip(view.shuffled, view.bits, view.products, view.joined, strict=True)
    for words, dealt, expanded in zip(view.words, corrections, had, strict=True):
        expand_second(words, ForSecond(*dealt), expanded)
    return Second(*_stacked(had))


def _stacked(had: Sequence[First] | Sequence[Second]) -> Iterator[Any]:
    *fields, dealt = zip(*had, strict=True)
    yield from map(np.stack, fields)
    yield Correlation(*map(np.stack, zip(*dealt, strict=True)))


def open_first(view: FirstView, arity: int) -> Opened:
    """Compute the first server's results by the protocol's arithmetic."""
    had = expanded_first(view, arity)
    values, won = _replayed(had.share, had.comparisons, view.openings, arity, True)
    share, answers = np.empty_like(view.scores), np.empty_like(view.scores)
    for k in range(len(share)):
        permuted_share(view.scores[k], view.ahead[k], had.places[k], view.shuffled[k], share[k])
        returned_share(view.unit[k], had.places[k], view.returned[k], answers[k])
    back, there = _through(had.places, won)
    return Opened(had, values, won, back, there, share, answers + view.answers)


def open_second(view: SecondView, arity: int) -> Opened:
    """Compute the second server's results."""
    had = expanded_second(view, arity)
    share = second_share(view, had)
    values, won = _replayed(share, had.comparisons, view.openings, arity, False)
    back, there = _through(had.places, won)
    return Opened(had, values, won, back, there, share, np.empty((len(won), 0), np.uint64))


def second_share(view: SecondView, had: Second) -> Words64:
    """Return the second server's shares of the shuffled scores, (selections, arms)."""
    share = np.empty_like(view.moved)
    for k in range(len(share)):
        permuted_share(had.share[k], view.moved[k], had.places[k], view.shuffled[k], share[k])
    return share


def _replayed(
    share: Words64, dealt: Correlation, openings: tuple[Words64, ...], arity: int, first: bool
) -> tuple[tuple[Words64, ...], Ints]:
    """Play one server's side again: all opened values, and the winners."""
    contests, values = Contests(share.shape[1], arity, first, "audit"), []
    contest = contests.begin(share, dealt)
    for item, others in enumerate(openings):
        own = contest.sent.reshape(others.shape)
        values.append(own ^ others if item % OPENINGS else own + others)
        contest = contests.take(contest, np.ascontiguousarray(others).ravel(), dealt)
    return tuple(values), contest.contenders[:, 0]


def _through(places: Ints, won: Ints) -> tuple[Ints, Ints]:
    """Return the winner's place with a permutation undone, and with it done once more."""
    rows = np.arange(len(won))
    return np.argsort(places, axis=1)[rows, won], places[rows, won]


def first_views(run: PartiesReplicate, keys: ServerKeys) -> list[FirstView]:
    """Return the Controller's view of every turn; arrays have a single selection."""
    reader, owners = _Reader(run, keys.dealt, first=True), [p.name for p in run.of("owner")]
    ups = [Line(reader.cipher, seals.up, UP) for seals in keys.owners]
    line, views = Line(reader.cipher, keys.link.to_first, TO_FIRST), list[FirstView]()
    ahead = np.empty(0, np.uint64)
    for turn, (step, iteration) in enumerate(reader.turns):
        if turn == 0:
            _, (ahead,) = reader.opened(line, (step, iteration), range(1))
        scores = []
        for i, (up, owner) in enumerate(zip(ups, owners, strict=True)):
            sealed = reader.sent[Word, step, iteration, owner]
            scores.append(read_words(up.open(step, iteration, i, sealed, WORD_BYTES)))
        last = turn + 1 == len(reader.turns)
        openings, (unit, answers, *following) = reader.opened(line, (step, iteration), last=last)
        words, corrections = reader.dealt(turn, DealtFirst)
        shuffled, returned = reader.deals.split_first(corrections)
        view = (shuffled, returned, np.concatenate(scores), ahead, openings, unit, answers)
        views.append(FirstView(*_one(words, *view)))
        ahead = following[0] if following else ahead
    return views


def second_views(run: PartiesReplicate, keys: ServerKeys) -> list[SecondView]:
    """Return Comp's view of every turn; parameters as of :func:`first_views`."""
    reader = _Reader(run, keys.dealt, first=False)
    line, views = Line(reader.cipher, keys.link.to_second, TO_SECOND), list[SecondView]()
    pads = [(Pads(k.words, reader.agreed), Pads(k.answers, reader.agreed)) for k in keys.owners]
    for turn, (step, iteration) in enumerate(reader.turns):
        openings, (moved,) = reader.opened(line, (step, iteration))
        words, corrections = reader.dealt(turn, DealtSecond)
        own, answers = (
            np.array([pair[k].draw(step, iteration) for pair in pads], np.uint64) for k in (0, 1)
        )
        dealt = reader.deals.split_second(corrections)
        views.append(SecondView(*_one(words, *dealt, own, answers, moved, openings)))
    return views


class _Reader:
    """Opens the messages that reached a server."""

    def __init__(self, run: PartiesReplicate, keys: DealtKeys, first: bool) -> None:
        plan: Any = run.plan
        self.agreed, self.cipher = run.one("controller").agreement, plan.config.packet_cipher
        self.sent, self.arms = _sent(run), plan.arms
        self.turns = sorted({key[1:3] for key in self.sent if key[0] is Word})
        self.deals, self._first, self._keys = Deals(plan), first, keys
        self._contests = Contests(plan.arms, plan.config.arity, first, "audit")
        self._words = KeyStream(keys.words, self.deals.widths[0 if first else 1])

    def dealt(self, turn: int, kind: type) -> tuple[Words64, bytes]:
        """Return the seed's words of a turn, and their corrections."""
        block, size = self.deals.of(turn), self.deals.bytes[0 if self._first else 1]
        opened = Line(self.cipher, self._keys.sealed, DEALT).open(
            block, 1, 0, self.sent[kind, block], self.deals.length(block) * size
        )
        place = turn - block * self.deals.selections
        return self._words.block(turn, 1)[0], opened[place * size : (place + 1) * size]

    def opened(
        self, line: Line, turn: tuple[int, int], parts: range | None = None, last: bool = False
    ) -> tuple[tuple[Words64, ...], Words64]:
        """Return the other server's shares of all items of a turn, and its other words.

        ``parts`` are the opened messages, by default all of the turn; ``last`` says whether the
        turn is the last of the run.
        """
        contests, theirs, layout = self._contests, not self._first, self._contests.turn
        items, rest = list[Words64](), list[Words64]()
        kind = ToFirst if self._first else ToSecond
        for part in parts or range(1, layout.parts + 1):
            sealed = self.sent[kind, *turn, part]
            opened = line.open(*turn, part, sealed, layout.size_of(part, theirs, last))
            words, packed = layout.split(opened, part, theirs)
            numbered = zip(
                layout.items_of(part, theirs), contests.split(packed, part, theirs), strict=True
            )
            items += (contests.unpacked(item, shares) for item, shares in numbered)
            rest.append(words)
        return tuple(items), np.concatenate(rest)


def _sent(run: PartiesReplicate) -> dict[tuple[Any, ...], bytes]:
    """Return the sealed contents of a transcript, by type of message and turn."""
    sent = dict[tuple[Any, ...], bytes]()
    for _, message in run.network.transcript.deliveries:
        match message:
            case Word():
                sent[Word, message.step, message.iteration, message.sender] = message.sealed
            case ToFirst() | ToSecond():
                place = (message.step, message.iteration, message.part)
                sent[type(message), *place] = message.sealed
            case DealtFirst() | DealtSecond():
                sent[type(message), message.block] = message.sealed
    return sent


def _one(*values: Any) -> Iterator[Any]:
    """Put an axis of a single selection in front."""
    for value in values:
        if isinstance(value, tuple):
            yield tuple(item[None] for item in value)
        else:
            array: NDArray[Any] = value
            yield array[None]
