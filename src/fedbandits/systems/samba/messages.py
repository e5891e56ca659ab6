"""SAMBA's messages, numbered as the steps of Figure 5; the last end a run that cannot go on."""

from __future__ import annotations

import enum
from typing import Any

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable
from fedbandits.systems.samba.config import Algorithm


class _Ciphered(Message, frozen=True, kw_only=True):
    """A message with bytes in a field ``sealed`` or ``ciphertext``, which are counted."""

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        message: Any = self
        content = message.sealed if hasattr(message, "sealed") else message.ciphertext
        return len(content) if isinstance(content, bytes) else sum(map(len, content))


class _Sealed(_Ciphered, frozen=True, kw_only=True):
    sealed: bytes


class _OfTurn(_Sealed, frozen=True, kw_only=True):
    """A message of a turn, which is an iteration of a step."""

    step: int
    iteration: int


class Beginning(Message, frozen=True, kw_only=True):
    """A message that begins a run, with the run's name and the order."""

    run: bytes  # names this run
    budget: int
    arms: int
    algorithm: Algorithm


class Order(Message, frozen=True, kw_only=True, tag="samba.order"):
    """Step 0: the customer's order of pulls."""

    budget: int
    algorithm: Algorithm
    public_key: bytes  # Paillier's n, big-endian; empty where nothing is encrypted


class Start(Beginning, frozen=True, kw_only=True, tag="samba.start"):
    """Step 1, for Comp."""


class Setup(Beginning, frozen=True, kw_only=True, tag="samba.setup"):
    """Step 1, for a data owner."""

    public_key: bytes
    mask_key: bytes  # the paper's seed of αₜ
    exploration_key: bytes  # the paper's seed of ε
    place: int  # in Comp's first list


class Score(_OfTurn, frozen=True, kw_only=True, tag="samba.score"):
    """Step 2: an owner's masked score, sealed for Comp; empty in an exploring step."""


class _List(_Ciphered, frozen=True, kw_only=True):
    step: int
    iteration: int
    sealed: tuple[bytes, ...]  # by place


class ScoreList(_List, frozen=True, kw_only=True, tag="samba.score-list"):
    """Step 3: all scores in the order of their places."""


class Explore(Message, frozen=True, kw_only=True, tag="samba.explore"):
    """Step 3 of an exploring step: any place will do."""

    step: int


class Drawn(Message, frozen=True, kw_only=True, tag="samba.drawn"):
    """Step 3 of an exploring step, as section 5.4 has it: the Controller's draws as scores.

    By place, and in clear: the Controller does not have the key.
    """

    step: int
    scores: tuple[float, ...]

    @property
    def payload_size(self) -> int:
        """Bytes of numbers."""
        return 8 * len(self.scores)


class BitList(_List, frozen=True, kw_only=True, tag="samba.bit-list"):
    """Step 4: a sealed bit a place, 1 for the chosen place."""


class Bit(_OfTurn, frozen=True, kw_only=True, tag="samba.bit"):
    """Step 5: an owner's sealed bit, and its place in Comp's next list."""

    place: int


class Sum(_Ciphered, frozen=True, kw_only=True, tag="samba.sum"):
    """Step 6: an owner's sum of rewards, encrypted for the customer."""

    ciphertext: bytes


class Total(_Ciphered, frozen=True, kw_only=True, tag="samba.total"):
    """Step 7: the sum of all of them, encrypted for the customer."""

    ciphertext: bytes


class Reason(enum.StrEnum):
    """Reasons why a run could not go on. They travel, so they hold no data."""

    CONTROLLER = "what the Controller was to send did not come, or was refused"
    SCORES = "an owner's score did not come, or was refused"
    BITS = "Comp's bits did not come, or were refused"
    SUMS = "an owner's sum did not come, or was refused"
    SHARES = "Comp's shares did not come, or were refused"
    DEALT = "what the dealer was to deal did not come, or was refused"
    NOT_FINITE = "an owner's score was no finite number"


class Ending(Message, frozen=True, kw_only=True):
    """A message about the early end of the run."""

    reason: Reason


class GaveUp(Ending, frozen=True, kw_only=True, tag="samba.gave-up"):
    """A party tells the Controller: it takes no further part."""


class End(Ending, frozen=True, kw_only=True, tag="samba.end"):
    """The Controller's last word to all others."""


#: Roles of the parties that the Controller tells the end of the run, in this order.
MEMBERS = ("customer", "comp", "owner")
SILENT_MEMBERS = (*MEMBERS, "dealer")


def _endings(members: tuple[str, ...]) -> MessageTable:
    return {GaveUp: (members, "controller"), End: ("controller", members)}


#: Roles of senders and receivers; a silent run has messages of its own (below).
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
    **_endings(MEMBERS),
}


class SilentSetup(Beginning, frozen=True, kw_only=True, tag="samba.silent-setup"):
    """The run begins, for a data owner."""

    public_key: bytes  # the customer's; empty where sums are shared
    place: int  # among equal scores of the first turn


class Dealing(Beginning, frozen=True, kw_only=True, tag="samba.silent-dealing"):
    """The run begins, for the dealer, which deals the first block."""


class Ask(Message, frozen=True, kw_only=True, tag="samba.silent-ask"):
    """The Controller has begun a block, and asks for the next block."""

    block: int


class DealtFirst(_Sealed, frozen=True, kw_only=True, tag="samba.silent-dealt-first"):
    """A block of corrections for the Controller."""

    block: int


class DealtSecond(_Sealed, frozen=True, kw_only=True, tag="samba.silent-dealt-second"):
    """A block of corrections for Comp."""

    block: int


class Word(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-word"):
    """An owner's score, less Comp's share of the score."""


class ToSecond(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-to-second"):
    """Shares that the Controller opens; part 1 has all scores in its order, masked, too."""

    part: int  # of the turn: 1, 2, …; Comp sends as many


class ToFirst(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-to-first"):
    """Shares that Comp opens; a turn's last part has the masked winner and scores ahead, too."""

    part: int  # of the turn; 0 has Comp's scores ahead of the first turn


class Answer(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-answer"):
    """An owner's bit, padded by Comp; and its place among equal scores of the next turn."""

    place: int


class SumShare(_Sealed, frozen=True, kw_only=True, tag="samba.silent-sum"):
    """An owner's sum of rewards, less Comp's share of the sum."""


class FirstTotal(_Sealed, frozen=True, kw_only=True, tag="samba.silent-first-total"):
    """The Controller's share of the cumulative reward."""

    run: bytes  # names this run


class SecondTotal(_Sealed, frozen=True, kw_only=True, tag="samba.silent-second-total"):
    """Comp's share of the cumulative reward."""

    run: bytes  # names this run


_BOTH: MessageTable = {
    **{kind: TABLE[kind] for kind in (Order, Start)},
    SilentSetup: ("controller", "owner"),
    Dealing: ("controller", "dealer"),
    Ask: ("controller", "dealer"),
    DealtFirst: ("dealer", "controller"),
    DealtSecond: ("dealer", "comp"),
    Word: ("owner", "controller"),
    ToSecond: ("controller", "comp"),
    ToFirst: ("comp", "controller"),
    Answer: ("controller", "owner"),
    **_endings(SILENT_MEMBERS),
}
#: The same of a silent run, by how the customer gets the total.
SILENT_TABLES: dict[str, MessageTable] = {
    "paillier": {**_BOTH, **{kind: TABLE[kind] for kind in (Sum, Total)}},
    "shares": {
        **_BOTH,
        SumShare: ("owner", "controller"),
        FirstTotal: ("controller", "customer"),
        SecondTotal: ("comp", "customer"),
    },
}
