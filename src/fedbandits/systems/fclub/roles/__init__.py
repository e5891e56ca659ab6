"""FCLUB's local servers and the global one as parties: releases go up, others' releases come down.

A local server holds its users' records and draws its own noise. The global server only hands on
what it is told; it needs to know nothing about users, and never sees noise or raw sums.

Nobody waits for anybody. A server recommends by what it knows while releases are exchanged. At a
deadline the global server hands out the newest that each server has released, and says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.events import Deadline
from fedbandits.federation.exchange.hub import (
    Gathering,
    Hub,
    HubState,
    numbers_in,
    serving,
    with_value,
)
from fedbandits.federation.messages import Message, pack
from fedbandits.federation.roles import Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.fclub.messages import TABLE, Limits, Others, Release, user_counts
from fedbandits.systems.fclub.plan import CLUSTERS, FCLUBPlan
from fedbandits.systems.fclub.roles.local_server import LocalServer
from fedbandits.systems.servers.roles import server_roles


class GlobalServer(Hub[HubState]):
    """Hands every server the releases of all others.

    Of running sums it keeps the rows of every server's newest release; of sums of phases all rows
    that were not handed out yet.
    """

    GATHERING = Gathering("server", Release)
    TRANSITIONS: ClassVar[Transitions] = serving(Release, Deadline)

    def __init__(self, seat: Seat, plan: FCLUBPlan) -> None:
        empty = [np.zeros((0, plan.size))] * plan.constants.servers
        super().__init__(seat, HubState(**self.first_state(empty)), plan.release_count)
        self._by_phase, self._users = plan.releases == CLUSTERS, user_counts(plan)
        self._limits = Limits.of(plan)

    def _keep(self, place: int, message: Release) -> dict[str, Any]:
        kept, rows = self._state.kept, self._limits.rows(message.sums)
        self._limits.check_count(self.name, self._users[place], len(rows))
        self._limits.check(self.name, rows, message.release)
        if self._by_phase:
            rows = np.concatenate([kept[place], rows])
        return {"kept": with_value(kept, place, rows)}

    def _hand_out(self, state: HubState) -> Step:
        kept = tuple(rows[:0] for rows in state.kept) if self._by_phase else state.kept
        after = msgspec.structs.replace(
            state, releases=state.releases + 1, included=state.newest, kept=kept
        )
        return Step(after, list(self._others(state)))

    def _others(self, state: HubState) -> Iterator[Message]:
        """Make messages with all rows but the receiver's own, in the order of servers."""
        number = state.releases + 1
        newest = numbers_in(state, number)
        for place, receiver in enumerate(self._members):
            rows: list[Floats] = [*state.kept[:place], *state.kept[place + 1 :]]
            yield Others(
                sender=self.name, receiver=receiver, release=number,
                rows=tuple(map(len, rows)), sums=pack(np.concatenate(rows).reshape(-1)),
                newest=newest[:place] + newest[place + 1 :],
            )  # fmt: skip


def roles(plan: FCLUBPlan) -> Roles:
    """Return local servers, and a global one that hands on what they release."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
