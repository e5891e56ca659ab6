"""A local server of FCLUB: decides for its users, learns, tells the global server what is due."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError, WrongShapeError, pack, unpack
from fedbandits.federation.party import Party, Transitions
from fedbandits.learners.models import update
from fedbandits.learners.ridge import factorise
from fedbandits.privacy.bounds import NO_FAULT, contexts_fault, record_fault, require_within
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
    CODEC,
    Download,
    ImplausibleSumError,
    Partition,
    PhaseReport,
    Record,
    SharedRecord,
    UnknownClusterError,
    Upload,
)
from fedbandits.systems.fclub_published.phases import (
    NotARecordsSumError,
    clusters_of,
    learn_alone,
    renew,
    report,
    split_users,
)
from fedbandits.systems.fclub_published.plan import (
    ALWAYS,
    BOUND,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    Plan,
)
from fedbandits.systems.fclub_published.state import Local, empty_local, new_scratch

#: Standard normals for one draw of noise, (p,): ``(cluster, round, what for)``, asked once each.
#: Simulated in a simulation; in a deployment it must be secure and the draws saved.
ServerNoise = Callable[[int, int, int], Floats]

__all__ = ["CODEC", "LocalServer", "ServerNoise", "check_record"]


def check_record(name: str, message: Record | SharedRecord, dimension: int) -> Floats:
    """A record as it came, x then y.

    Raises
    ------
    RemoteProtocolError
        One of its kinds, if it is none within bounds.
    """
    record = unpack(message.record, dimension + 1)
    if record_fault(record[:-1], float(record[-1]), BOUND, 0.0, 1.0, False)[0] != NO_FAULT:
        raise ImplausibleSumError(f"{name}: {message.sender} sent a record beyond its bounds")
    return record


class LocalServer(Party):
    """Serves its own users; nobody else is told their raw statistics.

    Parameters
    ----------
    name, hub
        This party's name, and the global server's.
    plan
        The plan variant; all parties must hold the same.
    users
        (m,) the numbers of its users, in order.
    noise
        See :data:`ServerNoise`; not asked for unless the variant is private.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("starting", "begin_phase"): ("ready", "reporting"),
        ("ready", "begin_phase"): ("ready", "reporting"),
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready",),
        ("reporting", "Partition"): ("ready",),
        **{
            (state, kind): (state,)
            for state in ("ready", "acting", "reporting")
            for kind in ("Download", "SharedRecord")
        },
    }

    def __init__(self, name: str, hub: str, plan: Plan, users: Ints, noise: ServerNoise) -> None:
        super().__init__(name, "starting", [hub])
        if len(users) == 0 or (np.diff(users) <= 0).any():
            raise LocalProtocolError(f"{name}: users must be given, in order, each once")
        self.users: Ints = users.astype(np.int64)
        self.local: Local = empty_local(plan, np.zeros(len(users), np.int64))
        self.groups: dict[int, int] = {}  # row of the model by global cluster
        if plan.constants.sharing == ALWAYS:
            self.groups[0] = 0
        self.phase = -1
        self.round = 0
        self._hub, self._plan, self._noise = hub, plan, noise
        self._scratch = new_scratch(plan, len(users))
        self._user = -1

    def decide(self, round_: int, user: int, items: Floats32) -> int:
        """Which item to recommend to a user who arrived.

        Parameters
        ----------
        round_ : int
            The round that it is, everywhere.
        user : int
            One of :attr:`users`.
        items : (d, K) float32

        Raises
        ------
        LocalProtocolError
            If a reward or a partition is being waited for, or the arguments do not fit.
        NotARecordsSumError
            If noise left nothing that can be recommended by.
        """
        self._require("decide")
        constants, place = self._plan.constants, int(np.searchsorted(self.users, user))
        if place == len(self.users) or self.users[place] != user:
            raise LocalProtocolError(f"{self.name}: user {user} does not live here")
        if items.shape != (constants.dimension, constants.items) or items.dtype != np.float32:
            raise LocalProtocolError(
                f"{self.name}: items are ({constants.dimension}, {constants.items}) float32 numbers"
            )
        last = int(constants.phase_ends[self.phase])
        if not self.round < round_ <= last:
            raise LocalProtocolError(
                f"{self.name}: round {round_} after round {self.round}, in a phase that ends with "
                f"round {last}"
            )
        require_within(contexts_fault(items, BOUND), f"{self.name}, round {round_}")
        chosen = int(choose(constants, self.local, place, items, self._scratch))
        if chosen < 0:
            raise NotARecordsSumError(
                f"round {round_}: the noise left a matrix that is not positive definite"
            )
        self._scratch.context[:] = items[:, chosen]
        self._user, self.round = place, round_
        self._move("decide", "acting")
        return chosen

    def observe(self, reward: float) -> list[Message]:
        """Learn what came of the recommendation, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If nothing was recommended.
        BoundExceededError
            If the reward is not in [0, 1]; nothing has changed then.
        """
        self._require("observe")
        constants, local, scratch, user = (
            self._plan.constants,
            self.local,
            self._scratch,
            self._user,
        )
        fault, _ = record_fault(scratch.context, float(reward), BOUND, 0.0, 1.0, False)
        require_within(fault, f"{self.name}, round {self.round}")
        learn(constants, local, user, scratch.context, float(reward), scratch)
        self._move("observe", "ready")
        if constants.clustering == EDGES:
            check_edges(constants, local, user, scratch)
        elif constants.clustering == SETS:
            check_sets(constants, local, user, self.round, scratch)
        cluster = int(local.cluster_of[user])
        if constants.sharing == ALWAYS:
            record = pack(np.append(scratch.context, reward))
            named = self._named(cluster)
            message = Record(sender=self.name, receiver=self._hub, cluster=named, record=record)
            return [self._numbered(message)]
        if constants.sharing == DELAYED and upload_due(constants, local, cluster):
            return [self._upload(cluster)]
        return []

    def begin_phase(self, round_: int) -> list[Message]:
        """End a phase after so many rounds, and begin the next; the first begins after round 0.

        Raises
        ------
        LocalProtocolError
            If no phase ends then, or the last one's partition is still being waited for.
        """
        self._require("begin_phase")
        due = 0 if self.phase < 0 else int(self._plan.constants.phase_ends[self.phase])
        if round_ != due:
            raise LocalProtocolError(f"{self.name}: a phase begins after round {due}, not {round_}")
        self.phase += 1
        self.round = round_
        constants, local = self._plan.constants, self.local
        if constants.clustering == SETS:
            begin_sets_phase(local)
        elif constants.clustering == PHASED:
            labels = split_users(constants, local.sums, local.edges)
            if constants.sharing != NEVER:
                local.cluster_of[:] = labels
                self._move("begin_phase", "reporting")
                return [self._report()]
            learn_alone(constants, local, labels)
        self._move("begin_phase", "ready")
        return []

    def _named(self, cluster: int) -> int:
        """A cluster's name among all servers."""
        return int(self.users[cluster])

    def _draw(self, cluster: int, kind: int) -> Floats:
        return self._noise(self._named(cluster), self.round, kind)

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
            case SharedRecord():
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

    def _take_record(self, message: SharedRecord) -> None:
        if message.group not in self.groups:
            raise UnknownClusterError(f"{self.name}: nobody here is in {message.group}")
        record = check_record(self.name, message, self._plan.constants.dimension)
        row = self.groups[message.group]
        update(self.local.models, row, record[:-1], float(record[-1]), self._scratch.gain)

    def _take_partition(self, message: Partition) -> None:
        constants, local = self._plan.constants, self.local
        names = clusters_of(local.cluster_of)
        if message.phase != self.phase:
            raise OutOfOrderError(f"{self.name}: partition {message.phase}, expected {self.phase}")
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
