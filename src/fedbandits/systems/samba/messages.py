"""SAMBA's messages, numbered as the steps of Figure 5; the last end a run that cannot go on."""

from __future__ import annotations

import enum

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable
from fedbandits.systems.samba.config import Algorithm


class Order(Message, frozen=True, kw_only=True, tag="samba.order"):
    """Step 0: what the customer pays for."""

    budget: int
    algorithm: Algorithm
    public_key: bytes  # Paillier's n, big-endian; empty where nothing is encrypted


class Start(Message, frozen=True, kw_only=True, tag="samba.start"):
    """Step 1, for Comp."""

    run: bytes  # names this run
    budget: int
    arms: int
    algorithm: Algorithm


class Setup(Message, frozen=True, kw_only=True, tag="samba.setup"):
    """Step 1, for a data owner."""

    run: bytes  # names this run
    budget: int
    arms: int
    algorithm: Algorithm
    public_key: bytes
    mask_key: bytes  # the paper's seed of αₜ
    exploration_key: bytes  # the paper's seed of ε
    place: int  # in Comp's first list


class Score(Message, frozen=True, kw_only=True, tag="samba.score"):
    """Step 2: one owner's masked score, sealed for Comp; empty in a step that explores."""

    step: int
    iteration: int
    sealed: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return len(self.sealed)


class _List(Message, frozen=True, kw_only=True):
    step: int
    iteration: int
    sealed: tuple[bytes, ...]  # by place

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return sum(map(len, self.sealed))


class ScoreList(_List, frozen=True, kw_only=True, tag="samba.score-list"):
    """Step 3: all scores in the order of their places."""


class Explore(Message, frozen=True, kw_only=True, tag="samba.explore"):
    """Step 3 of a step that explores: any place will do."""

    step: int


class Drawn(Message, frozen=True, kw_only=True, tag="samba.drawn"):
    """Step 3 of a step that explores, as section 5.4 prints it: scores that the Controller drew.

    By place, and in clear: the Controller does not have the key.
    """

    step: int
    scores: tuple[float, ...]

    @property
    def payload_size(self) -> int:
        """Bytes of numbers."""
        return 8 * len(self.scores)


class BitList(_List, frozen=True, kw_only=True, tag="samba.bit-list"):
    """Step 4: a sealed bit a place, 1 for the chosen one."""


class Bit(Message, frozen=True, kw_only=True, tag="samba.bit"):
    """Step 5: an owner's sealed bit, and its place in Comp's next list."""

    step: int
    iteration: int
    sealed: bytes
    place: int

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return len(self.sealed)


class Sum(Message, frozen=True, kw_only=True, tag="samba.sum"):
    """Step 6: an owner's sum of rewards, encrypted for the customer."""

    ciphertext: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return len(self.ciphertext)


class Total(Message, frozen=True, kw_only=True, tag="samba.total"):
    """Step 7: the sum of all of them, encrypted for the customer."""

    ciphertext: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return len(self.ciphertext)


class Reason(enum.StrEnum):
    """Why a run could not go on. These texts travel: nothing that anybody has seen is in them."""

    CONTROLLER = "what the Controller was to send did not come, or was refused"
    SCORES = "an owner's score did not come, or was refused"
    BITS = "Comp's bits did not come, or were refused"
    SUMS = "an owner's sum did not come, or was refused"
    SHARES = "Comp's shares did not come, or were refused"
    DEALT = "what the dealer was to deal did not come, or was refused"
    NOT_FINITE = "an owner's score was no finite number"


class Ending(Message, frozen=True, kw_only=True):
    """The run ends before it is done."""

    reason: Reason


class CustomerGaveUp(Ending, frozen=True, kw_only=True, tag="samba.customer-gave-up"):
    """The customer takes no further part."""


class CompGaveUp(Ending, frozen=True, kw_only=True, tag="samba.comp-gave-up"):
    """Comp takes no further part."""


class OwnerGaveUp(Ending, frozen=True, kw_only=True, tag="samba.owner-gave-up"):
    """A data owner takes no further part."""


class DealerGaveUp(Ending, frozen=True, kw_only=True, tag="samba.dealer-gave-up"):
    """The dealer of a silent run takes no further part."""


class EndForCustomer(Ending, frozen=True, kw_only=True, tag="samba.end-for-customer"):
    """The Controller's last word to the customer."""


class EndForComp(Ending, frozen=True, kw_only=True, tag="samba.end-for-comp"):
    """The Controller's last word to Comp."""


class EndForOwner(Ending, frozen=True, kw_only=True, tag="samba.end-for-owner"):
    """The Controller's last word to a data owner."""


class EndForDealer(Ending, frozen=True, kw_only=True, tag="samba.end-for-dealer"):
    """The Controller's last word to the dealer of a silent run."""


#: Who sends what to whom; a silent run has messages of its own (``silent/messages.py``).
TABLE: MessageTable = {
    Order: ("customer", "controller"),
    Start: ("controller", "comp"),
    Setup: ("controller", "owner"),
    Score: ("owner", "controller"),
    ScoreList: ("controller", "comp"),
    Explore: ("controller", "comp"),
    Drawn: ("controller", "comp"),
    BitList: ("comp", "controller"),
    Bit: ("controller", "owner"),
    Sum: ("owner", "controller"),
    Total: ("controller", "customer"),
    CustomerGaveUp: ("customer", "controller"),
    CompGaveUp: ("comp", "controller"),
    OwnerGaveUp: ("owner", "controller"),
    EndForCustomer: ("controller", "customer"),
    EndForComp: ("controller", "comp"),
    EndForOwner: ("controller", "owner"),
}
