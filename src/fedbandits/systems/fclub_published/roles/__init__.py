"""The parties of published FCLUB: local servers, and the global server, which this module has.

The global server merges clusters that local servers report, and passes uploads on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline
from fedbandits.federation.exchange.hub import (
    Gathering,
    Hub,
    HubState,
    serving,
    with_value,
)
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.roles import Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.fclub_published.kernels.rounds import enter_upload, hand_out, weigh_upload
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    DELAYED,
    GlobalClusters,
)
from fedbandits.systems.fclub_published.messages import (
    TABLE,
    Download,
    Limits,
    Observation,
    Partition,
    PhaseReport,
    SharedObservation,
    UnknownClusterError,
    Upload,
    unpack_record,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.local_server import LocalServer
from fedbandits.systems.fclub_published.state import (
    NotARecordsSumError,
    Proposal,
    adopt,
    clusters_of,
    copied,
    empty_hub,
    is_no_sum,
    propose,
    renewal_of,
)
from fedbandits.systems.servers.kernels import new_scratch
from fedbandits.systems.servers.roles import server_roles


class GlobalState(HubState, frozen=True, kw_only=True):
    """All that changes in the global server; phases are -1 for none.

    ``kept`` has the sums of every server's newest report, (users of the server, p + 1), in rows of
    the clusters' names.
    """

    hub: GlobalClusters  # of all servers, since clusters last began anew
    labels: Ints  # (users,) the local cluster of each user in the newest reports
    since: tuple[int, ...]  # the phase in which every server's clusters last began anew
    #: Whether a server's clusters did not begin anew when all others did: the server keeps its
    #: clusters, which are in no global cluster until the server's next report.
    behind: tuple[bool, ...]


class GlobalServer(Hub[GlobalState]):
    """A hub that merges clusters of servers, and passes uploads on; the hub adds no noise."""

    GATHERING = Gathering("server", PhaseReport, number="phase", first=0, in_step=True)
    TRANSITIONS: ClassVar[Transitions] = serving(PhaseReport, Upload, Observation, Deadline)

    def __init__(self, seat: Seat, plan: PublishedFCLUBPlan) -> None:
        hub, self._home = empty_hub(plan), plan.home
        self._users = [np.flatnonzero(self._home == s) for s in range(plan.constants.servers)]
        state = GlobalState(
            **self.first_state([np.zeros((len(users), plan.size + 1)) for users in self._users]),
            hub=hub, labels=hub.cluster_of.copy(), since=(-1,) * len(self._users),
            behind=(False,) * len(self._users),
        )  # fmt: skip
        super().__init__(seat, state, plan.phases - 1)
        self._plan, self._limits = plan, Limits.of(plan)
        self._scratch = new_scratch(plan.constants.dimension, plan.constants.items)

    def _compute(self, event: Any) -> Step:
        match event:
            case Upload():
                return self._take_upload(event)
            case Observation():
                return self._take_record(event)
            case _:
                return super()._compute(event)

    def _group(self, message: Upload | Observation, sharing: int) -> int | None:
        """Return the global cluster of a sender's cluster; None if either began anew since."""
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
        """Find clusters whose missing sums are due; clusters of servers that are behind wait."""
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
            sender=self.name, receiver=self._members[place], cluster=cluster,
            since=self._state.since[place], sums=pack(hub.waiting[cluster]),
        )  # fmt: skip
        hand_out(hub, cluster)
        return answer

    def _take_record(self, message: Observation) -> Step:
        state = self._state
        group = self._group(message, ALWAYS)
        unpack_record(self._plan, self.name, message)
        if group is None:
            return Step(state)
        inside = np.unique(self._home[np.flatnonzero(state.hub.group_of == group)]).tolist()
        shared = [
            SharedObservation(
                sender=self.name, receiver=self._members[place], group=group,
                since=state.since[place], record=message.record,
            )
            for place in inside
            if self._members[place] != message.sender and not state.behind[place]
        ]  # fmt: skip
        return Step(state, shared)

    def _keep(self, place: int, message: PhaseReport) -> dict[str, Any]:
        """Keep the labels and sums of a server's report."""
        state, users = self._state, self._users[place]
        if not -1 <= message.since < message.phase:
            raise OutOfOrderError(f"{self.name}: nothing has begun in phase {message.since}")
        reported, sums = self._checked(message, users)
        labels, rows = state.labels.copy(), np.zeros_like(state.kept[place])
        labels[users] = reported
        rows[np.searchsorted(users, clusters_of(reported))] = sums
        behind = state.behind[place] or message.since != state.since[place]
        return {
            "labels": labels, "kept": with_value(state.kept, place, rows),
            "behind": with_value(state.behind, place, behind),
        }  # fmt: skip

    def _collect(self, message: PhaseReport) -> Step:
        try:
            return super()._collect(message)
        except NotARecordsSumError:
            raise ImplausibleError(f"{self.name}: {message.sender} reports no sums") from None

    def _end_waiting(self, event: Deadline) -> Step:
        """Merge the newest reports of all servers that have ever reported."""
        try:
            return super()._end_waiting(event)
        except NotARecordsSumError:  # by rounding alone: each report is a sum by itself
            return Step(self._after(included=self._state.newest))

    def _hand_out(self, state: GlobalState) -> Step:
        """Merge the reported clusters, and tell all servers that have reported anew."""
        constants, hub = self._plan.constants, copied(state.hub)
        known = state.newest[self._home] >= 0
        fresh: list[bool] = (state.newest > state.included).tolist()
        reports = np.zeros((len(self._home), self._plan.size + 1))
        for users, rows in zip(self._users, state.kept, strict=True):
            reports[users] = rows
        # A server that was left behind and is back begins anew, and so must all.
        back = any(a and b for a, b in zip(fresh, state.behind, strict=True))
        first = back or int(state.included.max()) < 0
        proposal = propose(constants, hub, self._home, known, state.labels, reports, first)
        since, behind = state.since, state.behind
        if proposal.renewed or constants.own_merging:
            behind = tuple(not is_fresh for is_fresh in fresh)
            both = zip(fresh, state.newest.tolist(), since, strict=True)
            since = tuple(new if is_fresh else old for is_fresh, new, old in both)
        after = msgspec.structs.replace(
            state, releases=state.releases + 1, included=state.newest, since=since, behind=behind,
            hub=hub,
        )  # fmt: skip
        adopt(constants, hub, self._home, proposal)
        return Step(
            after, [self._partition(i, after, proposal) for i, is_new in enumerate(fresh) if is_new]
        )

    def _checked(self, message: PhaseReport, users: Ints) -> tuple[Ints, Floats]:
        """Return a server's labels and sums, if every cluster is named by its lowest user."""
        constants = self._plan.constants
        try:
            labels = np.array(message.labels, dtype=np.int64)
        except OverflowError:
            labels = np.full(len(users), -1, np.int64)
        if labels.shape != users.shape:
            raise WrongShapeError(f"{self.name}: expected a cluster for {len(users)} users")
        clusters, first = np.unique(labels, return_index=True)
        if not np.array_equal(clusters, users[first]):
            raise UnknownClusterError(f"{self.name}: clusters are named by their lowest users")
        size = self._plan.size + 1
        sums = unpack(message.sums, len(clusters) * size).reshape(len(clusters), size)
        self._limits.report.check(self.name, message.sender, sums)
        if any(is_no_sum(constants, row) for row in sums):
            raise ImplausibleError(f"{self.name}: {message.sender} reports no sums")
        return labels, sums

    def _partition(self, place: int, after: GlobalState, proposal: Proposal) -> Message:
        clusters = np.zeros(0, np.int64)
        if proposal.renewed:
            clusters = clusters_of(after.hub.cluster_of[self._users[place]])
        groups, partners, sums = renewal_of(after.hub, proposal, clusters)
        return Partition(
            sender=self.name, receiver=self._members[place], phase=int(after.newest[place]),
            renewed=proposal.renewed, groups=tuple(groups.tolist()),
            partners=tuple(partners.tolist()), sums=pack(sums.reshape(-1)),
        )  # fmt: skip


def roles(plan: PublishedFCLUBPlan) -> Roles:
    """Return local servers, and a global one that merges clusters and passes on uploads."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
