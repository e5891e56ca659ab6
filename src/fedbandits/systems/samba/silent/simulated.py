"""Parts of a simulated silent run: its dealer, the owners' streams, and the shared total."""

from __future__ import annotations

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
    read_word,
    read_words,
    write_word,
    write_words,
)
from fedbandits.systems.samba.kernels.servers import OwnerWords, correction_words, deal_turns
from fedbandits.systems.samba.kernels.silent import bits_for_ties, new_silent_scratch
from fedbandits.systems.samba.keys import (
    DealerKeys,
    LinkKeys,
    OwnerKeys,
    SimulatedSecrets,
    TotalKey,
    make_keys,
)
from fedbandits.systems.samba.plan import Agreement
from fedbandits.systems.samba.silent.dealt import make_turn
from fedbandits.systems.samba.steps import Setting, Timer
from fedbandits.systems.samba.streams import SilentStreams, total_pad

#: Turns that are made at once at least: an owner has its own keys, and to go on with the stream of
#: one takes longer than to make a few words.
_LEAST_TURNS = 256


class SeedWords:
    """Words that both servers expand, as they and the dealer make them, each for itself.

    At most ``most`` turns are made at once.
    """

    def __init__(self, keys: DealerKeys, arms: int, comparisons: int, most: int) -> None:
        widths = first_width(arms, comparisons), second_width(arms, comparisons)
        secrets = keys.first.words, keys.second.words
        self._streams = [KeyStream(key, width) for key, width in zip(secrets, widths, strict=True)]
        self._memory = [np.empty((most, width), np.uint64) for width in widths]

    def make(self, first: int, turns: int) -> tuple[Words64, Words64]:
        """Make both servers' words of so many turns from turn number ``first`` on, a row a turn."""
        one, other = (words[:turns] for words in self._memory)
        for stream, words in zip(self._streams, (one, other), strict=True):
            stream.fill(first, words)
        return one, other


class Dealer:
    """Deals for some turns after the others, and seals corrections for both servers.

    They are sealed by key stream, in place, or are one packet for either server. ``timer`` measures
    its own time; the others are as of :class:`SeedWords`.
    """

    def __init__(
        self, keys: DealerKeys, arms: int, comparisons: int, most: int, cipher: CipherName,
        timer: Timer,
    ) -> None:  # fmt: skip
        self._comparisons, self._timer = comparisons, timer
        self._words = SeedWords(keys, arms, comparisons, most)
        sizes = 2 * arms, correction_words(arms, comparisons)
        self._memory = [np.empty((most, size), np.uint64) for size in sizes]
        seals = keys.first.sealed, keys.second.sealed
        self._in_place = cipher == "stream"
        self._streams = [KeyStream(key, size) for key, size in zip(seals, sizes, strict=True)]
        self._pads = [np.empty((most * self._in_place, size), np.uint64) for size in sizes]
        self._lines = [Line(cipher, key, DEALT) for key in seals]
        self._places = np.empty(arms, np.int64)
        #: Seconds that the dealer has worked.
        self.seconds = 0.0

    def deal(self, first: int, turns: int) -> list[Words64]:
        """Deal corrections for both servers, for so many turns from turn number ``first`` on.

        They are overwritten by the next call.
        """
        corrections = [words[:turns] for words in self._memory]
        began = self._timer()
        words = self._words.make(first, turns)
        deal_turns(*words, self._comparisons, self._places, *corrections)
        if self._in_place:
            pads = [pad[:turns] for pad in self._pads]
            for stream, pad, made in zip(self._streams, pads, corrections, strict=True):
                stream.fill(first, pad)
                np.bitwise_xor(made, pad, out=made)
            self.seconds += self._timer() - began
            for pad, made in zip(pads, corrections, strict=True):
                np.bitwise_xor(made, pad, out=made)
            return corrections
        pairs = zip(self._lines, corrections, strict=True)
        sealed = [line.seal(first, 1, 0, write_words(made)) for line, made in pairs]
        self.seconds += self._timer() - began
        arrived = zip(self._lines, sealed, corrections, strict=True)
        return [
            read_words(line.open(first, 1, 0, packet, made.nbytes)).reshape(made.shape)
            for line, packet, made in arrived
        ]


class OwnerStreams:
    """Words of all owners, one an owner, a turn and a purpose.

    Words and answers are ``sealed`` by key stream, or not at all.
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
        """Make words of so many turns from turn ``first`` on; also returns the column of that turn.

        Later calls overwrite them.
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


class SimulatedParts:
    """Parts of a machine that plays all parties of one run.

    At most ``most`` turns are dealt for at once. Servers expand words of one turn more.
    """

    def __init__(self, setting: Setting, most: int) -> None:
        agreed, config, secrets = setting.agreed, setting.plan.config, setting.secrets
        arms, cipher = agreed.arms, config.packet_cipher
        self.turn = make_turn(arms, config.arity)
        comparisons = sum(self.turn.comparisons)
        self.draws = SilentStreams(secrets, agreed)
        self.tie_bits, self.scratch = bits_for_ties(arms), new_silent_scratch(arms)
        self.owners = secrets.owner_keys(agreed)
        self.streams = OwnerStreams(self.owners, agreed, cipher == "stream")
        self.link = make_keys(LinkKeys, secrets.link, agreed)
        keys = DealerKeys.make(secrets._asdict(), agreed)
        self.dealer = Dealer(keys, arms, comparisons, most, cipher, setting.timer)
        self.words = SeedWords(keys, arms, comparisons, most + 1)


def _carried(line: Line, step: int, word: np.uint64) -> np.uint64:
    """Seal a word where it leaves, and open it where it arrives."""
    sealed = line.seal(step, 1, 0, write_word(int(word)))
    return np.uint64(read_word(line.open(step, 1, 0, sealed, WORD_BYTES)))


class SharedTotal:
    """The total of a simulated run: owners split their sums between both servers."""

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
