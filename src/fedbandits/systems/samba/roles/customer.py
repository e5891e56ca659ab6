"""SAMBA's customer: pays for a budget of pulls, and alone gets what they earned."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Start
from fedbandits.federation.messages import DuplicateError, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    TOTAL,
    WORD_BYTES,
    Line,
    SumCipher,
    WeakKeyError,
    decrypt,
    opened_total,
    public_bytes,
    read_word,
)
from fedbandits.systems.samba.keys import TotalKey, make_keys
from fedbandits.systems.samba.messages import FirstTotal, Order, SecondTotal, Total
from fedbandits.systems.samba.plan import Ordered, SambaPlan, accept
from fedbandits.systems.samba.roles.run import Member, RunState, endings


class CustomerState(RunState, frozen=True, kw_only=True):
    """All that changes in a customer."""

    cumulative_reward: int | None = None  # what the pulls have earned, once it is known


AnyCustomer = TypeVar("AnyCustomer", bound=CustomerState)


class BaseCustomer(Member[AnyCustomer]):
    """Pays for N pulls, and waits for what they have earned, however it comes.

    It waits for the total during the whole run: its deadline must be that of the run.
    """

    @property
    def awaited(self) -> int | None:
        """1 while the total is waited for."""
        return 1 if self._state.stage == "waiting" else super().awaited

    def _order(self, public_key: bytes) -> Step:
        """Order the pulls (step 0)."""
        order = Order(
            sender=self.name,
            receiver=self._controller,
            budget=self._plan.rounds,
            algorithm=self._config.algorithm,
            public_key=public_key,
        )
        return Step(self._after(stage="waiting"), [order])


class Customer(BaseCustomer[CustomerState]):
    """Pays for N pulls and gets their cumulative reward, which nobody else can read.

    Raises
    ------
    LocalProtocolError
        If its Paillier key is not one that the terms have.
    """

    STATE = CustomerState
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("waiting",),
        ("waiting", Total): ("done",),
        **endings("waiting", "idle"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._private_key = supply.private_key
        try:
            SumCipher.agreed(self.name, plan.config, public_bytes(self._private_key))
        except WeakKeyError as own:
            raise LocalProtocolError(str(own)) from None

    def _compute(self, event: Any) -> Step:
        match event:
            case Start():
                return self._order(public_bytes(self._private_key))
            case Total():
                return self._read(event)
            case _:
                return super()._compute(event)

    def _read(self, message: Total) -> Step:
        reward = decrypt(self._private_key, message.ciphertext)
        if reward > self._plan.rounds:
            raise TamperedPacketError(
                f"{self.name}: the total is larger than the number of pulls that were paid for"
            )
        return Step(self._after(stage="done", cumulative_reward=reward))


class SharesState(CustomerState, frozen=True, kw_only=True):
    """All that changes in a customer who adds up two shares."""

    run: bytes = b""  # the run's name, as the first share said; empty before it
    # The share that has come, and of whom; nothing before the first, nor after the second.
    share: int = 0
    sender: str = ""


class SharesCustomer(BaseCustomer[SharesState]):
    """Pays for N pulls and adds up what both servers say: neither can read their sum."""

    STATE = SharesState
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("waiting",),
        ("waiting", FirstTotal): ("waiting", "done"),
        ("waiting", SecondTotal): ("waiting", "done"),
        **endings("waiting", "idle"),
    }

    def _compute(self, event: Any) -> Step:
        match event:
            case Start():
                return self._order(b"")
            case FirstTotal() | SecondTotal():
                return self._read(event)
            case _:
                return super()._compute(event)

    def _read(self, message: FirstTotal | SecondTotal) -> Step:
        """Take a share of the total; with the second one the total is known."""
        state, sender = self._state, message.sender
        if sender == state.sender:
            raise DuplicateError(f"{self.name}: {sender} sent its share again")
        if state.run not in (b"", message.run):
            raise OutOfOrderError(f"{self.name}: {sender} sent its share of another run")
        share = self._open(message)
        if not state.sender:
            return Step(self._after(run=message.run, share=share, sender=sender))
        reward = opened_total(state.share, share, self._plan.rounds)
        after = self._after(stage="done", share=0, sender="", cumulative_reward=reward)
        return Step(after)

    def _open(self, message: FirstTotal | SecondTotal) -> int:
        plan, second = self._plan, isinstance(message, SecondTotal)
        ordered = Ordered(plan.rounds, plan.arms, self._config.algorithm)
        agreed = accept(self.name, plan, ordered, message.run)
        secret = self._supply.secrets["receipt" if second else "bill"]
        line = Line(self._config.packet_cipher, make_keys(TotalKey, secret, agreed).total, TOTAL)
        return read_word(line.open(plan.rounds + 1, 1, int(second), message.sealed, WORD_BYTES))
