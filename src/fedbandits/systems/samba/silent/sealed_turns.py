"""Silent steps with every packet sealed and opened by itself, as between real parties.

What both servers compute in a turn is one compiled call. What they send one another in it is sealed
and opened message by message, and not read again.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from fedbandits.crypto.aead import GcmCipher, PairCiphers, position_prefix
from fedbandits.crypto.keystream import permute
from fedbandits.errors import FedbanditsError
from fedbandits.learners.index_rules import explores
from fedbandits.systems.samba.fixed_point import bits_for_ties
from fedbandits.systems.samba.players import Setting, usual_steps
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, Turn, make_blocks, make_turn
from fedbandits.systems.samba.silent.dealing import Dealer
from fedbandits.systems.samba.silent.kernels import (
    Dealt,
    OwnerWords,
    make_bracket,
    make_links,
    new_rooms,
    select,
)
from fedbandits.systems.samba.silent.owners import OwnerStreams
from fedbandits.systems.samba.silent.streams import (
    DOWN,
    TO_FIRST,
    TO_SECOND,
    UP,
    SilentSecrets,
    turn_number,
)
from fedbandits.systems.samba.silent_kernels import new_silent_scratch, owners_note, owners_words
from fedbandits.systems.samba.silent_streams import SilentStreams

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
        self._rooms = new_rooms(arms, self._bracket, opening_bytes)
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
        self._dealt: dict[int, Dealt] = {}
        self._unsealed = make_links(arms, comparisons, 1)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`~fedbandits.systems.samba.players.Player`.

        Raises
        ------
        FedbanditsError
            If not exactly one owner was told that it is chosen, which no scores can cause.
        """
        draws, agreed, setting = self._draws.batch(first, count), self.agreed, self._setting
        number, turns = turn_number(agreed, first, 1), count * agreed.iterations
        streams = self._streams.words(number, turns + 1)  # also Comp's shares of the next turn
        if number == 0 and count:
            self._conversation.begin(first, self._ahead(number, 0, streams))
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
                arm = self._turn(step, i + 1, number, s * agreed.iterations + i, streams)
                owners_note(
                    setting.world, agreed.rule, i + 1, agreed.iterations, step, arm,
                    setting.owners, setting.key,
                )  # fmt: skip
        setting.seconds["dealer"] = self._dealer.seconds
        return 0

    def _turn(
        self, step: int, iteration: int, number: int, column: int, streams: OwnerWords
    ) -> int:
        """One turn, once owners have their words: the arm that is chosen."""
        rooms, seconds, clock = self._rooms, self._setting.seconds, self._setting.timer
        turn = number + column
        dealt, row = self._block(turn // self._blocks.size), turn % self._blocks.size
        began = clock()
        up, down = (position_prefix(way, step, iteration) + _SLOT for way in (UP, DOWN))
        words = self._scratch.words.view(np.uint64) - streams.words[:, column]
        sealed = self._up.seal(up, words.tobytes())
        sent = clock()
        rooms.sent[:] = np.frombuffer(self._up.open(up, sealed), np.uint64)
        opened = clock()
        select(self._bracket, dealt, self._unsealed, streams, row, column - row, rooms)
        returned = rooms.returned.tobytes() + rooms.padded.tobytes()
        openings = [packed.tobytes() for packed in rooms.openings]
        ahead = self._ahead(turn + 1, column + 1, streams)
        plain = rooms.masked.tobytes() + openings[0], openings[1] + returned + ahead
        self._conversation.hold(step, iteration, plain)
        told = clock()
        answers = self._down.seal(down, rooms.answers.tobytes())
        answered = clock()
        read = np.frombuffer(self._down.open(down, answers), np.uint64)
        bits = read - streams.answers[:, column]
        done = clock()
        # Both servers do the same amount of work on what they tell each other.
        seconds["data owners"] += sent - began + done - answered
        seconds["controller"] += opened - sent + answered - told + (told - opened) / 2
        seconds["comp"] += (told - opened) / 2
        chosen = np.flatnonzero(bits)
        if len(chosen) != 1 or bits[chosen[0]] != 1:
            raise FedbanditsError(f"step {step}: not exactly one owner was chosen")
        return int(chosen[0])

    def _block(self, number: int) -> Dealt:
        """What was dealt in the block of that number; the last two are kept."""
        if number not in self._dealt:
            kept = {number - 1: self._dealt[number - 1]} if number - 1 in self._dealt else {}
            selections = self._blocks.selections(number)
            dealt = self._dealer.deal(number * self._blocks.size, selections)
            self._dealt = {**kept, number: dealt}
        return self._dealt[number]

    def _ahead(self, turn: int, column: int, streams: OwnerWords) -> bytes:
        """Comp's shares of a turn, masked; nothing after the last."""
        if turn >= self._blocks.turns:
            return b""
        block, row = divmod(turn, self._blocks.size)
        mask = self._block(block).second[row, : self.agreed.arms]
        return (streams.words[:, column] - mask).tobytes()
