"""What both servers of a silent run had in each turn, opened from the transcript of its parties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Words64
from fedbandits.crypto.shares.comparison import OPENINGS
from fedbandits.crypto.shares.openings import unpack_opening
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.silent.blocks import WORD_BYTES
from fedbandits.systems.samba.silent.contest import Contests
from fedbandits.systems.samba.silent.dealt_to_server import Deals
from fedbandits.systems.samba.silent.messages import (
    DealtFirst,
    DealtSecond,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.silent.packets import Line, to_words
from fedbandits.systems.samba.silent.streams import (
    DEALT,
    TO_FIRST,
    TO_SECOND,
    UP,
    DealtKeys,
    DealtWords,
    FirstKeys,
    Pads,
    SecondKeys,
)
from fedbandits.systems.samba.silent.views import (
    FirstView,
    SecondView,
    comparisons_per_item,
)

_Turn = tuple[int, int]


class _Sent(NamedTuple):
    """Sealed contents of a transcript, by what they belong to."""

    words: dict[_Turn, dict[str, bytes]]
    to_first: dict[tuple[int, int, int], bytes]
    to_second: dict[tuple[int, int, int], bytes]
    dealt: dict[tuple[type, int], bytes]


def first_views(run: PartiesReplicate, keys: FirstKeys) -> list[FirstView]:
    """The Controller's views, one a turn; arrays have one selection.

    Parameters
    ----------
    run
        A silent run, played to its end.
    keys
        What the Controller has.
    """
    reader, owners = _Reader(run, keys.dealt, first=True), [p.name for p in run.of("owner")]
    ups = [Line(reader.cipher, each.up, UP) for each in keys.owners]
    line, views = Line(reader.cipher, keys.link.to_first, TO_FIRST), list[FirstView]()
    ahead = np.empty(0, np.uint64)
    for turn, (step, iteration) in enumerate(reader.turns):
        if turn == 0:
            sealed = reader.sent.to_first[step, iteration, 0]
            ahead = to_words(line.open(step, iteration, 0, sealed, WORD_BYTES * reader.arms))
        sent = reader.sent.words[step, iteration]
        scores = [
            to_words(up.open(step, iteration, i, sent[owner], WORD_BYTES))
            for i, (up, owner) in enumerate(zip(ups, owners, strict=True))
        ]
        last = turn + 1 == len(reader.turns)
        openings, rest = reader.opened(line, reader.sent.to_first, (step, iteration), last)
        words, corrections = reader.dealt(turn, DealtFirst)
        shuffled, returned = to_words(corrections).reshape(2, -1)
        unit, answers, *following = rest.reshape(-1, reader.arms)
        view = (shuffled, returned, np.concatenate(scores), ahead, openings, unit, answers)
        views.append(FirstView(*_one(words, *view)))
        ahead = following[0] if following else ahead
    return views


def second_views(run: PartiesReplicate, keys: SecondKeys) -> list[SecondView]:
    """Comp's views, one a turn; parameters as of :func:`first_views`."""
    reader = _Reader(run, keys.dealt, first=False)
    line, views = Line(reader.cipher, keys.link.to_second, TO_SECOND), list[SecondView]()
    pads = [(Pads(k.words, reader.agreed), Pads(k.answers, reader.agreed)) for k in keys.owners]
    for turn, (step, iteration) in enumerate(reader.turns):
        openings, moved = reader.opened(line, reader.sent.to_second, (step, iteration), False)
        words, corrections = reader.dealt(turn, DealtSecond)
        ends = np.cumsum([WORD_BYTES * reader.arms, *(n * reader.compared for n in (8, 4))])
        shuffled, bits, products, joined = np.split(np.frombuffer(corrections, np.uint8), ends)
        own, answers = (
            np.array([pair[k].draw(step, iteration) for pair in pads], np.uint64) for k in (0, 1)
        )
        view = (
            to_words(shuffled.tobytes()), to_words(bits.tobytes()),
            np.frombuffer(products.tobytes(), "<u4").astype(np.uint32),
            to_words(joined.tobytes()), own, answers, moved, openings,
        )  # fmt: skip
        views.append(SecondView(*_one(words, *view)))
    return views


class _Reader:
    """Opens what reached one of both servers."""

    def __init__(self, run: PartiesReplicate, keys: DealtKeys, first: bool) -> None:
        plan: Any = run.plan
        self.agreed, self.cipher = run.one("controller").agreement, plan.config.packet_cipher
        self.sent, self.arms = _sent(run), plan.arms
        self.turns = sorted(self.sent.words)
        self._deals, self._first, self._keys = Deals(plan), first, keys
        self._contests = Contests(plan, "audit", first)
        self._counts = comparisons_per_item(plan.arms, plan.config.arity)
        self.compared = self._deals.comparisons
        self._words = DealtWords(keys.words, self._deals.widths[0 if first else 1])

    def dealt(self, turn: int, kind: type) -> tuple[Words64, bytes]:
        """The seed's words of a turn, and what corrects them."""
        block, size = self._deals.of(turn), self._deals.bytes[0 if self._first else 1]
        opened = Line(self.cipher, self._keys.sealed, DEALT).open(
            block, 1, 0, self.sent.dealt[kind, block], self._deals.length(block) * size
        )
        place = turn - block * self._deals.selections
        return self._words.block(turn, 1)[0], opened[place * size : (place + 1) * size]

    def opened(
        self, line: Line, sent: dict[tuple[int, int, int], bytes], turn: _Turn, last: bool
    ) -> tuple[tuple[Words64, ...], Words64]:
        """The other server's shares of all items of a turn, and whatever other words it sent."""
        contests, items, rest = self._contests, list[Words64](), b""
        for part in range(1, contests.parts + 1):
            size = contests.bytes_of(part, not self._first)
            more = self._vectors(part, last)
            opened = line.open(*turn, part, sent[(*turn, part)], size + more)
            # The Controller's words come before its openings, Comp's after them.
            begin = 0 if self._first else more
            rest += opened[size:] if self._first else opened[:more]
            packed = contests.split(opened[begin : begin + size], part, not self._first)
            for item, shares in zip(contests.items_of(part, not self._first), packed, strict=True):
                number = (item - 1) % OPENINGS
                items.append(unpack_opening(number, shares, self._counts[item - 1]))
        return tuple(items), to_words(rest)

    def _vectors(self, part: int, last: bool) -> int:
        """Bytes of a message of the other server that are no openings."""
        if self._first:
            count = 0 if part < self._contests.parts else (2 if last else 3)
        else:
            count = 1 if part == 1 else 0
        size: int = WORD_BYTES * self.arms * count
        return size


def _sent(run: PartiesReplicate) -> _Sent:
    sent = _Sent({}, {}, {}, {})
    for _, message in run.network.transcript.deliveries:
        match message:
            case Word():
                turn = (message.step, message.iteration)
                sent.words.setdefault(turn, {})[message.sender] = message.sealed
            case ToFirst():
                sent.to_first[message.step, message.iteration, message.part] = message.sealed
            case ToSecond():
                sent.to_second[message.step, message.iteration, message.part] = message.sealed
            case DealtFirst() | DealtSecond():
                sent.dealt[type(message), message.block] = message.sealed
    return sent


def _one(*values: Any) -> Iterator[Any]:
    """With an axis of one selection in front."""
    for value in values:
        if isinstance(value, tuple):
            yield tuple(each[None] for each in value)
        else:
            array: NDArray[Any] = value
            yield array[None]
