"""A local server of FCLUB: decides for its users, learns, tells the global server what is due."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import Arrival
from fedbandits.federation.messages import Message, OutOfOrderError, WrongShapeError, pack, unpack
from fedbandits.federation.state import Transitions
from fedbandits.learners.models import update
from fedbandits.learners.ridge import factorise
from fedbandits.systems.fclub_published.kernels.exchange import (
    AFTER_UPLOAD,
    begin_buffer,
    noise_slot,
    note_upload,
    take_download,
    take_noise,
    upload_due,
)
from fedbandits.systems.fclub_published.kernels.models import choose, learn
from fedbandits.systems.fclub_published.kernels.regroup import (
    begin_sets_phase,
    check_edges,
    check_sets,
)
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
    begin_alone,
    clusters_of,
    learn_alone,
    renew,
    report,
    split_users,
    take_over,
)
from fedbandits.systems.fclub_published.plan import (
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    PublishedFCLUBPlan,
)
from fedbandits.systems.fclub_published.state import Local, empty_local, new_scratch
from fedbandits.systems.servers.roles import Server
from fedbandits.systems.servers.system import ServerSupply

#: Standard normals for one draw of noise, (p,): ``(cluster, round, what for)``, asked once each.
ServerNoise = Callable[[int, int, int], Floats]


class LocalServer(Server[PublishedFCLUBPlan]):
    """Serves its own users; nobody else is told their raw statistics.

    Parameters
    ----------
    index, name, hub, plan
        The server's number and name, the global server's name, and what all parties go by.
    supply
        The noise that it brings, a :data:`ServerNoise`; it is not asked for unless the variant is
        private.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("starting", "start"): ("ready", "reporting"),
        ("ready", "end_round"): ("ready", "reporting"),
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready",),
        ("reporting", "Partition"): ("ready",),
        **{
            (state, kind): (state,)
            for state in ("ready", "acting", "reporting")
            for kind in ("Download", "SharedObservation")
        },
    }

    def __init__(
        self, index: int, name: str, hub: str, plan: PublishedFCLUBPlan, supply: ServerSupply
    ) -> None:
        super().__init__(index, name, hub, "starting", plan, supply)
        self.local: Local = empty_local(plan, np.zeros(len(self.users), np.int64))
        #: For each global cluster the row of its model.
        self.groups: dict[int, int] = {0: 0} if plan.constants.sharing == ALWAYS else {}
        self._scratch = new_scratch(plan, len(self.users))
        self._must_renew = False

    def start(self) -> list[Message]:
        """Begin the first phase, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If it has begun.
        """
        self._require("start")
        return self._begin_phase("start")

    def _choose(self, place: int, situation: Arrival) -> int:
        """Choose an item.

        Raises
        ------
        NotARecordsSumError
            If noise left nothing that can be recommended by.
        """
        constants = self._plan.constants
        item = int(choose(constants, self.local, place, situation.items, self._scratch))
        if item < 0:
            raise NotARecordsSumError(
                f"round {situation.round_}: the noise left a matrix that is not positive definite"
            )
        return item

    def _learn(self, place: int, context: Floats, reward: float) -> list[Message]:
        constants, local, scratch = self._plan.constants, self.local, self._scratch
        learn(constants, local, place, context, reward, scratch)
        if constants.clustering == EDGES:
            check_edges(constants, local, place, scratch)
        elif constants.clustering == SETS:
            check_sets(constants, local, place, self.round, scratch)
        cluster = int(local.cluster_of[place])
        if constants.sharing == ALWAYS:
            return [self._observation(cluster, pack(np.append(context, reward)))]
        if constants.sharing == DELAYED and upload_due(constants, local, cluster):
            return [self._upload(cluster)]
        return []

    def _end_phase(self, round_: int) -> list[Message]:
        self.phase += 1
        self.round = round_
        return self._begin_phase("end_round")

    def _begin_phase(self, event: str) -> list[Message]:
        constants, local = self._plan.constants, self.local
        if constants.clustering == SETS:
            begin_sets_phase(local)
        elif constants.clustering == PHASED:
            labels = split_users(constants, local.sums, local.edges)
            if constants.sharing != NEVER:
                # The buffers of new clusters have never been begun: nothing is hidden in them.
                self._must_renew = take_over(constants, local, labels) or self.phase == 0
                self._move(event, "reporting")
                return [self._report()]
            learn_alone(constants, local, labels)
        self._move(event, "ready")
        return []

    def _named(self, cluster: int) -> int:
        """A cluster's name among all servers."""
        return int(self.users[cluster])

    def _draw(self, cluster: int, kind: int) -> Floats:
        noise: ServerNoise = self._noise
        return noise(self._named(cluster), self.round, kind)

    def _report(self) -> Message:
        local = self.local
        sums = report(self._plan.constants, local, self._draw)[clusters_of(local.cluster_of)]
        labels = tuple(int(label) for label in self.users[local.cluster_of])
        return self._numbered(
            PhaseReport(
                sender=self.name,
                receiver=self._hub,
                phase=self.phase,
                labels=labels,
                sums=pack(sums.reshape(-1)),
            )
        )

    def _observation(self, cluster: int, record: bytes) -> Message:
        named = self._named(cluster)
        return self._numbered(
            Observation(sender=self.name, receiver=self._hub, cluster=named, record=record)
        )

    def _upload(self, cluster: int) -> Message:
        """Upload what is buffered. The next noise is settled before anything leaves."""
        constants, local = self._plan.constants, self.local
        sums = pack(local.buffer[cluster])
        note_upload(constants, local, cluster)
        if constants.private:
            slot = noise_slot(local, cluster)
            local.trees.draws[cluster, slot] = self._draw(cluster, AFTER_UPLOAD)
            take_noise(constants, local, cluster)
        begin_buffer(constants, local, cluster)
        named = self._named(cluster)
        return self._numbered(
            Upload(sender=self.name, receiver=self._hub, cluster=named, sums=sums)
        )

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Download():
                self._take_download(message)
            case SharedObservation():
                self._take_record(message)
            case Partition():
                self._take_partition(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for a server")
        return []

    def _take_download(self, message: Download) -> None:
        constants, local = self._plan.constants, self.local
        place = int(np.searchsorted(self.users, message.cluster))
        known = place < len(self.users) and self.users[place] == message.cluster
        if constants.sharing != DELAYED or not known or local.cluster_of[place] != place:
            raise UnknownClusterError(f"{self.name}: {message.cluster} is no cluster here")
        download = unpack(message.sums, local.shared.shape[1])
        if self._is_no_sum(local.shared[place] + download):
            raise ImplausibleSumError(f"{self.name}: the download for {message.cluster} is no sum")
        take_download(local, place, download)

    def _is_no_sum(self, row: Floats) -> bool:
        constants = self._plan.constants
        factor = np.zeros((constants.dimension, constants.dimension))
        return row[-1] < 0.0 or math.isnan(factorise(row, constants.ridge, factor))

    def _take_record(self, message: SharedObservation) -> None:
        if message.group not in self.groups:
            raise UnknownClusterError(f"{self.name}: nobody here is in {message.group}")
        constants = self._plan.constants
        record = unpack_record(self.name, message, constants.dimension, constants.context_bound)
        row = self.groups[message.group]
        update(self.local.models, row, record[:-1], float(record[-1]), self._scratch.gain)

    def _take_partition(self, message: Partition) -> None:
        constants, local = self._plan.constants, self.local
        names = clusters_of(local.cluster_of)
        if message.phase != self.phase:
            raise OutOfOrderError(f"{self.name}: partition {message.phase}, expected {self.phase}")
        if self._must_renew and not message.renewed:
            raise OutOfOrderError(
                f"{self.name}: clusters are new in phase {self.phase}, but nothing is renewed"
            )
        if message.renewed:
            sums = unpack(message.sums, len(names) * local.sums.shape[1]).reshape(len(names), -1)
            if len(message.groups) != len(names) or len(message.partners) != len(names):
                raise WrongShapeError(f"{self.name}: expected a group for {len(names)} clusters")
            if (
                min(message.groups) < 0
                or not 1 <= min(message.partners) <= max(message.partners) <= constants.users
            ):
                raise UnknownClusterError(f"{self.name}: no such groups")
            if any(self._is_no_sum(row) for row in sums):
                raise ImplausibleSumError(f"{self.name}: a renewed sum is none of records")
            self._renew(names, message, sums)
        elif constants.own_merging:
            begin_alone(constants, local, self._draw)
        self._move("Partition", "ready")

    def _renew(self, names: Ints, message: Partition, sums: Floats) -> None:
        constants, local = self._plan.constants, self.local
        rows = dict(zip(reversed(message.groups), reversed(names.tolist()), strict=True))
        if constants.sharing == ALWAYS:
            self.groups = rows
        for name, group in zip(names, message.groups, strict=True):
            row = rows[group] if constants.sharing == ALWAYS else int(name)
            local.model_of[local.cluster_of == name] = row
        for place, name in enumerate(names):
            renew(constants, local, int(name), sums[place], message.partners[place], self._draw)
