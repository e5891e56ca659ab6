"""Silent steps with every packet sealed and opened by itself, as between real parties.

What both servers compute in a turn is one compiled call. What they send one another in it is sealed
and opened message by message, and not read again.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Words64
from fedbandits.crypto.aead import position_prefix
from fedbandits.crypto.packet_rows import PacketRow
from fedbandits.errors import FedbanditsError
from fedbandits.random import Key
from fedbandits.systems.samba.players import Setting, usual_steps
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, Turn, make_blocks
from fedbandits.systems.samba.silent.draws import SilentBatch
from fedbandits.systems.samba.silent.kernels import (
    Dealt,
    OwnerWords,
    owners_send,
    read_answers,
)
from fedbandits.systems.samba.silent.simulated_parts import make_parts
from fedbandits.systems.samba.silent.steps import (
    SilentScratch,
    owners_note,
    owners_words,
)
from fedbandits.systems.samba.silent.streams import (
    DOWN,
    TO_FIRST,
    TO_SECOND,
    UP,
    LinkKeys,
    turn_number,
)
from fedbandits.systems.samba.silent.turn_messages import TurnMessages
from fedbandits.systems.samba.state import Owners

_SLOT = bytes(4)


@compiled
def shared_words(
    rule: Any, iteration: int, step: int, draws: SilentBatch, s: int, owners: Owners,
    tie_bits: int, streams: OwnerWords, column: int, scratch: SilentScratch, sent: Words64,
) -> bool:  # fmt: skip
    """What every owner sends in one turn, not sealed; whether all scores are numbers."""
    fine = owners_words(rule, iteration, step, draws, s, owners, tie_bits, scratch)
    owners_send(scratch.words, streams, column, 0, sent)
    return fine


@compiled
def note_answers(
    world: Any, rule: Any, iteration: int, iterations: int, step: int, answers: Words64,
    streams: OwnerWords, column: int, owners: Owners, key: Key,
) -> bool:  # fmt: skip
    """Every owner reads its answer and takes note; whether exactly one of them was chosen."""
    arm = read_answers(answers, streams, column, 0)
    if arm < 0:
        return False
    owners_note(world, rule, iteration, iterations, step, arm, owners, key)
    return True


class _Conversation:
    """The messages of both servers in a turn, sealed and opened.

    Parameters
    ----------
    keys
        Of either direction.
    turn
        What the messages are made of.
    """

    def __init__(self, keys: LinkKeys, turn: Turn) -> None:
        sizes = [
            [m.size(turn) for m in turn.messages() if m.from_first is from_first]
            for from_first in (True, False)
        ]
        of_all = [key for key, sent in zip(keys, sizes, strict=True) for _ in sent]
        ahead = WORD_BYTES * turn.arms
        self._first = PacketRow([keys.to_first], [ahead])
        self._usual = PacketRow(of_all, sizes[0] + sizes[1])
        self._last = PacketRow(of_all, [*sizes[0], *sizes[1][:-1], sizes[1][-1] - ahead])
        self._ahead = ahead
        self._slots = [part.to_bytes(4, "big") for part in range(1, len(sizes[0]) + 1)]

    def begin(self, step: int, ahead: bytes) -> None:
        """Comp's first message of a run."""
        position = [position_prefix(TO_FIRST, step, 1) + _SLOT]
        self._first.open(position, self._first.seal(position, ahead))

    def hold(self, step: int, iteration: int, plain: bytes, last: bool) -> None:
        """All messages of a turn: what the first server sends, one after the other, and the second.

        In the last turn of a run there is no next one that Comp's last message could prepare.
        """
        prefixes = [position_prefix(way, step, iteration) for way in (TO_SECOND, TO_FIRST)]
        positions = [prefix + slot for prefix in prefixes for slot in self._slots]
        row, data = (self._last, plain[: -self._ahead]) if last else (self._usual, plain)
        row.open(positions, row.seal(positions, data))


class SealedSilentPlayer:
    """Servers compare scores that are shared between them; every packet is sealed by itself.

    Parameters
    ----------
    setting
        What is played.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        agreed, arity, arms = self.agreed, setting.plan.config.arity, setting.agreed.arms
        self.at_once = usual_steps(agreed)
        self._blocks = make_blocks((agreed.budget - arms) * agreed.iterations, arms, arity)
        self._parts = parts = make_parts(setting, self._blocks.size)
        self._messages = TurnMessages(parts.turn, arity)
        self._conversation = _Conversation(parts.link, parts.turn)
        sizes = [WORD_BYTES] * arms
        self._up = PacketRow([keys.seals.up for keys in parts.owners], sizes)
        self._down = PacketRow([keys.seals.down for keys in parts.owners], sizes)
        self._block: tuple[int, Dealt] | None = None

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`~fedbandits.systems.samba.players.Player`.

        Raises
        ------
        FedbanditsError
            If not exactly one owner was told that it is chosen, which no scores can cause.
        """
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
        """One turn; whether all scores were numbers."""
        agreed, setting, messages = self.agreed, self._setting, self._messages
        seconds, clock, turn = setting.seconds, setting.timer, turn_number(agreed, step, iteration)
        dealt, row = self._dealt(turn // self._blocks.size), turn % self._blocks.size
        began = clock()
        up, down = (position_prefix(way, step, iteration) + _SLOT for way in (UP, DOWN))
        if not shared_words(
            agreed.rule, iteration, step, draws, s, setting.owners, self._parts.tie_bits, streams,
            column, self._parts.scratch, messages.sent,
        ):  # fmt: skip
            return False
        sealed = self._up.seal(repeat(up), messages.sent.tobytes())
        sent = clock()
        arrived = np.frombuffer(self._up.open(repeat(up), sealed), np.uint64)
        opened = clock()
        messages.play(dealt, streams, row, column, arrived)
        last = turn + 1 == self._blocks.turns
        self._conversation.hold(step, iteration, messages.between(), last)
        told = clock()
        answers = self._down.seal(repeat(down), messages.answers.tobytes())
        answered = clock()
        read = np.frombuffer(self._down.open(repeat(down), answers), np.uint64)
        fine = note_answers(
            setting.world, agreed.rule, iteration, agreed.iterations, step, read, streams, column,
            setting.owners, setting.key,
        )  # fmt: skip
        done = clock()
        # Both servers do the same amount of work on what they tell each other.
        seconds["data owners"] += sent - began + done - answered
        seconds["controller"] += opened - sent + answered - told + (told - opened) / 2
        seconds["comp"] += (told - opened) / 2
        if not fine:
            raise FedbanditsError(f"step {step}: not exactly one owner was chosen")
        return True

    def _dealt(self, number: int) -> Dealt:
        """What both servers have of the block of that number; the last one is kept."""
        if self._block is None or self._block[0] != number:
            first, selections = number * self._blocks.size, self._blocks.selections(number)
            corrections = self._parts.dealer.deal(first, selections)
            # Also the words of the turn after the last: it is prepared in the last one.
            words = self._parts.words.make(first, selections + 1)
            self._block = number, Dealt(*words, *corrections)
        return self._block[1]
