"""FCLUB's local servers and the global one as parties: releases go up, others' releases come down.

A local server holds its users' records and draws its own noise. The global server only hands on
what it is told; it needs to know nothing about users, and never sees noise or raw sums.

Nobody waits for anybody. A server recommends by what it knows while releases are exchanged. At a
deadline the global server hands out the newest that each server has released, and says which.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, OutOfOrderError, pack
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.systems.fclub.messages import TABLE, Limits, Others, Release, user_counts
from fedbandits.systems.fclub.plan import CLUSTERS, FCLUBPlan
from fedbandits.systems.fclub.roles.local_server import LocalServer
from fedbandits.systems.servers.roles import server_roles, with_value


class GlobalState(PartyState, frozen=True, kw_only=True):
    """All that changes in a global server."""

    stage: str = "gathering"
    handed: int = 0  # how often it has handed out what it has
    newest: tuple[int, ...]  # the number of every server's newest release; 0 for none
    included: tuple[int, ...]  # the number of that in the last hand-out; 0 for none
    #: For every server (rows, p): its newest running sums, or all sums of clusters that were not
    #: handed out yet.
    rows: tuple[Floats, ...]


class GlobalServer(Party[GlobalState]):
    """Hands every server what all others released, once all have, or at a deadline.

    Rows go out in the order of servers.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("gathering", Release): ("gathering",),
        ("gathering", Deadline): ("gathering",),
    }

    def __init__(self, seat: Seat, plan: FCLUBPlan) -> None:
        self._servers = seat.names("server")
        self._place = {name: i for i, name in enumerate(self._servers)}
        nothing = (0,) * len(self._servers)
        rows = tuple(np.zeros((0, plan.size)) for _ in self._servers)
        super().__init__(seat, GlobalState(newest=nothing, included=nothing, rows=rows))
        self._plan, self._users, self._limits = plan, user_counts(plan), Limits.of(plan)

    @property
    def awaited(self) -> int | None:
        """The hand-out for which some have released."""
        state = self._state
        return state.handed + 1 if state.newest != state.included else super().awaited

    def _compute(self, event: Any) -> Step:
        return self._collect(event) if isinstance(event, Release) else self._end_waiting(event)

    def _collect(self, message: Release) -> Step:
        state, place = self._state, self._place[message.sender]
        most = self._plan.release_count
        if not state.newest[place] < message.release <= most:
            raise OutOfOrderError(
                f"{self.name}: release {message.release} of {message.sender}, expected "
                f"{state.newest[place] + 1} to {most}"
            )
        rows = self._limits.rows(message.sums)
        self._limits.check_count(self.name, self._users[place], len(rows))
        self._limits.check(self.name, rows, message.release)
        if self._plan.releases == CLUSTERS:
            rows = np.concatenate([state.rows[place], rows])
        after = self._after(
            newest=with_value(state.newest, place, message.release),
            rows=with_value(state.rows, place, rows),
        )
        waits = any(a == b for a, b in zip(after.newest, after.included, strict=True))
        return Step(after) if waits else self._hand_out(after)

    def _end_waiting(self, event: Deadline) -> Step:
        """Hand out what there is, if something new is."""
        state = self._state
        old = event.number != state.handed + 1 or state.newest == state.included
        return Step(state) if old else self._hand_out(state)

    def _hand_out(self, state: GlobalState) -> Step:
        number = state.handed + 1
        rows, messages = state.rows, list[Message]()
        alike = all(newest == number for newest in state.newest)
        for place, receiver in enumerate(self._servers):
            others = [i for i in range(len(rows)) if i != place]
            messages.append(
                Others(
                    sender=self.name, receiver=receiver, release=number,
                    rows=tuple(len(rows[i]) for i in others),
                    sums=pack(np.concatenate([rows[i] for i in others]).reshape(-1)),
                    newest=() if alike else tuple(state.newest[i] for i in others),
                )
            )  # fmt: skip
        if self._plan.releases == CLUSTERS:  # each is told once
            rows = tuple(part[:0] for part in rows)
        after = msgspec.structs.replace(state, handed=number, included=state.newest, rows=rows)
        return Step(after, messages)


def roles(plan: FCLUBPlan) -> Roles:
    """Return local servers, and a global one that hands on what they release."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
