"""SAMBA's customer: pays for a budget of pulls, and alone gets what they earned."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Start
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.messages import CustomerGaveUp, EndForCustomer, Order, Total
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import RunState, endings
from fedbandits.systems.samba.roles.member import Member
from fedbandits.systems.samba.roles.supplies import CustomerSupply
from fedbandits.systems.samba.sums import SumCipher, WeakKeyError, decrypt, public_bytes


class CustomerState(RunState, frozen=True, kw_only=True):
    """All that changes in a customer.

    Parameters
    ----------
    cumulative_reward
        What the pulls have earned, once it is known.
    """

    cumulative_reward: int | None = None


AnyCustomer = TypeVar("AnyCustomer", bound=CustomerState)


class Payer(Member[AnyCustomer]):
    """Pays for N pulls, and waits for what they have earned, however it comes.

    It waits for the total during the whole run: its deadline must be that of the run.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by: it orders the plan's budget and algorithm.
    state
        The state to begin in.
    """

    GAVE_UP = CustomerGaveUp

    @property
    def awaited(self) -> int | None:
        """1 while the total is waited for."""
        return 1 if self._state.stage == "waiting" else super().awaited

    def _order(self, public_key: bytes) -> Step:
        """Step 0."""
        order = Order(
            sender=self.name,
            receiver=self._controller,
            budget=self._plan.rounds,
            algorithm=self._plan.config.algorithm,
            public_key=public_key,
        )
        return Step(self._after(stage="waiting"), [order])


class Customer(Payer[CustomerState]):
    """Pays for N pulls and gets their cumulative reward, which nobody else can read.

    It waits for the total during the whole run: its deadline must be that of the run.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by: it orders the plan's budget and algorithm.
    supply
        The Paillier key that it brings.

    Raises
    ------
    LocalProtocolError
        If that key is not one that the terms have.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("waiting",),
        ("waiting", Total): ("done",),
        **endings(EndForCustomer, "waiting", "idle"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: CustomerSupply) -> None:
        super().__init__(seat, plan, CustomerState())
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
