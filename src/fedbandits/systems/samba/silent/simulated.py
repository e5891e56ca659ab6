"""Parts of a simulated silent run: its dealer, the owners' streams, and the shared total."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.aead import CipherName
from fedbandits.crypto.kernels.dealing import first_width, second_width
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.samba.ciphers import (
    DEALT,
    TOTAL,
    UP,
    WORD_BYTES,
    Line,
    opened_total,
    to_bytes,
    to_words,
    word_bytes,
    word_of,
)
from fedbandits.systems.samba.kernels.buffers import OwnerWords, correction_words
from fedbandits.systems.samba.kernels.servers import deal_turns
from fedbandits.systems.samba.kernels.silent import SilentScratch, bits_for_ties, new_silent_scratch
from fedbandits.systems.samba.keys import (
    DealerKeys,
    LinkKeys,
    OwnerKeys,
    SimulatedSecrets,
    TotalKey,
    make_keys,
)
from fedbandits.systems.samba.plan import Agreement
from fedbandits.systems.samba.silent.dealt import Turn, make_turn
from fedbandits.systems.samba.steps import Setting, Timer
from fedbandits.systems.samba.streams import SilentStreams, total_pad


class _Seals(Protocol):
    """How corrections are sealed for both servers, and opened by them."""

    def seal(self, first: int, corrections: list[Words64]) -> Any:
        """Seal corrections; the turns are numbered from ``first`` on."""

    def open(self, first: int, turns: int, sealed: Any) -> list[Words64]:
        """Open corrections of so many turns."""


class _KeyStreamSeals:
    """Corrections are sealed by key stream, in place."""

    def __init__(self, keys: tuple[bytes, bytes], sizes: tuple[int, int], most: int) -> None:
        self._streams = [KeyStream(key, size) for key, size in zip(keys, sizes, strict=True)]
        self._pads = [np.empty((most, size), np.uint64) for size in sizes]

    def seal(self, first: int, corrections: list[Words64]) -> list[Words64]:
        for stream, pad, words in zip(self._streams, self._pads, corrections, strict=True):
            some = pad[: len(words)]
            stream.fill(first, some)
            np.bitwise_xor(words, some, out=words)
        return corrections

    def open(self, first: int, turns: int, sealed: list[Words64]) -> list[Words64]:
        del first, turns
        for pad, words in zip(self._pads, sealed, strict=True):
            np.bitwise_xor(words, pad[: len(words)], out=words)
        return sealed


class _PacketSeals:
    """Corrections of some turns are one packet for either server."""

    def __init__(
        self, cipher: CipherName, keys: tuple[bytes, bytes], sizes: tuple[int, int]
    ) -> None:
        self._lines, self._sizes = [Line(cipher, key, DEALT) for key in keys], sizes

    def seal(self, first: int, corrections: list[Words64]) -> list[bytes]:
        pairs = zip(self._lines, corrections, strict=True)
        return [line.seal(first, 1, 0, to_bytes(words)) for line, words in pairs]

    def open(self, first: int, turns: int, sealed: list[bytes]) -> list[Words64]:
        sides = zip(self._lines, sealed, self._sizes, strict=True)
        return [
            to_words(line.open(first, 1, 0, packet, WORD_BYTES * turns * size))
            for line, packet, size in sides
        ]


class _Words(NamedTuple):
    """Words of both servers' seeds for some turns, a row a turn."""

    first: Words64
    second: Words64


class SeedWords:
    """The words that both servers expand, as they and the dealer make them, each for itself.

    Parameters
    ----------
    keys
        What the dealer shares with either server.
    arms, comparisons
        Entries of a selection, and its comparisons.
    most
        Turns whose words are made at once, at most.
    """

    def __init__(self, keys: DealerKeys, arms: int, comparisons: int, most: int) -> None:
        widths = first_width(arms, comparisons), second_width(arms, comparisons)
        secrets = keys.first.words, keys.second.words
        self._streams = [KeyStream(key, width) for key, width in zip(secrets, widths, strict=True)]
        self._memory = [np.empty((most, width), np.uint64) for width in widths]

    def make(self, first: int, turns: int, at: int = 0) -> _Words:
        """Make the words of so many turns from turn number ``first`` on.

        They lie from row ``at`` of the memory on, until others do.
        """
        made = _Words(*(words[at : at + turns] for words in self._memory))
        for stream, words in zip(self._streams, made, strict=True):
            stream.fill(first, words)
        return made


class Dealer:
    """Deals for some turns after the others.

    Parameters
    ----------
    keys
        What it shares with either server.
    arms, comparisons
        Entries of a selection, and its comparisons.
    most
        Turns that are dealt for at once, at most.
    cipher
        What corrections are sealed by.
    timer
        What its own time is measured by.
    """

    def __init__(
        self, keys: DealerKeys, arms: int, comparisons: int, most: int, cipher: CipherName,
        timer: Timer,
    ) -> None:  # fmt: skip
        self._comparisons, self._timer = comparisons, timer
        self._words = SeedWords(keys, arms, comparisons, most)
        sizes = 2 * arms, correction_words(arms, comparisons)
        self._memory = [np.empty((most, n), np.uint64) for n in sizes]
        seals = keys.first.sealed, keys.second.sealed
        self._seals: _Seals = (
            _KeyStreamSeals(seals, sizes, most) if cipher == "stream"
            else _PacketSeals(cipher, seals, sizes)
        )  # fmt: skip
        self._places = np.empty(arms, np.int64)
        #: Seconds that the dealer has worked.
        self.seconds = 0.0

    def deal(self, first: int, turns: int) -> tuple[Words64, Words64]:
        """Deal corrections for both servers, for so many turns from turn number ``first`` on.

        They are overwritten by the next call.
        """
        corrections = [words[:turns] for words in self._memory]
        began = self._timer()
        words = self._words.make(first, turns)
        deal_turns(*words, self._comparisons, self._places, *corrections)
        sealed = self._seals.seal(first, corrections)
        self.seconds += self._timer() - began
        opened = self._seals.open(first, turns, sealed)
        for_first, for_second = (
            words.reshape(made.shape) for words, made in zip(opened, corrections, strict=True)
        )
        return for_first, for_second


