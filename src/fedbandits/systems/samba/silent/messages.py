"""Messages of a silent run. Everything but the endings is sealed for the one who receives it.

A turn is an iteration of a step. Servers send one another its parts: the Controller 1, 2, …, and
Comp as many. Comp's part 0 is what it makes ahead of the first turn.
"""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.roles import MessageTable
from fedbandits.systems.samba.config import Algorithm
from fedbandits.systems.samba.messages import (
    TABLE,
    CompGaveUp,
    CustomerGaveUp,
    DealerGaveUp,
    EndForComp,
    EndForCustomer,
    EndForDealer,
    EndForOwner,
    Order,
    OwnerGaveUp,
    Start,
    Sum,
    Total,
)


class _Sealed(Message, frozen=True, kw_only=True):
    sealed: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of ciphertext."""
        return len(self.sealed)


class _OfTurn(_Sealed, frozen=True, kw_only=True):
    step: int
    iteration: int


class SilentSetup(Message, frozen=True, kw_only=True, tag="samba.silent-setup"):
    """The run begins, for a data owner."""

    run: bytes  # names this run
    budget: int
    arms: int
    algorithm: Algorithm
    public_key: bytes  # the customer's; empty where sums are shared
    place: int  # among equal scores of the first turn


class Dealing(Message, frozen=True, kw_only=True, tag="samba.silent-dealing"):
    """The run begins, for the dealer: it deals the first block."""

    run: bytes  # names this run
    budget: int
    arms: int
    algorithm: Algorithm


class Ask(Message, frozen=True, kw_only=True, tag="samba.silent-ask"):
    """The Controller has begun a block, and asks for the next one."""

    block: int


class DealtFirst(_Sealed, frozen=True, kw_only=True, tag="samba.silent-dealt-first"):
    """A block of corrections for the Controller."""

    block: int


class DealtSecond(_Sealed, frozen=True, kw_only=True, tag="samba.silent-dealt-second"):
    """A block of corrections for Comp."""

    block: int


class Word(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-word"):
    """An owner's score, less the share that Comp has of it."""


class ToSecond(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-to-second"):
    """What the Controller opens: with part 1 all scores in its order, masked."""

    part: int  # of the turn


class ToFirst(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-to-first"):
    """What Comp opens; with the last of a turn the winner, masked, and scores made ahead."""

    part: int  # of the turn


class Answer(_OfTurn, frozen=True, kw_only=True, tag="samba.silent-answer"):
    """An owner's bit, padded by Comp; and its place among equal scores of the next turn."""

    place: int


class SumShare(_Sealed, frozen=True, kw_only=True, tag="samba.silent-sum"):
    """An owner's sum of rewards, less the share that Comp has of it."""


class FirstTotal(_Sealed, frozen=True, kw_only=True, tag="samba.silent-first-total"):
    """The Controller's share of the cumulative reward."""

    run: bytes  # names this run


class SecondTotal(_Sealed, frozen=True, kw_only=True, tag="samba.silent-second-total"):
    """Comp's share of the cumulative reward."""

    run: bytes  # names this run


_KEPT = (
    Order, Start, CustomerGaveUp, CompGaveUp, OwnerGaveUp, EndForCustomer, EndForComp, EndForOwner
)  # fmt: skip
_BOTH: MessageTable = {
    **{kind: TABLE[kind] for kind in _KEPT},
    SilentSetup: ("controller", "owner"),
    Dealing: ("controller", "dealer"),
    Ask: ("controller", "dealer"),
    DealtFirst: ("dealer", "controller"),
    DealtSecond: ("dealer", "comp"),
    Word: ("owner", "controller"),
    ToSecond: ("controller", "comp"),
    ToFirst: ("comp", "controller"),
    Answer: ("controller", "owner"),
    DealerGaveUp: ("dealer", "controller"),
    EndForDealer: ("controller", "dealer"),
}
#: Who sends what to whom, by how the customer gets the total.
TABLES: dict[str, MessageTable] = {
    "paillier": {**_BOTH, **{kind: TABLE[kind] for kind in (Sum, Total)}},
    "shares": {
        **_BOTH,
        SumShare: ("owner", "controller"),
        FirstTotal: ("controller", "customer"),
        SecondTotal: ("comp", "customer"),
    },
}
