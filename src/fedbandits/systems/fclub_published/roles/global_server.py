"""The global server of FCLUB: merges what local servers report, and passes on what they upload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import (
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.state import Transitions
from fedbandits.systems.fclub_published.kernels.exchange import hand_out, take_upload
from fedbandits.systems.fclub_published.messages import (
    Download,
    ImplausibleSumError,
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
    clusters_of,
    partners_of,
    regroup,
    totals_of,
)
from fedbandits.systems.fclub_published.plan import (
    ALWAYS,
    DELAYED,
    PublishedFCLUBPlan,
    row_size,
)
from fedbandits.systems.fclub_published.state import Hub, empty_hub, new_scratch


class GlobalServer(Party):
    """Holds what servers have uploaded, and no user's own statistics; it adds no noise.

    Parameters
    ----------
    name
        This party's name.
    servers
        Names of the local servers, in order.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", "PhaseReport"): ("gathering", "serving"),
        ("gathering", "PhaseReport"): ("gathering", "serving"),
        **{
            (state, kind): (state,)
            for state in ("serving", "gathering")
            for kind in ("Upload", "Observation")
        },
    }

    def __init__(self, name: str, servers: Sequence[str], plan: PublishedFCLUBPlan) -> None:
        super().__init__(name, "serving", servers)
        self.hub: Hub = empty_hub(plan)
        #: The last phase that all servers have reported in.
        self.phase = -1
        self._servers, self._plan, self._home = tuple(servers), plan, plan.home
        self._scratch = new_scratch(plan, plan.constants.users)
        self._inbox: dict[str, tuple[Ints, Floats]] = {}

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Upload():
                return self._take_upload(message)
            case Observation():
                return self._take_record(message)
            case PhaseReport():
                return self._take_report(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for a hub")

    def _group(self, message: Upload | Observation, sharing: int) -> int:
        """The global cluster that a sender speaks of."""
        if message.sender in self._inbox:
            raise OutOfOrderError(f"{self.name}: {message.sender} has reported already")
        cluster, hub = message.cluster, self.hub
        if (
            self._plan.constants.sharing != sharing
            or not 0 <= cluster < len(self._home)
            or self._servers[self._home[cluster]] != message.sender
            or hub.group_of[cluster] < 0
        ):
            raise UnknownClusterError(f"{self.name}: {message.sender} has no cluster {cluster}")
        return int(hub.group_of[cluster])

    def _take_upload(self, message: Upload) -> list[Message]:
        self._group(message, DELAYED)
        hub = self.hub
        upload = unpack(message.sums, hub.known.shape[1])
        if upload[-1] < 0.0 or not take_upload(
            self._plan.constants, hub, message.cluster, upload, self._scratch
        ):
            raise ImplausibleSumError(f"{self.name}: {message.sender} uploads what is no sum")
        answers: list[Message] = []
        for cluster in np.flatnonzero(hub.due):
            answer = Download(
                sender=self.name, receiver=self._servers[self._home[cluster]],
                cluster=int(cluster), sums=pack(hub.waiting[cluster]),
            )  # fmt: skip
            hand_out(hub, int(cluster))
            answers.append(self._numbered(answer))
        return answers

    def _take_record(self, message: Observation) -> list[Message]:
        group = self._group(message, ALWAYS)
        constants = self._plan.constants
        unpack_record(self.name, message, constants.dimension, constants.context_bound)
        inside = np.flatnonzero(self.hub.group_of == group)
        return [
            self._numbered(
                SharedObservation(
                    sender=self.name, receiver=self._servers[server], group=group,
                    record=message.record,
                )
            )
            for server in np.unique(self._home[inside])
            if self._servers[server] != message.sender
        ]  # fmt: skip

    def _take_report(self, message: PhaseReport) -> list[Message]:
        if message.phase != self.phase + 1 or message.sender in self._inbox:
            raise OutOfOrderError(
                f"{self.name}: report {message.phase} of {message.sender}, expected "
                f"{self.phase + 1} of those who are missing"
            )
        inbox = {**self._inbox, message.sender: self._checked(message)}
        if len(inbox) < len(self._servers):
            self._inbox = inbox
            self._move("PhaseReport", "gathering")
            return []
        labels = np.zeros(len(self._home), np.int64)
        reports = np.zeros((len(self._home), row_size(self._plan.constants.dimension)))
        for server, (own, sums) in inbox.items():
            labels[self._home == self._servers.index(server)] = own
            reports[clusters_of(own)] = sums
        try:
            first = self.phase < 0
            renewed = regroup(self._plan.constants, self.hub, self._home, labels, reports, first)
        except NotARecordsSumError:
            raise ImplausibleSumError(f"{self.name}: {message.sender} reports no sums") from None
        self.phase, self._inbox = message.phase, {}
        self._move("PhaseReport", "serving")
        return [self._partition(place, renewed, reports) for place in range(len(self._servers))]

    def _checked(self, message: PhaseReport) -> tuple[Ints, Floats]:
        """A server's labels and sums, if every cluster is named by its lowest user."""
        users = np.flatnonzero(self._home == self._servers.index(message.sender))
        try:
            labels = np.array(message.labels, dtype=np.int64)
        except OverflowError:
            labels = np.full(len(users), -1, np.int64)
        if labels.shape != users.shape:
            raise WrongShapeError(f"{self.name}: expected a cluster for {len(users)} users")
        names, first = np.unique(labels, return_index=True)
        if not np.array_equal(names, users[first]):
            raise UnknownClusterError(f"{self.name}: clusters are named by their lowest users")
        size = row_size(self._plan.constants.dimension)
        sums = unpack(message.sums, len(names) * size).reshape(len(names), size)
        if (sums[:, -1] < 0.0).any():
            raise ImplausibleSumError(f"{self.name}: {message.sender} counts fewer than no records")
        return labels, sums

    def _partition(self, place: int, renewed: bool, reports: Floats) -> Message:
        hub, groups = self.hub, np.zeros(0, np.int64)
        if renewed:
            groups = hub.group_of[clusters_of(hub.cluster_of[self._home == place])]
        return self._numbered(
            Partition(
                sender=self.name,
                receiver=self._servers[place],
                phase=self.phase,
                renewed=renewed,
                groups=tuple(groups.tolist()),
                partners=tuple(partners_of(hub, int(group)) for group in groups),
                sums=pack(totals_of(self._plan.constants, hub, reports)[groups].reshape(-1)),
            )
        )
