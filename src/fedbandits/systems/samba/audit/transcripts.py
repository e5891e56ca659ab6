"""Contents of a run's transcript: keys that can be found, the truth, and both servers' views."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.kernels.comparison import OPENINGS
from fedbandits.crypto.keystream import KEY_BYTES, KeyStream
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.crypto.shares import unpack_opening
from fedbandits.federation.messages import Message
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.ciphers import (
    BIT_BYTES,
    BITS,
    DEALT,
    SCORE_BYTES,
    SCORES,
    TO_FIRST,
    TO_SECOND,
    UP,
    WORD_BYTES,
    Line,
    floats,
    read_words,
)
from fedbandits.systems.samba.keys import DealtKeys, FirstKeys, SecondKeys
from fedbandits.systems.samba.messages import (
    BitList,
    DealtFirst,
    DealtSecond,
    ScoreList,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.silent.contest import Contests
from fedbandits.systems.samba.silent.dealt import Deals
from fedbandits.systems.samba.silent.views import FirstView, SecondView, comparisons_per_item
from fedbandits.systems.samba.streams import Pads


def keys_of_party(party: Any) -> tuple[set[bytes], list[PrivateKey]]:
    """Find every secret in a party: 32-byte strings, and Paillier keys."""
    symmetric: set[bytes] = set()
    private: list[PrivateKey] = []
    seen: set[int] = set()
    queue = [party]
    while queue:
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, bytes):
            symmetric |= {thing} if len(thing) == KEY_BYTES else set()
        elif isinstance(thing, PrivateKey):
            private.append(thing)
        elif isinstance(thing, Mapping):
            queue.extend(itertools.chain(thing.keys(), thing.values()))
        elif isinstance(thing, list | tuple | set):
            queue.extend(thing)
        elif isinstance(thing, msgspec.Struct):
            queue.extend(getattr(thing, field) for field in thing.__struct_fields__)
        elif type(thing).__module__.startswith("fedbandits"):
            queue.extend(vars(thing).values() if hasattr(thing, "__dict__") else ())
    return symmetric, private


def common_divisor(values: Floats) -> float:
    """Return the largest odd divisor of all significands: an unrounded mask, if there is one."""
    significands = [int(np.ldexp(np.frexp(value)[0], 53)) for value in values if value != 0.0]
    divisor = math.gcd(*significands)
    return float(divisor >> ((divisor & -divisor).bit_length() - 1)) if divisor else 1.0


def keys_of_message(message: Message) -> Iterator[bytes]:
    """Find the fields of a message that may be keys."""
    for field in message.__struct_fields__:
        value = getattr(message, field)
        if isinstance(value, bytes) and len(value) == KEY_BYTES and field != "sealed":
            yield value


class Truth:
    """Truth about a run, known to whoever has every key."""

    def __init__(self, run: PartiesReplicate) -> None:
        self._comp, self._controller = run.one("comp"), run.one("controller")
        #: sᵢ of every owner.
        self.sums = [owner.state.rewards for owner in run.of("owner")]
        #: The sum of all rewards.
        self.total = sum(self.sums)
        turns = {
            (m.step, m.iteration)
            for _, m in run.network.transcript.deliveries
            if isinstance(m, ScoreList)
        }
        #: (arms,) places of the owners, by step and iteration.
        self.lists = {turn: self._controller.draws.places(*turn) for turn in turns}
        self._contents: dict[tuple[int, int, int, bytes], bytes] = {}
        self._scores: dict[tuple[int, int], Floats] = {}
        for _, message in run.network.transcript.deliveries:
            if isinstance(message, ScoreList | BitList):
                self._note(message)

    def _note(self, message: ScoreList | BitList) -> None:
        kind = (SCORES, SCORE_BYTES) if isinstance(message, ScoreList) else (BITS, BIT_BYTES)
        opened = self._comp.reopen(*kind, message.step, message.iteration, message.sealed)
        for sealed, contents in zip(message.sealed, opened, strict=True):
            self._contents[kind[0], message.step, message.iteration, sealed] = contents
        if isinstance(message, ScoreList):
            mask = self._controller.draws.mask(message.step, message.iteration)
            self._scores[message.step, message.iteration] = floats(opened) / mask

    def contents(self, direction: int, message: Any, sealed: bytes) -> bytes:
        """Return what is in a packet."""
        return self._contents[direction, message.step, message.iteration, sealed]

    def place(self, message: Any, owner: int) -> int:
        """Return where an owner stands in a list."""
        return int(self.lists[message.step, message.iteration][owner])

    def score(self, message: Any, owner: int) -> float:
        """Return an owner's score without its mask."""
        return float(self._scores[message.step, message.iteration][self.place(message, owner)])


