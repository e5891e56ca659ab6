"""A party that hears from the Controller alone: how its part in a run begins, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.agreement import Agreement, Ordered, accept
from fedbandits.systems.samba.config import Algorithm
from fedbandits.systems.samba.messages import Ending, Reason
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import AnyRun, RunParty


class Beginning(Protocol):
    """A message that says what the run is about."""

    @property
    def run(self) -> bytes: ...

    @property
    def budget(self) -> int: ...

    @property
    def arms(self) -> int: ...

    @property
    def algorithm(self) -> Algorithm: ...


class Member(RunParty[AnyRun]):
    """A party of a run that hears from the Controller alone.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    state
        The state to begin in.
    """

    #: What it sends when it gives up.
    GAVE_UP: ClassVar[type[Ending]]

    #: What follows from its secrets and the run's name, once that is known.
    _tools: Any

    def __init__(self, seat: Seat, plan: SambaPlan, state: AnyRun) -> None:
        super().__init__(seat, state)
        self._plan, self._controller = plan, seat.one("controller")

    def _compute(self, event: Any) -> Step:
        """What ends a run before it is done; all else is for the party itself."""
        if isinstance(event, Deadline):
            return self._end_waiting(event)
        return self._ended(event.reason)  # the Controller's last word

    def _accepted(self, told: Beginning) -> Agreement:
        """The agreement on the run that begins, see :func:`.agreement.accept`."""
        ordered = Ordered(told.budget, told.arms, told.algorithm)
        return accept(self.name, self._plan, ordered, told.run)

    def _begun(self, after: AnyRun, tools: Any, outgoing: Sequence[Message] = ()) -> Step:
        """The run has begun; the tools are kept once everything is known to be right."""

        def keep() -> Sequence[Message]:
            self._tools = tools
            return ()

        return Step(after, outgoing, write=keep)

    def _end_waiting(self, event: Deadline) -> Step:
        """Give up, if what is awaited is still the same."""
        if event.number != self.awaited:
            return Step(self._state)
        return self._give_up(Reason.CONTROLLER)

    def _give_up(self, reason: Reason) -> Step:
        told = self.GAVE_UP(sender=self.name, receiver=self._controller, reason=reason)
        return self._ended(reason, told)
