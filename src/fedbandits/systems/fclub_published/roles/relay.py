"""How the global server of FCLUB passes on what local servers upload."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step
from fedbandits.systems.fclub_published.kernels.exchange import (
    enter_upload,
    hand_out,
    weigh_upload,
)
from fedbandits.systems.fclub_published.kernels.state import ALWAYS, DELAYED, Hub, row_size
from fedbandits.systems.fclub_published.limits import Limits
from fedbandits.systems.fclub_published.messages import (
    Download,
    Observation,
    SharedObservation,
    UnknownClusterError,
    Upload,
    unpack_record,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.state import empty_hub, new_scratch


class GlobalState(PartyState, frozen=True, kw_only=True):
    """All that changes in the global server.

    Parameters
    ----------
    hub
        What it knows of clusters.
    labels : (users,) int64
        The local cluster of each, as servers reported it last.
    reports : (users, p + 1) float64
        What those clusters' own users add up to, in rows of their names.
    regrouped
        How often it has merged clusters.
    newest, included
        The phase of every server's newest report, and of that when clusters were merged last; -1
        for none.
    since
        The phase in which every server's clusters last began anew; -1 for none.
    behind
        Whether a server's clusters did not begin anew when all others did: it keeps them, and has
        no part in any until it reports again.
    """

    stage: str = "serving"
    hub: Hub
    labels: Ints
    reports: Floats
    regrouped: int = 0
    newest: tuple[int, ...]
    included: tuple[int, ...]
    since: tuple[int, ...]
    behind: tuple[bool, ...]


class Relay(Party[GlobalState]):
    """What the global server does between phases.

    Parameters
    ----------
    seat, plan
        See :class:`.global_server.GlobalServer`.
    """

    def __init__(self, seat: Seat, plan: PublishedFCLUBPlan) -> None:
        hub, self._home = empty_hub(plan), plan.home
        self._servers = seat.names("server")
        self._place = {name: i for i, name in enumerate(self._servers)}
        none = (-1,) * len(self._servers)
        size = row_size(plan.constants.dimension)
        state = GlobalState(
            hub=hub,
            labels=hub.cluster_of.copy(),
            reports=np.zeros((len(self._home), size)),
            newest=none,
            included=none,
            since=none,
            behind=(False,) * len(self._servers),
        )
        super().__init__(seat, state)
        self._plan, self._limits = plan, Limits.of(plan)
        self._scratch = new_scratch(plan, plan.constants.users)

    def _group(self, message: Upload | Observation, sharing: int) -> int | None:
        """The global cluster that a sender speaks of; None if it did not begin anew with it."""
        cluster, state, place = message.cluster, self._state, self._place[message.sender]
        if (
            self._plan.constants.sharing != sharing
            or not 0 <= cluster < len(self._home)
            or self._home[cluster] != place
        ):
            raise UnknownClusterError(f"{self.name}: {message.sender} has no cluster {cluster}")
        if message.since > state.since[place]:
            raise OutOfOrderError(
                f"{self.name}: clusters of {message.sender} began anew in phase "
                f"{state.since[place]}, not in {message.since}"
            )
        if message.since < state.since[place] or state.behind[place]:
            return None
        if state.hub.group_of[cluster] < 0:
            raise UnknownClusterError(f"{self.name}: {message.sender} has no cluster {cluster}")
        return int(state.hub.group_of[cluster])

    def _take_upload(self, message: Upload) -> Step:
        constants, hub = self._plan.constants, self._state.hub
        group = self._group(message, DELAYED)
        upload = unpack(message.sums, hub.known.shape[1])
        self._limits.upload.check(self.name, message.sender, upload[None])
        if group is None:
            return Step(self._state)
        whole, part = weigh_upload(
            hub.total[group], hub.known[message.cluster], upload, 2.0 if hub.twice[0] else 1.0,
            constants.ridge, self._scratch.row, self._scratch.factor,
        )  # fmt: skip
        if math.isnan(whole) or math.isnan(part):
            raise ImplausibleError(
                f"{self.name}: {message.sender} sent an upload that cannot be a sum of records"
            )

        def write() -> Sequence[Message]:
            enter_upload(constants, hub, message.cluster, upload, whole, part)
            return [self._download(int(cluster)) for cluster in self._due()]

        return Step(self._state, write=write)

    def _due(self) -> Ints:
        """Clusters that are sent what they lack; those of servers that are behind are not."""
        due = np.flatnonzero(self._state.hub.due)
        if not any(self._state.behind):
            return due
        behind = np.array(self._state.behind)[self._home[due]]
        self._state.hub.due[due[behind]] = 0
        kept: Ints = due[~behind]
        return kept

    def _download(self, cluster: int) -> Message:
        hub, place = self._state.hub, int(self._home[cluster])
        answer = Download(
            sender=self.name, receiver=self._servers[place], cluster=cluster,
            since=self._state.since[place], sums=pack(hub.waiting[cluster]),
        )  # fmt: skip
        hand_out(hub, cluster)
        return answer

    def _take_record(self, message: Observation) -> Step:
        state, constants = self._state, self._plan.constants
        group = self._group(message, ALWAYS)
        unpack_record(self.name, message, constants.dimension, constants.context_bound)
        if group is None:
            return Step(state)
        inside = np.unique(self._home[np.flatnonzero(state.hub.group_of == group)]).tolist()
        return Step(
            state,
            [
                SharedObservation(
                    sender=self.name, receiver=self._servers[place], group=group,
                    since=state.since[place], record=message.record,
                )
                for place in inside
                if self._servers[place] != message.sender and not state.behind[place]
            ],
        )  # fmt: skip