def first_views(run: PartiesReplicate, keys: FirstKeys) -> list[FirstView]:
    """Return the Controller's views, one a turn; arrays have one selection.

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
            sealed = reader.sent[ToFirst, step, iteration, 0]
            ahead = read_words(line.open(step, iteration, 0, sealed, WORD_BYTES * reader.arms))
        scores = []
        for i, (up, owner) in enumerate(zip(ups, owners, strict=True)):
            sealed = reader.sent[Word, step, iteration, owner]
            scores.append(read_words(up.open(step, iteration, i, sealed, WORD_BYTES)))
        last = turn + 1 == len(reader.turns)
        openings, rest = reader.opened(line, (step, iteration), last)
        words, corrections = reader.dealt(turn, DealtFirst)
        shuffled, returned = read_words(corrections).reshape(2, -1)
        unit, answers, *following = rest.reshape(-1, reader.arms)
        view = (shuffled, returned, np.concatenate(scores), ahead, openings, unit, answers)
        views.append(FirstView(*_one(words, *view)))
        ahead = following[0] if following else ahead
    return views


def second_views(run: PartiesReplicate, keys: SecondKeys) -> list[SecondView]:
    """Return Comp's views, one a turn; parameters as of :func:`first_views`."""
    reader = _Reader(run, keys.dealt, first=False)
    line, views = Line(reader.cipher, keys.link.to_second, TO_SECOND), list[SecondView]()
    pads = [(Pads(k.words, reader.agreed), Pads(k.answers, reader.agreed)) for k in keys.owners]
    for turn, (step, iteration) in enumerate(reader.turns):
        openings, moved = reader.opened(line, (step, iteration), False)
        words, corrections = reader.dealt(turn, DealtSecond)
        own, answers = (
            np.array([pair[k].draw(step, iteration) for pair in pads], np.uint64) for k in (0, 1)
        )
        dealt = reader.deals.split_second(corrections)
        views.append(SecondView(*_one(words, *dealt, own, answers, moved, openings)))
    return views


class _Reader:
    """Opens what reached one of both servers."""

    def __init__(self, run: PartiesReplicate, keys: DealtKeys, first: bool) -> None:
        plan: Any = run.plan
        self.agreed, self.cipher = run.one("controller").agreement, plan.config.packet_cipher
        self.sent, self.arms = _sent(run), plan.arms
        self.turns = sorted({key[1:3] for key in self.sent if key[0] is Word})
        self.deals, self._first, self._keys = Deals(plan), first, keys
        self._contests = Contests(plan, "audit", first)
        self._counts = comparisons_per_item(plan.arms, plan.config.arity)
        self._words = KeyStream(keys.words, self.deals.widths[0 if first else 1])

    def dealt(self, turn: int, kind: type) -> tuple[Words64, bytes]:
        """Return the seed's words of a turn, and what corrects them."""
        block, size = self.deals.of(turn), self.deals.bytes[0 if self._first else 1]
        opened = Line(self.cipher, self._keys.sealed, DEALT).open(
            block, 1, 0, self.sent[kind, block], self.deals.length(block) * size
        )
        place = turn - block * self.deals.selections
        return self._words.block(turn, 1)[0], opened[place * size : (place + 1) * size]

    def opened(
        self, line: Line, turn: tuple[int, int], last: bool
    ) -> tuple[tuple[Words64, ...], Words64]:
        """Return the other server's shares of all items of a turn, and other words that it sent."""
        contests, items, rest = self._contests, list[Words64](), b""
        kind = ToFirst if self._first else ToSecond
        for part in range(1, contests.parts + 1):
            size = contests.turn.bytes_of(part, not self._first)
            more = self._vectors(part, last)
            opened = line.open(*turn, part, self.sent[kind, *turn, part], size + more)
            # The Controller's words come before its openings, Comp's after them.
            begin = 0 if self._first else more
            rest += opened[size:] if self._first else opened[:more]
            packed = contests.split(opened[begin : begin + size], part, not self._first)
            for item, shares in zip(
                contests.turn.items_of(part, not self._first), packed, strict=True
            ):
                number = (item - 1) % OPENINGS
                items.append(unpack_opening(number, shares, self._counts[item - 1]))
        return tuple(items), read_words(rest)

    def _vectors(self, part: int, last: bool) -> int:
        """Return the bytes of a message of the other server that are no openings."""
        if self._first:
            count = 0 if part < self._contests.parts else (2 if last else 3)
        else:
            count = 1 if part == 1 else 0
        size: int = WORD_BYTES * self.arms * count
        return size


def _sent(run: PartiesReplicate) -> dict[tuple[Any, ...], bytes]:
    """Return the sealed contents of a transcript, by what they belong to."""
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
    """Put an axis of one selection in front."""
    for value in values:
        if isinstance(value, tuple):
            yield tuple(each[None] for each in value)
        else:
            array: NDArray[Any] = value
            yield array[None]
