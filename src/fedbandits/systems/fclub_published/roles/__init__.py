"""The parties of published FCLUB: local servers, and a global one, which is here.

The global server merges what local servers report, and passes on what they upload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.systems.fclub_published.kernels.exchange import enter_upload, hand_out, weigh_upload
from fedbandits.systems.fclub_published.kernels.servers import ALWAYS, DELAYED, Hub
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
from fedbandits.systems.fclub_published.phases import (
    NotARecordsSumError,
    Proposal,
    adopt,
    clusters_of,
    is_no_sum,
    partners_of,
    propose,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.local_server import LocalServer
from fedbandits.systems.fclub_published.state import empty_hub, new_scratch
from fedbandits.systems.servers.roles import server_roles, with_value


class GlobalState(PartyState, frozen=True, kw_only=True):
    """All that changes in the global server; phases are -1 for none."""

    stage: str = "serving"
    hub: Hub  # what it knows of clusters
    labels: Ints  # (users,) the local cluster of each, as servers reported it last
    reports: Floats  # (users, p + 1) sums of those clusters' own users, in rows of their names
    regrouped: int = 0  # how often it has merged clusters
    newest: tuple[int, ...]  # the phase of every server's newest report
    included: tuple[int, ...]  # the phase of that when clusters were merged last
    since: tuple[int, ...]  # the phase in which every server's clusters last began anew
    #: Whether a server's clusters did not begin anew when all others did: it keeps them, and has
    #: no part in any until it reports again.
    behind: tuple[bool, ...]


class GlobalServer(Party[GlobalState]):
    """Holds what servers have uploaded, and no user's own statistics; it adds no noise."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", PhaseReport): ("gathering", "serving"),
        ("gathering", PhaseReport): ("gathering", "serving"),
        ("gathering", Deadline): ("gathering", "serving"),
        **{
            (stage, kind): (stage,)
            for stage in ("serving", "gathering")
            for kind in (Upload, Observation)
        },
    }

    def __init__(self, seat: Seat, plan: PublishedFCLUBPlan) -> None:
        hub, self._home = empty_hub(plan), plan.home
        self._servers = seat.names("server")
        self._place = {name: i for i, name in enumerate(self._servers)}
        none = (-1,) * len(self._servers)
        size = plan.size + 1
        state = GlobalState(
            hub=hub, labels=hub.cluster_of.copy(), reports=np.zeros((len(self._home), size)),
            newest=none, included=none, since=none, behind=(False,) * len(self._servers),
        )  # fmt: skip
        super().__init__(seat, state)
        self._plan, self._limits = plan, Limits.of(plan)
        self._scratch = new_scratch(plan, plan.constants.users)

    @property
    def awaited(self) -> int | None:
        """The merging for which some have reported."""
        state = self._state
        return state.regrouped + 1 if state.stage == "gathering" else super().awaited

    def _compute(self, event: Any) -> Step:
        match event:
            case Upload():
                return self._take_upload(event)
            case Observation():
                return self._take_record(event)
            case PhaseReport():
                return self._take_report(event)
            case _:
                return self._end_waiting(event)

    def _group(self, message: Upload | Observation, sharing: int) -> int | None:
        """Return the global cluster that a sender means; None if it did not begin anew with it."""
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
        """Find clusters that are sent what they lack; those of servers that are behind are not."""
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
        state = self._state
        group = self._group(message, ALWAYS)
        unpack_record(self._plan, self.name, message)
        if group is None:
            return Step(state)
        inside = np.unique(self._home[np.flatnonzero(state.hub.group_of == group)]).tolist()
        shared = [
            SharedObservation(
                sender=self.name, receiver=self._servers[place], group=group,
                since=state.since[place], record=message.record,
            )
            for place in inside
            if self._servers[place] != message.sender and not state.behind[place]
        ]  # fmt: skip
        return Step(state, shared)

    def _take_report(self, message: PhaseReport) -> Step:
        state, place = self._state, self._place[message.sender]
        if not state.newest[place] < message.phase < self._plan.phases:
            raise OutOfOrderError(
                f"{self.name}: report {message.phase} of {message.sender} after "
                f"{state.newest[place]}"
            )
        if not -1 <= message.since < message.phase:
            raise OutOfOrderError(f"{self.name}: nothing has begun in phase {message.since}")
        own, sums = self._checked(message, place)
        mine = self._home == place
        labels, reports = state.labels.copy(), state.reports.copy()
        labels[mine], reports[mine] = own, 0.0
        reports[clusters_of(own)] = sums
        astray = message.since != state.since[place]
        after = self._after(
            stage="gathering", labels=labels, reports=reports,
            newest=with_value(state.newest, place, message.phase),
            behind=with_value(state.behind, place, state.behind[place] or astray),
        )  # fmt: skip
        fresh = all(a != b for a, b in zip(after.newest, after.included, strict=True))
        if not fresh or len(set(after.newest)) > 1:
            return Step(after)
        try:
            return self._regroup(after)
        except NotARecordsSumError:
            raise ImplausibleError(f"{self.name}: {message.sender} reports no sums") from None

    def _end_waiting(self, event: Deadline) -> Step:
        """Merge the newest reports of all who have ever reported."""
        state = self._state
        if event.number != state.regrouped + 1:
            return Step(state)
        try:
            return self._regroup(state)
        except NotARecordsSumError:  # rounding alone can do that: each is a sum by itself
            return Step(self._after(stage="serving", included=state.newest))

    def _regroup(self, state: GlobalState) -> Step:
        """Merge what was reported, and tell all who have."""
        constants, hub = self._plan.constants, state.hub
        known = np.array(state.newest)[self._home] >= 0
        fresh = [a != b for a, b in zip(state.newest, state.included, strict=True)]
        # Who is back after it was left behind begins anew, and so must all.
        back = any(a and b for a, b in zip(fresh, state.behind, strict=True))
        first = back or max(state.included) < 0
        proposal = propose(constants, hub, self._home, known, state.labels, state.reports, first)
        since, behind = state.since, state.behind
        if proposal.renewed or constants.own_merging:
            behind = tuple(not is_fresh for is_fresh in fresh)
            both = zip(fresh, state.newest, since, strict=True)
            since = tuple(new if is_fresh else old for is_fresh, new, old in both)
        after = msgspec.structs.replace(
            state, stage="serving", regrouped=state.regrouped + 1, included=state.newest,
            since=since, behind=behind,
        )  # fmt: skip

        def write() -> Sequence[Message]:
            adopt(constants, hub, self._home, proposal)
            return [self._partition(i, after, proposal) for i, is_new in enumerate(fresh) if is_new]

        return Step(after, write=write)

    def _checked(self, message: PhaseReport, place: int) -> tuple[Ints, Floats]:
        """Return a server's labels and sums, if every cluster is named by its lowest user."""
        users, constants = np.flatnonzero(self._home == place), self._plan.constants
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
        hub, groups = after.hub, np.zeros(0, np.int64)
        if proposal.renewed:
            groups = hub.group_of[clusters_of(hub.cluster_of[self._home == place])]
        return Partition(
            sender=self.name, receiver=self._servers[place], phase=after.newest[place],
            renewed=proposal.renewed, groups=tuple(groups.tolist()),
            partners=tuple(partners_of(hub, int(group)) for group in groups),
            sums=pack(proposal.totals[groups].reshape(-1)),
        )  # fmt: skip


def roles(plan: PublishedFCLUBPlan) -> Roles:
    """Return local servers, and a global one that merges clusters and passes on uploads."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
