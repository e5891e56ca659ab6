"""Peer-to-peer FedUCB as parties: everybody releases, passes on and pools; nobody leads.

Released running sums leave an agent, and copies of others' releases. Parties call the compiled
functions of the simulation, so the same seed gives the same run.

Nobody waits for anybody. A round ends when a public clock says so. A late release is used when it
comes, and an early release when its round is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ReleaseRefusedError
from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.exchange.gossip import Known, copies_due, extended, passed_on, usable
from fedbandits.federation.messages import Message, pack
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.privacy import running_sum
from fedbandits.privacy.running_sum import renamed
from fedbandits.systems.agents.counting import number_or_none, others_count_as, squared_norms
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.sync import sync_due
from fedbandits.systems.agents.kernels.views import Views
from fedbandits.systems.agents.linear_agent import Knowledge
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb_p2p.kernels.state import NOT_POOLED
from fedbandits.systems.feducb_p2p.listener import (
    TABLE,
    Call,
    Estimator,
    Listener,
    PeerState,
    Release,
    at_release,
    refreshed,
)
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.shell import staying


def roles(plan: PeerPlan) -> Roles:
    """Return agents, and nobody else."""
    agent = Role("agent", plan.agent_names, lambda seat, own: PeerAgent(seat, plan, own), acts=True)
    return Roles((agent,), TABLE, outcomes_may_be_late=True)


class PeerAgent(Listener):
    """One organisation: decides, learns from rewards, releases, passes on, pools.

    Parameters
    ----------
    seat
        The public facts of the party; the budget is that of its place. Sums are
        taken in the order of agents.
    plan
        The plan of all parties.
    supply
        The agent's noise, and the key of its draws. The k-th release of estimator g of G has the
        simulated draw of the name (k - 1) G + g + 1. A source that covers values is asked step
        after step, whichever estimators are released.
    """

    TRANSITIONS: ClassVar[Transitions] = staying(
        ("ready",), Decide, Observe, LetGo, EndRound, Release, Call
    )

    def __init__(self, seat: Seat, plan: PeerPlan, supply: AgentSupply) -> None:
        super().__init__(seat, plan, supply)
        self._log_term = float(plan.peers.log_term[seat.place])
        members = np.flatnonzero(plan.peers.lag[seat.place] != NOT_POOLED).tolist()
        #: For every estimator where to find the releases that go into its pool.
        self._cells = [[self._cell(i, g) for i in members] for g in range(self._count)]

    @property
    def _next_planned(self) -> int | None:
        """The end of the next round: copies are passed on at the end of every round."""
        done = self._state.rounds
        return done + 1 if done < self._plan.rounds else None

    @property
    def records_kept(self) -> int:
        return sum(len(each.kept) for each in self._state.estimators)

    @property
    def others_count_as(self) -> float | None:
        state, each = self._state, self._state.estimators
        if not (self._plan.constants.own_view and any(one.pooled for one in each)):
            return None
        residuals = np.concatenate([one.residuals for one in each])
        squares = squared_norms(state.statistic, state.uncounted).ravel()
        return number_or_none(others_count_as(residuals, squares, self.records_kept))

    @property
    def acts_on(self) -> tuple[Pool, Views, int]:
        """The pool and the view of the surest estimator, and its releases, added up by number."""
        estimators = self._state.estimators
        surest = max(range(len(estimators)), key=lambda g: float(estimators[g].view.log_det.sum()))
        now = estimators[surest]
        pool = now.pool if self._plan.constants.raw_view else self.pool(surest)
        return pool, now.view, now.pooled

    def pool(self, estimator: int = 0) -> Pool:
        """Return the pool of the releases that this agent has heard."""
        return self._refreshed(estimator).pool

    def _take_message(self, message: Any) -> Step:
        return self._hear(message) if type(message) is Release else self._hear_call(message)

    def _decide(self, event: Decide) -> Step:
        """Choose by the estimator of the round, with all releases that may be used by now."""
        state, g = self._state, (self._state.rounds + 1) % self._count
        now, changed = self._refreshed(g), dict[str, Any]()
        if now is not state.estimators[g]:
            changed["estimators"] = _with(state.estimators, g, now)
        if self._count > 1:
            changed["used"] = {**state.used, state.decisions + 1: g}
        return self._choose(event, now.view, self._after(**changed) if changed else None)

    def _refreshed(self, g: int) -> Estimator:
        """Return an estimator with all releases that may be used by now."""
        state, cells = self._state, self._cells[g]
        known, round_, now, numbers = state.known, state.rounds, state.estimators[g], 0
        heard: list[tuple[int, Known]] = []
        for cell in cells:
            if cell in known and (newest := usable(known[cell], round_)) is not None:
                heard.append((cell // self._count, newest))
                numbers += newest.release
        # Numbers of releases only grow, so an unchanged sum of them means nothing new.
        if numbers == now.pooled:
            return now
        return refreshed(
            self._plan, self._index, now, heard, state.statistic[g], state.uncounted[g]
        )

    def _observe(self, event: Observe) -> Step:
        """Learn from a reward, for the estimator that decided. Messages leave at a round's end."""
        state, number = self._state, event.decision.number
        g, used = self._used(number)
        now = state.estimators[g]
        known = Knowledge(
            state.statistic[g], state.uncounted[g], now.residuals, now.pool, now.view,
            self._log_term,
        )  # fmt: skip
        intake = self._learning_from(event, now.released.made, now.kept, known)
        after = msgspec.structs.replace(now, waited=now.waited + intake.counted, kept=intake.kept)

        def learn() -> Sequence[Message]:
            intake.write()
            return ()

        changed = self._after(
            records=state.records + 1, used=used, estimators=_with(state.estimators, g, after)
        )
        return Step(changed, write=learn, closed=number)

    def _let_go(self, event: LetGo) -> Step:
        """Close a decision without a record: it counts as a round in which nothing was learned."""
        step, estimators = super()._let_go(event), self._state.estimators
        g, used = self._used(event.decision.number)
        after = msgspec.structs.replace(estimators[g], waited=estimators[g].waited + 1)
        changed = self._after(used=used, estimators=_with(estimators, g, after))
        return msgspec.structs.replace(step, state=changed)

    def _used(self, number: int) -> tuple[int, dict[int, int]]:
        """Return the estimator that made a decision, and those of the other open decisions."""
        used = self._state.used
        left = {n: by for n, by in used.items() if n != number} if used else used
        return used.get(number, 0), left

    def _release(self) -> Step:
        """End a round: make the releases that are due, and pass on earlier messages."""
        round_ = self._state.rounds + 1
        step = self._triggered(round_) if self._is_triggered else self._planned(round_)
        floods = self._state.floods
        if not floods:
            return step
        passed = copies_due(floods, round_ - 1, self._neighbours)
        left = passed_on(floods, round_ - 1, round_ - 2 * self._peers.gamma)
        return Step(msgspec.structs.replace(step.state, floods=left), [*step.outgoing, *passed])

    def _planned(self, round_: int) -> Step:
        """Release if that is due, by a schedule fixed in advance."""
        after, end = self._after(rounds=round_), self._releasing.next_end(self._made)
        return self._releases(after, (0,)) if end is not None and end <= round_ else Step(after)

    def _triggered(self, round_: int) -> Step:
        """Call for a sync if one is due, and answer the calls that are due."""
        state, g = self._state, round_ % self._count
        now, calls, outgoing = self._refreshed(g), state.calls, list[Message]()
        if self._calls(now):
            call = Call(sender=self.name, receiver="", origin=self.name, round=round_, hops=1)
            outgoing, calls = self._to_all(call), {**calls, round_: round_}
        estimators = _with(state.estimators, g, now)
        if not calls:
            return Step(self._after(rounds=round_, estimators=estimators))
        left = {called: when for called, when in calls.items() if when > round_}
        after = self._after(rounds=round_, estimators=estimators, calls=left)
        # An estimator that was released since the call has no new record.
        due = dict.fromkeys(
            called % self._count
            for called in sorted(calls.keys() - left)
            if estimators[called % self._count].released_in < called
        )
        step = self._releases(after, tuple(due))
        return Step(step.state, [*outgoing, *step.outgoing])

    def _calls(self, now: Estimator) -> bool:
        """Tell whether an estimator has learned enough to call for a sync."""
        constants, waited = self._plan.constants, now.waited
        if not waited or now.released.made >= constants.releases:
            return False
        return bool(sync_due(constants.threshold, now.pool.terms, now.view.trigger_log_det, waited))

    def _releases(self, after: PeerState, due: Sequence[int]) -> Step:
        """Release some estimators as they stand, if there are releases left."""
        outgoing = list[Message]()
        for g in due:
            now, most = after.estimators[g], self._plan.constants.releases
            if now.released.made >= most:
                continue
            statistic, kept = self._sum_to_release(now.released.made, after.statistic[g], now.kept)
            try:
                now, noisy = self._released(after, g, statistic)
            except ReleaseRefusedError:  # for good: the round ends all the same
                after = msgspec.structs.replace(after, refused=after.refused + 1)
                continue
            now = msgspec.structs.replace(now, released_in=after.rounds, waited=0, kept=kept)
            if len(kept) < len(after.estimators[g].kept):  # some of them count from now on
                sums = after.statistic.copy()
                sums[g] = statistic
                after = msgspec.structs.replace(after, statistic=sums)
            number, cell = now.released.made, self._cell(self._index, g)
            known = extended(
                after.known.get(cell, ()), Known(number, after.rounds, noisy), after.rounds
            )
            after = msgspec.structs.replace(
                after, estimators=_with(after.estimators, g, now),
                known={**after.known, cell: known},
            )  # fmt: skip
            outgoing += self._to_all(self._announcement(g, number, noisy, after.rounds))
        return Step(after, outgoing)

    def _released(self, after: PeerState, g: int, statistic: Floats) -> tuple[Estimator, Floats]:
        """Make the next release of a sum: settled before anything leaves."""
        plan, count, now = self._plan, self._count, after.estimators[g]
        # Noise that covers is charged for in one stream without gaps between its steps.
        step = 1 + sum(each.released.made for each in after.estimators)
        covers = hasattr(self._noise, "cover")
        released, noisy = running_sum.release(
            plan.release,
            now.released,
            statistic.reshape(-1),
            plan.constants.entry_scale,
            renamed(self._noise, lambda k: step if covers else (k - 1) * count + g + 1),
        )
        self._has_noise = False
        kept = at_release(plan, statistic)
        return msgspec.structs.replace(now, released=released, at_release=kept), noisy

    def _announcement(self, g: int, number: int, noisy: Floats, round_: int) -> Message:
        """Return the message of a release, as of the round in which the release was due."""
        if self._releasing.end is not None:
            round_ = self._releasing.end(number)
        return Release(
            sender=self.name,
            receiver="",
            origin=self.name,
            round=round_,
            hops=1,
            estimator=g,
            release=number,
            statistic=pack(noisy),
        )

    def _to_all(self, message: Message) -> list[Message]:
        return [msgspec.structs.replace(message, receiver=name) for name in self._neighbours]


def _with(estimators: tuple[Estimator, ...], g: int, changed: Estimator) -> tuple[Estimator, ...]:
    return (*estimators[:g], changed, *estimators[g + 1 :])
