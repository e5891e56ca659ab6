"""The customer of a silent run whose total comes in two shares."""

from __future__ import annotations

from typing import Any, ClassVar

from fedbandits.federation.events import Start
from fedbandits.federation.messages import DuplicateError, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.agreement import Ordered, accept
from fedbandits.systems.samba.messages import EndForCustomer
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.customer import CustomerState, Payer
from fedbandits.systems.samba.roles.ending import endings
from fedbandits.systems.samba.silent.blocks import WORD_BYTES
from fedbandits.systems.samba.silent.messages import FirstTotal, SecondTotal
from fedbandits.systems.samba.silent.packets import Line, word_of
from fedbandits.systems.samba.silent.roles.supplies import CustomerSupply
from fedbandits.systems.samba.silent.streams import TOTAL, total_key
from fedbandits.systems.samba.silent.totals import opened_total


class SharesState(CustomerState, frozen=True, kw_only=True):
    """All that changes in a customer who adds up two shares.

    Parameters
    ----------
    run
        The run's name, as the first share said; empty before it.
    share, sender
        The share that has come, and of whom; nothing before the first, nor after the second.
    """

    run: bytes = b""
    share: int = 0
    sender: str = ""


class SharesCustomer(Payer[SharesState]):
    """Pays for N pulls and adds up what both servers say: neither can read their sum.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by: it orders the plan's budget and algorithm.
    supply
        The secrets that it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("waiting",),
        ("waiting", FirstTotal): ("waiting", "done"),
        ("waiting", SecondTotal): ("waiting", "done"),
        **endings(EndForCustomer, "waiting", "idle"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: CustomerSupply) -> None:
        super().__init__(seat, plan, SharesState())
        self._supply = supply

    def _compute(self, event: Any) -> Step:
        match event:
            case Start():
                return self._order(b"")
            case FirstTotal() | SecondTotal():
                return self._read(event)
            case _:
                return super()._compute(event)

    def _read(self, message: FirstTotal | SecondTotal) -> Step:
        """A share of the total has come; with the second one the total is known."""
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
        config, rounds = self._plan.config, self._plan.rounds
        ordered = Ordered(rounds, self._plan.arms, config.algorithm)
        agreed = accept(self.name, self._plan, ordered, message.run)
        second = isinstance(message, SecondTotal)
        secret = self._supply.receipt if second else self._supply.bill
        line = Line(config.packet_cipher, total_key(secret, agreed), TOTAL)
        return word_of(line.open(rounds + 1, 1, int(second), message.sealed, WORD_BYTES))
