"""Steps of a silent run without parties: plain, in one compiled loop, or packet by packet."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import position_prefix
from fedbandits.crypto.bulk import PacketRow
from fedbandits.crypto.kernels.dealing import first_width, second_width
from fedbandits.crypto.kernels.tournament import SEAL_WORDS
from fedbandits.crypto.keystream import KeyStream
from fedbandits.errors import FedbanditsError
from fedbandits.systems.samba.ciphers import DOWN, TO_FIRST, TO_SECOND, UP, WORD_BYTES
from fedbandits.systems.samba.kernels.servers import (
    Buffers,
    Dealt,
    Links,
    OwnerWords,
    buffer_words,
    buffers_in,
    select_and_prepare,
)
from fedbandits.systems.samba.kernels.silent import (
    SilentBatch,
    bits_for_ties,
    new_silent_scratch,
    note_answers,
    play_plain_silent,
    play_silent,
    shared_words,
)
from fedbandits.systems.samba.keys import LinkKeys
from fedbandits.systems.samba.silent.dealt import Deals, Turn, make_bracket
from fedbandits.systems.samba.silent.simulated import SimulatedParts
from fedbandits.systems.samba.steps import Setting, usual_steps
from fedbandits.systems.samba.streams import SilentStreams, turn_number

#: Steps that are played in one call at least.
_LEAST_STEPS = 256
#: Words dealt and expanded at once: more, and the memory costs more than the cipher.
_DEALT_AT_ONCE = 1 << 17
_SLOT = bytes(4)


def _not_one_chosen(step: int) -> FedbanditsError:
    """Make the error of a step after which not one owner was told 1: no scores can cause it."""
    return FedbanditsError(f"step {step}: not exactly one owner was chosen")


def _make_links(arms: int, comparisons: int, turns: int) -> Links:
    """Make zeros for so many turns."""
    openings = SEAL_WORDS * comparisons
    return Links(*(np.zeros((turns, n * arms + openings), np.uint64) for n in (1, 3)))


class PlainSilentSteps:
    """One machine compares the words of all owners, as every silent run must."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        self._streams = SilentStreams(setting.secrets, self.agreed)
        self._tie_bits = bits_for_ties(self.agreed.arms)
        self._scratch = new_silent_scratch(self.agreed.arms)
        self.at_once = usual_steps(setting)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`.steps.Steps`."""
        draws, setting = self._streams.batch(first, count), self._setting
        return play_plain_silent(
            setting.world, setting.rule.handle, self.agreed.iterations, setting.owners, setting.key,
            first, draws, self._tie_bits, self._scratch,
        )  # fmt: skip


class TurnMessages:
    """Plays turns in which nothing is sealed, and keeps what was sent in the last one."""

    def __init__(self, turn: Turn, arity: int) -> None:
        arms = turn.arms
        self._bracket = make_bracket(arms, arity)
        self._links = _make_links(arms, len(self._bracket.pairs), 1)
        self._memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        size = sum(map(turn.item_bytes, range(1, turn.items + 1)))
        self._openings = np.zeros((2, size), np.uint8)
        buffers: Buffers = buffers_in(self._memory, self._bracket, arms, self._openings)
        #: Of all owners: what they send, and the answers that they get.
        self.sent, self.answers = buffers.sent, buffers.answers
        self._between = [
            buffers.masked.data, *(each.data for each in self._openings), buffers.returned.data,
            buffers.padded.data, buffers.ahead.data,
        ]  # fmt: skip

    def play(self, dealt: Dealt, streams: OwnerWords, row: int, column: int, words: Words64) -> int:
        """Play one turn; see :func:`select_and_prepare`."""
        return select_and_prepare(
            self._bracket, dealt, self._links, streams, row, column, words, self._memory,
            self._openings,
        )  # fmt: skip

    def between(self) -> bytes:
        """Return what the servers have sent each other.

        First comes what the Controller sends: permuted shares, masked, and openings. Then what Comp
        sends: openings, the winner's place, masked, pads of answers, and shares of the next turn.
        """
        return b"".join(self._between)


class SilentSteps:
    """Servers compare scores that are shared between them; no packet is sealed by itself."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        config, arms, iterations = setting.plan.config, setting.agreed.arms, self.agreed.iterations
        self._bracket = make_bracket(arms, config.arity)
        memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        self._buffers = buffers_in(memory, self._bracket, arms, np.zeros((2, 0), np.uint8))
        self.at_once = max(_LEAST_STEPS, usual_steps(setting))
        comparisons = len(self._bracket.pairs)
        width = first_width(arms, comparisons) + second_width(arms, comparisons)
        self._dealt_at_once = max(1, _DEALT_AT_ONCE // (width * iterations))
        most = self._dealt_at_once * iterations
        self._parts = SimulatedParts(setting, most)
        self._links: list[KeyStream] = []
        sealed = config.packet_cipher == "stream"
        self._pads = _make_links(arms, comparisons, most if sealed else 1)
        if sealed:
            self._links = [
                KeyStream(key, rows.shape[1])
                for key, rows in zip(self._parts.link, self._pads, strict=True)
            ]

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`.steps.Steps`."""
        parts, setting, iterations = self._parts, self._setting, self.agreed.iterations
        draws = parts.draws.batch(first, count)
        begun = turn_number(self.agreed, first, 1)
        streams, column = parts.streams.words(begun, count * iterations)
        for begin in range(0, max(1, count), self._dealt_at_once):
            steps = min(self._dealt_at_once, count - begin)
            number, turns = begun + begin * iterations, steps * iterations
            end = begin + steps
            some = SilentBatch(draws.exploration[begin:end], draws.places[begin:end])
            refused = play_silent(
                setting.world, setting.rule.handle, iterations, setting.owners, setting.key,
                first + begin, some, parts.tie_bits, self._bracket,
                self._dealt(number, turns), self._sealed_links(number, turns), streams,
                column + begin * iterations, parts.scratch, self._buffers,
            )  # fmt: skip
            if refused < 0:
                raise _not_one_chosen(-refused)
            if refused:
                return refused
        setting.seconds["dealer"] = parts.dealer.seconds
        return 0

    def _dealt(self, number: int, turns: int) -> Dealt:
        """Return what both servers have for some turns."""
        corrections = self._parts.dealer.deal(number, turns)
        return Dealt(*self._parts.words.make(number, turns), *corrections)

    def _sealed_links(self, number: int, turns: int) -> Links:
        """Make the key stream of what the servers send each other in some turns."""
        if not self._links:
            return self._pads
        pads = Links(*(rows[:turns] for rows in self._pads))
        for stream, rows in zip(self._links, pads, strict=True):
            stream.fill(number, rows)
        return pads


class _Conversation:
    """The messages of both servers in a turn, sealed and opened; ``turn`` says their sizes."""

    def __init__(self, keys: LinkKeys, turn: Turn) -> None:
        of_all = [key for key in keys for _ in range(turn.parts)]
        self._ahead = turn.size_of(0, first=False)
        self._first = PacketRow([keys.to_first], [self._ahead])
        self._usual, self._last = (
            PacketRow(of_all, turn.message_bytes(True) + turn.message_bytes(False, last))
            for last in (False, True)
        )
        self._slots = [part.to_bytes(4, "big") for part in range(1, turn.parts + 1)]

    def begin(self, step: int, ahead: bytes) -> None:
        """Seal and open Comp's first message of a run."""
        position = [position_prefix(TO_FIRST, step, 1) + _SLOT]
        self._first.open(position, self._first.seal(position, ahead))

    def exchange(self, step: int, iteration: int, plain: bytes, last: bool) -> None:
        """Seal and open all messages of a turn: those of the first server, and those of the second.

        In the last turn of a run there is no next one that Comp's last message could prepare.
        """
        prefixes = [position_prefix(way, step, iteration) for way in (TO_SECOND, TO_FIRST)]
        positions = [prefix + slot for prefix in prefixes for slot in self._slots]
        row, data = (self._last, plain[: -self._ahead]) if last else (self._usual, plain)
        row.open(positions, row.seal(positions, data))


class SealedSilentSteps:
    """Servers compare scores that are shared between them; every packet is sealed by itself."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        self.at_once = usual_steps(setting)
        self._deals = Deals(setting.plan)
        self._parts = parts = SimulatedParts(setting, self._deals.selections)
        self._messages = TurnMessages(parts.turn, setting.plan.config.arity)
        self._conversation = _Conversation(parts.link, parts.turn)
        sizes = [WORD_BYTES] * self.agreed.arms
        self._up = PacketRow([keys.seals.up for keys in parts.owners], sizes)
        self._down = PacketRow([keys.seals.down for keys in parts.owners], sizes)
        self._block: tuple[int, Dealt] | None = None

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`.steps.Steps`."""
        draws, agreed, setting = self._parts.draws.batch(first, count), self.agreed, self._setting
        number = turn_number(agreed, first, 1)
        # Also Comp's shares of the turn after the last.
        streams, column = self._parts.streams.words(number, count * agreed.iterations + 1)
        if number == 0 and count:
            masks = self._dealt(0).second[0, : agreed.arms]
            self._conversation.begin(first, (streams.words[:, column] - masks).tobytes())
        for s in range(count):
            for iteration in range(1, agreed.iterations + 1):
                if not self._turn(first + s, iteration, draws, s, streams, column):
                    return first + s
                column += 1
        setting.seconds["dealer"] = self._parts.dealer.seconds
        return 0

    def _turn(
        self, step: int, iteration: int, draws: SilentBatch, s: int, streams: OwnerWords,
        column: int,
    ) -> bool:  # fmt: skip
        """Play one turn; returns whether all scores were numbers."""
        agreed, setting, messages = self.agreed, self._setting, self._messages
        rule, owners = setting.rule.handle, setting.owners
        seconds, clock, turn = setting.seconds, setting.timer, turn_number(agreed, step, iteration)
        dealt, row = self._dealt(self._deals.of(turn)), turn % self._deals.selections
        began = clock()
        up, down = (position_prefix(way, step, iteration) + _SLOT for way in (UP, DOWN))
        if not shared_words(
            rule, iteration, step, draws, s, owners, self._parts.tie_bits, streams, column,
            self._parts.scratch, messages.sent,
        ):  # fmt: skip
            return False
        sealed = self._up.seal(repeat(up), messages.sent.tobytes())
        sent = clock()
        arrived = np.frombuffer(self._up.open(repeat(up), sealed), np.uint64)
        opened = clock()
        messages.play(dealt, streams, row, column, arrived)
        last = turn + 1 == self._deals.turns
        self._conversation.exchange(step, iteration, messages.between(), last)
        told = clock()
        answers = self._down.seal(repeat(down), messages.answers.tobytes())
        answered = clock()
        read = np.frombuffer(self._down.open(repeat(down), answers), np.uint64)
        fine = note_answers(
            setting.world, rule, iteration, agreed.iterations, step, read, streams, column, owners,
            setting.key,
        )  # fmt: skip
        done = clock()
        # Both servers do the same amount of work on what they tell each other.
        seconds["data owners"] += sent - began + done - answered
        seconds["controller"] += opened - sent + answered - told + (told - opened) / 2
        seconds["comp"] += (told - opened) / 2
        if not fine:
            raise _not_one_chosen(step)
        return True

    def _dealt(self, number: int) -> Dealt:
        """Return what both servers have of the block of that number; the last one is kept."""
        if self._block is None or self._block[0] != number:
            first, selections = number * self._deals.selections, self._deals.length(number)
            corrections = self._parts.dealer.deal(first, selections)
            # Also the words of the turn after the last: it is prepared in the last one.
            words = self._parts.words.make(first, selections + 1)
            self._block = number, Dealt(*words, *corrections)
        return self._block[1]
