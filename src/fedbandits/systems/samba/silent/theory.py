"""What a silent run sends and computes: exact counts, linear in N, and in K but for logarithms."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits.crypto.aead import overhead_of
from fedbandits.crypto.shares.dealing import dealt_bytes
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, make_blocks, make_turn


class Traffic(NamedTuple):
    """Messages or bytes of a run, by who exchanges them."""

    setup: int  # order, starts and setups; they hold nothing that is sealed
    owners: int  # words to the Controller, and answers
    servers: int  # Controller and Comp
    dealt: int  # what is asked of the dealer, and blocks
    total: int  # sums on their way to the customer

    @property
    def all(self) -> int:
        """The sum."""
        return sum(self)


class Counts:
    """What parties have exchanged after so many turns.

    Parameters
    ----------
    plan
        Of a run that is not plain.
    """

    def __init__(self, plan: SambaPlan) -> None:
        config, self._arms = plan.config, plan.arms
        self._shared = config.total == "shares"
        #: Turns of the whole run.
        self.turns = (plan.rounds - plan.arms) * plan.iterations
        self._turn = make_turn(plan.arms, config.arity)
        self._blocks = make_blocks(self.turns, plan.arms, config.arity)
        self._overhead = overhead_of(config.packet_cipher)
        self._dealt = sum(dealt_bytes(plan.arms, sum(self._turn.comparisons)))
        self._number = config.paillier_bits // 4 if config.execution == "secure" else WORD_BYTES

    @property
    def rounds(self) -> int:
        """Messages between the servers in a turn, each of which waits for the one before."""
        return len(self._turn.messages())

    @property
    def server_bytes(self) -> int:
        """Bytes that servers send each other in a turn, not sealed."""
        return sum(message.size(self._turn) for message in self._turn.messages())

    @property
    def dealt_bytes(self) -> int:
        """Bytes that are dealt to both servers for a turn, not sealed."""
        return self._dealt

    def messages(self, turns: int, summed: bool) -> Traffic:
        """Messages after so many turns, and after the sum has left."""
        arms, begun, asked = self._arms, self.turns > 0, self._blocks.asked(turns)
        return Traffic(
            setup=arms + 3,
            owners=2 * arms * turns,
            servers=begun + self.rounds * turns,
            dealt=3 * asked - begun,
            total=(arms + 1 + self._shared) * summed,
        )

    def bytes(self, turns: int, summed: bool) -> Traffic:
        """Bytes of ciphertexts after so many turns, and after the sum has left."""
        arms, overhead, word = self._arms, self._overhead, WORD_BYTES + self._overhead
        begun = self.turns > 0
        # What Comp makes ahead of a turn is sent before the first one, and not in the last.
        ahead = WORD_BYTES * arms * (begun and turns < self.turns)
        asked = self._blocks.asked(turns)
        dealt = sum(self._blocks.selections(block) for block in range(asked))
        servers = turns * self.server_bytes + ahead + overhead * (begun + self.rounds * turns)
        number = word if self._shared else self._number
        return Traffic(
            setup=0,
            owners=2 * arms * turns * word,
            servers=servers,
            dealt=dealt * self._dealt + 2 * asked * overhead,
            total=(arms + 1 + self._shared) * number * summed,
        )

    @property
    def seals(self) -> int:
        """Packets of a whole run; every one is sealed once and opened once."""
        counts = self.messages(self.turns, True)
        sums = counts.total if self._shared else 0
        return counts.owners + counts.servers + 2 * self._blocks.blocks + sums
