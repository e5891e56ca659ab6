"""Silent steps with every packet sealed and opened by itself, as between real parties.

What both servers compute in a turn is one compiled call. What they send one another in it is sealed
and opened message by message, and not read again.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import GcmCipher, position_prefix
from fedbandits.crypto.keystream import permute
from fedbandits.crypto.pair_ciphers import PairCiphers
from fedbandits.errors import FedbanditsError
from fedbandits.learners.index_rules import explores
from fedbandits.systems.samba.fixed_point import bits_for_ties
from fedbandits.systems.samba.players import Setting, usual_steps
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, Turn, make_blocks, make_turn
from fedbandits.systems.samba.silent.buffers import buffer_words, make_bracket
from fedbandits.systems.samba.silent.draws import SilentStreams
from fedbandits.systems.samba.silent.kernels import Dealt, OwnerWords
from fedbandits.systems.samba.silent.owner_streams import OwnerStreams
from fedbandits.systems.samba.silent.simulated_dealer import Dealer, SeedWords
from fedbandits.systems.samba.silent.steps import new_silent_scratch, owners_note, owners_words
from fedbandits.systems.samba.silent.streams import (
    DOWN,
    TO_FIRST,
    TO_SECOND,
    UP,
    SilentSecrets,
    turn_number,
)
from fedbandits.systems.samba.silent.turn_messages import TurnMessages, select_with_messages

_SLOT = bytes(4)


class _Conversation:
    """The messages of both servers in a turn, sealed and opened.

    Parameters
    ----------
    keys
        Of what the first server sends, and the second.
    turn
        What the messages are made of.
    """

    def __init__(self, keys: tuple[bytes, bytes], turn: Turn) -> None:
        self._ciphers = [GcmCipher(key) for key in keys]
        #: Where each message of either server begins and ends, one after the other.
        self._cuts = [
            list(pairwise(accumulate((m.size(turn) for m in sent), initial=0)))
            for sent in (
                [m for m in turn.messages() if m.from_first is from_first]
                for from_first in (True, False)
            )
        ]
        self._slots = [part.to_bytes(4, "big") for part in range(1, len(self._cuts[0]) + 1)]

    def hold(self, step: int, iteration: int, plain: tuple[bytes, bytes]) -> None:
        """All messages of a turn: what the first server sends, one after the other, and the second.

        Comp's last message may be shorter than it is cut, by what belongs to the next turn.
        """
        sides = zip(self._ciphers, (TO_SECOND, TO_FIRST), self._cuts, plain, strict=True)
        for cipher, direction, cuts, data in sides:
            prefix = position_prefix(direction, step, iteration)
            positions = list(map(prefix.__add__, self._slots))
            sealed = cipher.seal(positions, [data[begin:end] for begin, end in cuts])
            cipher.open(positions, sealed)

    def begin(self, step: int, ahead: bytes) -> None:
        """Comp's first message of a run."""
        positions = [position_prefix(TO_FIRST, step, 1) + _SLOT]
        self._ciphers[1].open(positions, self._ciphers[1].seal(positions, [ahead]))


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
        self._bracket, turn = make_bracket(arms, arity), make_turn(arms, arity)
        opening_bytes = sum(map(turn.opening_bytes, range(turn.openings)))
        self._memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        self._messages = TurnMessages(
            np.zeros(opening_bytes + WORD_BYTES * arms, np.uint8),
            np.zeros(opening_bytes + 2 * WORD_BYTES * arms, np.uint8),
            np.zeros(arms, np.uint64),
        )
        self._scratch, self._tie_bits = new_silent_scratch(arms), bits_for_ties(arms)
        self._draws = SilentStreams(setting.secrets, agreed)
        secrets = SilentSecrets.simulated(setting.secrets)
        keys = [secrets.owner(f"owner-{i}", agreed) for i in range(arms)]
        self._streams = OwnerStreams(keys, agreed, False)
        self._up = PairCiphers([k.seals.up for k in keys], WORD_BYTES)
        self._down = PairCiphers([k.seals.down for k in keys], WORD_BYTES)
        self._conversation = _Conversation(secrets.controller((), agreed).link, turn)
        self._blocks = make_blocks((agreed.budget - arms) * agreed.iterations, arms, arity)
        comparisons = len(self._bracket.pairs)
        self._dealer = Dealer(
            secrets.dealer(agreed), arms, comparisons, self._blocks.size, "aes-gcm", setting.timer
        )
        self._dealt: dict[int, tuple[Words64, Words64]] = {}
        self._words = SeedWords(secrets.dealer(agreed), arms, comparisons, 2)
        self._made: dict[int, tuple[Words64, Words64]] = {}

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`~fedbandits.systems.samba.players.Player`.

        Raises
        ------
        FedbanditsError
            If not exactly one owner was told that it is chosen, which no scores can cause.
        """
        draws, agreed, setting = self._draws.batch(first, count), self.agreed, self._setting
        number, turns = turn_number(agreed, first, 1), count * agreed.iterations
        # Also Comp's shares of the turn after the last.
        streams, offset = self._streams.words(number, turns + 1)
        if number == 0 and count:
            self._conversation.begin(first, self._ahead(number, offset, streams))
        for s in range(count):
            step = first + s
            exploring = bool(explores(agreed.rule, step, agreed.arms, float(draws.exploration[s])))
            for i in range(agreed.iterations):
                permute(draws.places[s, i], self._scratch.places)
                if not owners_words(
                    agreed.rule, i + 1, step, exploring, setting.owners, self._tie_bits,
                    self._scratch,
                ):  # fmt: skip
                    return step
                turn = s * agreed.iterations + i
                arm = self._turn(step, i + 1, number + turn, offset + turn, streams)
                owners_note(
                    setting.world, agreed.rule, i + 1, agreed.iterations, step, arm,
                    setting.owners, setting.key,
                )  # fmt: skip
        setting.seconds["dealer"] = self._dealer.seconds
        return 0

    def _turn(self, step: int, iteration: int, turn: int, column: int, streams: OwnerWords) -> int:
        """One turn, once owners have their words: the arm that is chosen."""
        messages, seconds, clock = self._messages, self._setting.seconds, self._setting.timer
        for_first, for_second = self._block(turn // self._blocks.size)
        began = clock()
        up, down = (position_prefix(way, step, iteration) + _SLOT for way in (UP, DOWN))
        shares = np.ascontiguousarray(streams.words[:, column])
        pads = np.ascontiguousarray(streams.answers[:, column])
        sealed = self._up.seal(up, (self._scratch.words.view(np.uint64) - shares).tobytes())
        sent = clock()
        arrived = np.frombuffer(self._up.open(up, sealed), np.uint64)
        opened = clock()
        dealt = Dealt(*self._seeds(turn), for_first, for_second)
        row = turn % self._blocks.size
        select_with_messages(
            self._bracket, dealt, row, shares, pads, arrived, self._memory, messages
        )
        ahead = b""
        if turn + 1 < self._blocks.turns:
            ahead = self._ahead(turn + 1, column + 1, streams)
        plain = messages.to_second.tobytes(), messages.to_first.tobytes() + ahead
        self._conversation.hold(step, iteration, plain)
        told = clock()
        answers = self._down.seal(down, messages.answers.tobytes())
        answered = clock()
        read = np.frombuffer(self._down.open(down, answers), np.uint64)
        bits = read - pads
        done = clock()
        # Both servers do the same amount of work on what they tell each other.
        seconds["data owners"] += sent - began + done - answered
        seconds["controller"] += opened - sent + answered - told + (told - opened) / 2
        seconds["comp"] += (told - opened) / 2
        chosen = np.flatnonzero(bits)
        if len(chosen) != 1 or bits[chosen[0]] != 1:
            raise FedbanditsError(f"step {step}: not exactly one owner was chosen")
        return int(chosen[0])

    def _block(self, number: int) -> tuple[Words64, Words64]:
        """The corrections of the block of that number; the last one is kept."""
        if number not in self._dealt:
            selections = self._blocks.selections(number)
            dealt = self._dealer.deal(number * self._blocks.size, selections)
            self._dealt = {number: dealt}
        return self._dealt[number]

    def _seeds(self, turn: int) -> tuple[Words64, Words64]:
        """Words of both servers' seeds for a turn; the last two turns' are kept."""
        if turn not in self._made:
            kept = {turn - 1: self._made[turn - 1]} if turn - 1 in self._made else {}
            self._made = {**kept, turn: self._words.make(turn, 1, turn % 2)}
        return self._made[turn]

    def _ahead(self, turn: int, column: int, streams: OwnerWords) -> bytes:
        """Comp's shares of a turn, masked by words of its seed."""
        _, words = self._seeds(turn)
        return (streams.words[:, column] - words[0, : self.agreed.arms]).tobytes()