#: Turns that are made at once at least: an owner has its own keys, and to go on with the stream of
#: one takes longer than to make a few words.
_LEAST_TURNS = 256


class OwnerStreams:
    """A word an owner, a turn and a purpose.

    Parameters
    ----------
    keys
        Of every owner.
    agreed
        What the run is about.
    sealed
        Whether words and answers are sealed by key stream.
    """

    def __init__(self, keys: list[OwnerKeys], agreed: Agreement, sealed: bool) -> None:
        purposes = [[k.pads.words for k in keys], [k.pads.answers for k in keys]]
        if sealed:
            purposes += [[k.seals.up for k in keys], [k.seals.down for k in keys]]
        self._purposes = [[KeyStream(key, 1) for key in of_all] for of_all in purposes]
        self._unsealed = np.zeros((agreed.arms, 1), np.uint64)
        self._made: list[Words64] = []
        self._first, self._turns = 0, 0

    def words(self, first: int, turns: int) -> tuple[OwnerWords, int]:
        """Make words of so many turns from turn number ``first`` on.

        Returns
        -------
        OwnerWords
            Of some turns; later calls overwrite them.
        int
            The column of turn ``first``.
        """
        offset = first - self._first
        if not (self._made and 0 <= offset <= self._turns - turns):
            self._make(first, max(turns, _LEAST_TURNS))
            offset = 0
        return OwnerWords(*self._made, *[self._unsealed] * (4 - len(self._made))), offset

    def _make(self, first: int, turns: int) -> None:
        owners = len(self._unsealed)
        if turns != self._turns:
            self._made = [np.empty((owners, turns), np.uint64) for _ in self._purposes]
        self._first, self._turns = first, turns
        for streams, words in zip(self._purposes, self._made, strict=True):
            for stream, row in zip(streams, words, strict=True):
                stream.fill(first, row[:, None])


class SimulatedParts(NamedTuple):
    """Parts of a machine that plays all parties."""

    turn: Turn
    draws: SilentStreams
    tie_bits: int
    scratch: SilentScratch
    owners: list[OwnerKeys]
    streams: OwnerStreams
    link: LinkKeys
    dealer: Dealer
    words: SeedWords


def make_parts(setting: Setting, most: int) -> SimulatedParts:
    """Make the parts of one run.

    Parameters
    ----------
    setting
        What is played.
    most
        Turns that are dealt for at once, at most. Servers expand words of one turn more.
    """
    agreed, config = setting.agreed, setting.plan.config
    arms, cipher = agreed.arms, config.packet_cipher
    turn, secrets = make_turn(arms, config.arity), setting.secrets
    owners, comparisons = secrets.owner_keys(agreed), sum(turn.comparisons)
    keys = DealerKeys.make(secrets._asdict(), agreed)
    return SimulatedParts(
        turn=turn,
        draws=SilentStreams(setting.secrets, agreed),
        tie_bits=bits_for_ties(arms),
        scratch=new_silent_scratch(arms),
        owners=owners,
        streams=OwnerStreams(owners, agreed, cipher == "stream"),
        link=make_keys(LinkKeys, secrets.link, agreed),
        dealer=Dealer(keys, arms, comparisons, most, cipher, setting.timer),
        words=SeedWords(keys, arms, comparisons, most + 1),
    )


def _carried(line: Line, step: int, word: np.uint64) -> np.uint64:
    """Seal a word where it leaves, and open it where it arrives."""
    sealed = line.seal(step, 1, 0, word_bytes(int(word)))
    return np.uint64(word_of(line.open(step, 1, 0, sealed, WORD_BYTES)))


class SharedTotal:
    """The total of a simulated run: owners split their sums between both servers.

    Parameters
    ----------
    secrets
        Of all parties.
    agreed
        What the run is about.
    cipher
        What packets are sealed by.
    """

    def __init__(self, secrets: SimulatedSecrets, agreed: Agreement, cipher: CipherName) -> None:
        keys = secrets.owner_keys(agreed)
        self._pads: Words64 = np.array([total_pad(k.pads.total) for k in keys], np.uint64)
        self._ups = [Line(cipher, k.seals.up, UP) for k in keys]
        self._bills = [
            Line(cipher, make_keys(TotalKey, secret, agreed).total, TOTAL)
            for secret in (secrets.bill, secrets.receipt)
        ]
        self._budget = agreed.budget

    def add(self, sums: Floats, seconds: dict[str, float], clock: Timer) -> int:
        """Add up all sums, (arms,), as the customer gets them; the roles' seconds grow."""
        began, step = clock(), self._budget + 1
        words = sums.astype(np.int64).view(np.uint64) - self._pads
        shares = [_carried(line, step, word) for line, word in zip(self._ups, words, strict=True)]
        sent = clock()
        first = _carried(self._bills[0], step, np.sum(shares, dtype=np.uint64))
        added = clock()
        second = _carried(self._bills[1], step, self._pads.sum(dtype=np.uint64))
        told = clock()
        total = opened_total(int(first), int(second), self._budget)
        seconds["data owners"] += sent - began
        seconds["controller"] += added - sent
        seconds["comp"] += told - added
        seconds["customer"] += clock() - told
        return total
