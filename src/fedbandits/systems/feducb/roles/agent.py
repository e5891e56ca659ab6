"""FedUCB's agents where the controller sees each release: one organisation each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fedbandits.errors import BudgetExceededError
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe
from fedbandits.federation.messages import ImplausibleError, Message, OutOfOrderError, pack, unpack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.privacy import running_sum
from fedbandits.systems.agents.counting import sum_to_release
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.kernels.sync import sync_due
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb.messages import Pooled, SyncCall, SyncRequest, Upload
from fedbandits.systems.feducb.roles.sums import Released, no_release
from fedbandits.systems.feducb.roles.synced import AgentState, SyncedAgent, first_state


class Agent(SyncedAgent[AgentState]):
    """One organisation: decides, learns from rewards, releases when a sync is due.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says whose budget it spends.
    plan
        What all parties go by.
    supply
        Its noise, the k-th draw for the k-th release, and how it breaks ties.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready",),
        ("ready", LetGo): ("ready",),
        ("ready", EndRound): ("waiting",),
        ("ready", SyncCall): ("waiting", "ready"),
        ("ready", Pooled): ("ready",),
        ("waiting", Decide): ("waiting",),
        ("waiting", Observe): ("waiting",),
        ("waiting", LetGo): ("waiting",),
        ("waiting", EndRound): ("waiting",),
        ("waiting", SyncCall): ("waiting",),
        ("waiting", Pooled): ("ready",),
        ("waiting", Deadline): ("ready",),
    }

    def __init__(self, seat: Seat, plan: AgentsPlan, supply: AgentSupply) -> None:
        super().__init__(seat, plan, supply, AgentState(**first_state(plan)))

    @property
    def awaited(self) -> int | None:
        """The release whose sum has not come, for which nobody else would ask again."""
        waits = self.stage == "waiting" and self._plan.constants.schedule == TRIGGERED
        return self._state.released.made if waits else super().awaited

    def _hear(self, event: Any) -> Step:
        match event:
            case SyncCall():
                return self._answer(event)
            case Pooled():
                return self._take_over(event)
            case _ if event.number != self.awaited:  # a deadline of what is over
                return Step(self._state)
            case _:
                return Step(self._after(stage="ready", called=self._state.pooled))

    def _requests(self, after: AgentState) -> Sequence[Message]:
        constants = self._plan.constants
        if (
            constants.schedule != TRIGGERED
            or after.stage == "waiting"
            or after.released.made >= constants.releases
            or after.waited == 0
        ):
            return ()
        log_det = after.view.trigger_log_det
        if not sync_due(constants.threshold, after.pool.terms, log_det, after.waited):
            return ()
        release = after.pooled + 1
        return [SyncRequest(sender=self.name, receiver=self._controller, release=release)]

    def _answer(self, call: SyncCall) -> Step:
        constants, state = self._plan.constants, self._state
        if constants.schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may call for one")
        if not max(state.pooled, state.called) < call.release <= self._plan.most_sums:
            raise OutOfOrderError(f"{self.name}: call for sum {call.release} after {state.pooled}")
        if state.released.made == constants.releases:
            raise OutOfOrderError(f"{self.name}: all {constants.releases} releases were made")
        try:
            return self._release(called=call.release)
        except BudgetExceededError:  # for good: the call is answered by nothing, and was heard
            return Step(self._after(called=call.release, refused=state.refused + 1))

    def _release(self, **changed: Any) -> Step:
        """Make the next release of the running sum: kept before it leaves."""
        state, plan = self._state, self._plan
        statistic, kept = sum_to_release(
            plan, self._most_records, state.released.made, state.statistic, state.kept
        )
        released, noisy = running_sum.release(
            plan.release, state.released, statistic.reshape(-1), plan.constants.entry_scale,
            self._noise,
        )  # fmt: skip
        self._has_noise = False
        left = noisy.copy() if plan.constants.leaves_out_own else no_release()
        had = Released(state.records - len(kept), statistic, left)
        after = self._after(
            stage="waiting", released=released, fresh=0, statistic=statistic.copy(), kept=kept,
            under_way={**state.under_way, released.made: had}, **changed,
        )  # fmt: skip
        upload = Upload(
            sender=self.name,
            receiver=self._controller,
            release=released.made,
            statistic=pack(noisy),
        )
        return Step(after, [upload])

    def _take_over(self, message: Pooled) -> Step:
        """Go on from the sum of all agents' newest releases."""
        newest = self._checked_numbers(message)
        values = unpack(message.statistic, self._plan.constants.release_size)
        return self._go_on(message.release, newest, values)

    def _checked_numbers(self, message: Pooled) -> tuple[int, ...]:
        """Return the number of every agent's release in a sum."""
        state, constants = self._state, self._plan.constants
        if not state.pooled < message.release <= self._plan.most_sums:
            raise OutOfOrderError(
                f"{self.name}: sum {message.release} after sum {state.pooled}, of "
                f"{self._plan.most_sums}"
            )
        newest = message.newest or (message.release,) * len(self._everybody)
        if (
            len(newest) != constants.agents
            or not 0 <= min(newest) <= max(newest) <= constants.releases
            or max(newest) == 0
            or not state.included <= newest[self._index] <= state.released.made
        ):
            raise ImplausibleError(f"{self.name}: the sum names releases that were never made")
        return newest
