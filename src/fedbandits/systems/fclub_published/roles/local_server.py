"""A local server of FCLUB, which decides for its users, learns, and uploads sums when due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe, Start
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.linucb import update
from fedbandits.learners.kernels.ridge import add_rank_one
from fedbandits.privacy.running_sum import checked_noise, draw_ahead
from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.fclub_published.kernels.rounds import (
    begin_buffer,
    note_upload,
)
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    Local,
    add,
    begin_sets_phase,
    check_edges,
    check_sets,
    learn,
    pick,
    refresh,
)
from fedbandits.systems.fclub_published.messages import (
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
from fedbandits.systems.fclub_published.noise import (
    ClusterNoise,
    CoveredNoise,
    CoveredTree,
    SimulatedNoise,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.state import (
    NotARecordsSumError,
    Renewal,
    begin_alone,
    clusters_of,
    copied,
    empty_local,
    is_no_sum,
    learn_alone,
    put_row,
    renew,
    report,
    row_of,
    split_users,
    sums_of,
)
from fedbandits.systems.servers.roles import Recommended, Server, ServerState
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.systems.shell import staying

#: In place of a phase, for clusters that have never begun anew.
NEVER_BEGUN = -1


class LocalState(ServerState, frozen=True, kw_only=True):
    """All that changes in a local server."""

    local: Local  # statistics and models of its users
    groups: dict[int, int]  # to global clusters' rows of models, where every record is shared
    reported: Floats  # (users, p + 1) clusters' sums at the last report, in rows of their names
    since: int = NEVER_BEGUN  # the phase in which its clusters last began anew
    #: Whether its clusters have changed since: buffers of new clusters were never begun, have no
    #: noise, and are not uploaded.
    apart: bool = False
    waits: bool = False  # whether the last report may still be answered
    steps: int = 0  # requests so far for noise that covers sums
    #: The tree of every cluster, where noise covers sums.
    trees: dict[int, CoveredTree] = msgspec.field(default_factory=dict)


class LocalServer(Server[LocalState, PublishedFCLUBPlan]):
    """A server that keeps the raw statistics of its users to itself.

    The server asks its noise in private variants alone: a source that covers values step after
    step, a simulated source by the name of a draw.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("starting", Start): ("ready", "reporting"),
        ("ready", EndRound): ("ready", "reporting"),
        ("reporting", EndRound): ("reporting",),
        ("reporting", Deadline): ("ready", "reporting"),
        **staying(("ready", "reporting"), Decide, Observe, LetGo, Download, SharedObservation),
        ("ready", Partition): ("ready",),
        ("reporting", Partition): ("ready",),
    }

    def __init__(self, seat: Seat, plan: PublishedFCLUBPlan, supply: ServerSupply) -> None:
        users = len(plan.facts.users_of(seat.place))
        local = empty_local(plan, np.zeros(users, np.int64))
        #: Whether noise covers sums; else noise is simulated, and added to sums.
        self._covers = plan.private and hasattr(supply.noise, "cover")
        if self._covers:  # trees of perturbations stay empty
            trees = local.trees._replace(draws=local.trees.draws[:, :0].copy())
            local = local._replace(trees=trees)
        state = LocalState(
            stage="starting", local=local, reported=np.zeros_like(local.sums),
            groups={0: 0} if plan.constants.sharing == ALWAYS else {},
        )  # fmt: skip
        super().__init__(seat, plan, supply, state, plan.rounds if self._covers else 0)
        self._limits = Limits.of(plan)

    def learned(self) -> Learned:
        """Return the model that recommends to each user: that of the user's cluster.

        Clusters were found in raw records, and a model may have the newest records in it: the model
        says so, with or without noise.
        """
        theta, inverse, records = [], [], []
        for row in self._state.local.model_of.tolist():
            known, at, _ = self._up_to_date(row)
            models = known.models if self._plan.constants.buffered else known.acting
            theta.append(models.theta[at].copy())
            inverse.append(models.inverse[at].copy())
            records.append(float(models.records[at]))
        return Learned(
            names=self.user_names,
            estimate=np.array(theta),
            gram=symmetric_inverse(np.array(inverse)),
            counts=np.array(records),
            counted="records",
            contains_own_records=True,
        )

    def _up_to_date(self, row: int) -> tuple[Local, int, bool]:
        """Return rows with an up-to-date model, the model's row, and whether the model is sound.

        A stale model is brought up to its sums in a copy of its row.
        """
        local = self._state.local
        if not local.stale[row]:
            return local, row, True
        known = row_of(local, row)
        return known, 0, refresh(self._plan.constants, known, 0, self._scratch)

    def _choose(self, place: int, situation: Arrival) -> Step:
        """Choose an item by the model of the user's cluster, brought up to date."""
        constants, local = self._plan.constants, self._state.local
        row = int(local.model_of[place])
        known, at, sound = self._up_to_date(row)
        if not sound:
            raise NotARecordsSumError(
                f"round {situation.round_}: the noise left a matrix that is not positive definite"
            )

        def write() -> Sequence[Message]:
            if known is not local:
                put_row(local, row, known)
            return ()

        models = known.models if constants.buffered else known.acting
        partners = int(local.partners[row])
        scoring = self._scoring(situation.items)
        item = int(pick(constants, models, at, partners, situation.items, scoring))
        return msgspec.structs.replace(self._recommended(place, situation, item), write=write)

    def _draw_noise(self) -> None:
        draw_ahead(self._noise, self._plan.size)

    def _learn(self, after: LocalState, decision: Recommended, reward: float) -> Step:
        """Learn a record; the noise of an upload is settled before anything changes."""
        constants, local = self._plan.constants, after.local
        if after.stage == "ready" and after.waits:  # what leaves now is too late for the report
            after = msgspec.structs.replace(after, waits=False)
        write_noise: Callable[[], None] | None = None
        if constants.private and self._will_be_due(after, decision):
            cluster = int(local.cluster_of[decision.place])
            buffer, noise = local.buffer[cluster : cluster + 1].copy(), self._noise_of(after)
            add(buffer, 0, decision.context, reward)
            write_noise = noise.upload(cluster, buffer[0])
            after = msgspec.structs.replace(after, **noise.kept)

        def write() -> Sequence[Message]:
            learn(constants, local, decision.place, decision.context, reward, self._scratch)
            if constants.clustering == EDGES:
                check_edges(constants, local, decision.place, self._scratch)
            elif constants.clustering == SETS:
                check_sets(constants, local, decision.place, after.round, self._scratch)
            return self._shared(after, decision, reward, write_noise)

        return Step(after, write=write)

    def _shared(
        self, after: LocalState, decision: Recommended, reward: float,
        write_noise: Callable[[], None] | None,
    ) -> Sequence[Message]:  # fmt: skip
        """Return the messages that follow a record, and write the state after an upload."""
        constants, local = self._plan.constants, after.local
        if after.apart or constants.sharing == NEVER:
            return ()
        cluster = int(local.cluster_of[decision.place])
        if constants.sharing == ALWAYS:
            record = pack(np.append(decision.context, reward))
            return [Observation(**self._addressed(after, cluster), record=record)]
        if constants.private:
            if write_noise is None:
                return ()
            write_noise()
        else:  # upload_due, without the time of passing all arrays
            grown = local.models.log_det[cluster] - local.base_log_det[cluster]
            if after.stage != "ready" or grown < constants.log_upload:
                return ()
        sums = pack(local.buffer[cluster])
        note_upload(constants, local, cluster)
        if constants.private:
            begin_buffer(constants, local, cluster)
        else:  # the same, sooner
            local.buffer[cluster] = 0.0
        return [Upload(**self._addressed(after, cluster), sums=sums)]

    def _addressed(self, after: LocalState, cluster: int) -> dict[str, Any]:
        """Return the fields of every message on a cluster."""
        return {
            "sender": self.name, "receiver": self._hub, "since": after.since,
            "cluster": int(self.users[cluster]),
        }  # fmt: skip

    def _will_be_due(self, after: LocalState, decision: Recommended) -> bool:
        """Tell whether a record makes an upload due: :func:`.upload_due` in advance."""
        constants, local = self._plan.constants, after.local
        cluster = int(local.cluster_of[decision.place])
        if after.stage != "ready" or after.apart:
            return False
        if local.trees.uploads[cluster] >= constants.most_uploads:
            return False
        inverse = local.models.inverse[cluster : cluster + 1].copy()
        grown = add_rank_one(inverse, 0, decision.context, self._scratch.gain)
        log_det = local.models.log_det[cluster] + grown
        return bool(log_det - local.base_log_det[cluster] >= constants.log_upload)

    def _drawn(self, cluster: int, round_: int, kind: int) -> Floats:
        """Draw simulated noise, (p,), by its name: the cluster, the round, and the use."""
        name = int(self.users[cluster]), round_, kind
        return checked_noise(self._noise(*name), self._plan.size)

    def _noise_of(self, after: LocalState) -> ClusterNoise:
        """Return the noise of an event's releases; the noise writes to ``after.local``."""
        plan, local = self._plan, after.local
        if self._covers:
            self._has_noise = False
            return CoveredNoise(plan, local, self._noise, after.steps, after.trees)
        if not plan.private:
            return ClusterNoise()
        return SimulatedNoise(
            plan, local, lambda cluster, kind: self._drawn(cluster, after.round, kind)
        )

    @property
    def _answer_due(self) -> int | None:
        """The report that has no answer yet."""
        return self._state.phase + 1 if self.stage == "reporting" else None

    def _compute(self, event: Any) -> Step:
        return (
            self._begin_phase(self._after(stage="ready"))
            if isinstance(event, Start)
            else super()._compute(event)
        )

    def _take_message(self, message: Any) -> Step:
        match message:
            case Download():
                return self._take_download(message)
            case SharedObservation():
                return self._take_record(message)
            case _:
                return self._take_partition(message)

    def _end_phase(self, after: LocalState) -> Step:
        return self._begin_phase(msgspec.structs.replace(after, phase=after.phase + 1))

    def _begin_phase(self, after: LocalState) -> Step:
        """Split clusters, and report all clusters' sums: the phase begins with the answer."""
        constants = self._plan.constants
        if constants.clustering == SETS:
            return Step(after, write=lambda: begin_sets_phase(after.local) or ())
        if constants.clustering != PHASED:
            return Step(after)
        local = copied(after.local)
        labels = split_users(constants, local.sums, local.edges)
        after = msgspec.structs.replace(after, local=local)
        if constants.sharing == NEVER:
            learn_alone(constants, local, labels)
            return Step(after)
        are_new = after.phase == 0 or not np.array_equal(labels, local.cluster_of)
        noise = self._noise_of(after)
        exact, sums = report(self._plan, local, labels, noise)
        after = msgspec.structs.replace(
            after, stage="reporting", reported=exact, waits=True, apart=after.apart or are_new,
            **noise.kept,
        )  # fmt: skip
        message = PhaseReport(
            sender=self.name, receiver=self._hub, phase=after.phase, since=after.since,
            labels=tuple(self.users[labels].tolist()),
            sums=pack(sums[clusters_of(labels)].reshape(-1)),
        )  # fmt: skip
        return Step(after, [message])

    def _take_partition(self, message: Partition) -> Step:
        constants, state = self._plan.constants, self._state
        if message.phase != state.phase or not state.waits:
            raise OutOfOrderError(
                f"{self.name}: partition {message.phase}, expected {state.phase} unless something "
                "has left since"
            )
        if state.apart and not message.renewed:
            raise OutOfOrderError(
                f"{self.name}: clusters are new in phase {state.phase}, but nothing is renewed"
            )
        after = self._after(stage="ready", waits=False)
        if not message.renewed and not constants.own_merging:
            return Step(after)
        local = copied(state.local)
        clusters = clusters_of(local.cluster_of)
        after = msgspec.structs.replace(after, local=local, since=state.phase, apart=False)
        if message.renewed:
            after = self._renew(after, clusters, self._checked(message, clusters))
        else:
            begin_alone(self._plan, local, after.reported)
        if constants.sharing == DELAYED:  # records since the report are in nobody's sums
            late = sums_of(local, local.cluster_of) - after.reported
            local.buffer[clusters] += late[clusters]
        return Step(after)

    def _renew(self, after: LocalState, clusters: Ints, renewal: Renewal) -> LocalState:
        """Return the state in which all clusters have begun anew; write to ``after.local``."""
        noise, rows = self._noise_of(after), clusters
        if self._plan.constants.sharing == ALWAYS:  # clusters of one group have one model
            _, first, inverse = np.unique(renewal.groups, return_index=True, return_inverse=True)
            rows = clusters[first][inverse]
            groups = dict(zip(renewal.groups.tolist(), rows.tolist(), strict=True))
            after = msgspec.structs.replace(after, groups=groups)
        renew(self._plan, after.local, renewal, rows, noise)
        return msgspec.structs.replace(after, **noise.kept)

    def _checked(self, message: Partition, clusters: Ints) -> Renewal:
        """Return the renewal of local clusters in a message."""
        size = self._state.local.sums.shape[1]
        sums = unpack(message.sums, len(clusters) * size).reshape(len(clusters), -1)
        if len(message.groups) != len(clusters) or len(message.partners) != len(clusters):
            raise WrongShapeError(f"{self.name}: expected a group for {len(clusters)} clusters")
        users = self._plan.constants.users
        if (
            not 0 <= min(message.groups) <= max(message.groups) < users
            or not 1 <= min(message.partners) <= max(message.partners) <= users
        ):
            raise UnknownClusterError(f"{self.name}: no such groups")
        self._limits.total.check(self.name, message.sender, sums)
        if any(is_no_sum(self._plan.constants, row) for row in sums):
            raise ImplausibleError(f"{self.name}: a renewed sum cannot be a sum of records")
        return Renewal(np.array(message.groups), np.array(message.partners), sums)

    def _take_download(self, message: Download) -> Step:
        constants, local = self._plan.constants, self._state.local
        place = int(np.searchsorted(self.users, message.cluster)) if self._is_user(message) else -1
        if constants.sharing != DELAYED or place < 0 or local.cluster_of[place] != place:
            raise UnknownClusterError(f"{self.name}: {message.cluster} is no cluster here")
        self._require_same(message)
        download = unpack(message.sums, local.shared.shape[1])
        self._limits.download.check(self.name, message.sender, download[None])
        if is_no_sum(constants, local.shared[place] + download):
            raise ImplausibleError(
                f"{self.name}: the download for {message.cluster} cannot be a sum of records"
            )

        def write() -> Sequence[Message]:
            local.shared[place] += download  # as take_download does, sooner
            local.stale[place] = 1
            return ()

        return Step(self._state, write=write)

    def _is_user(self, message: Download) -> bool:
        in_range = 0 <= message.cluster < self._plan.constants.users
        return in_range and self._plan.facts.home[message.cluster] == self._index

    def _require_same(self, message: Download | SharedObservation) -> None:
        """Refuse a message about clusters that began anew in another phase than here."""
        if message.since != self._state.since:
            raise OutOfOrderError(
                f"{self.name}: clusters began anew in phase {self._state.since}, not in "
                f"{message.since}"
            )

    def _take_record(self, message: SharedObservation) -> Step:
        state = self._state
        if message.group not in state.groups:
            raise UnknownClusterError(f"{self.name}: nobody here is in {message.group}")
        self._require_same(message)
        record = unpack_record(self._plan, self.name, message)
        row = state.groups[message.group]

        def write() -> Sequence[Message]:
            update(state.local.models, row, record[:-1], float(record[-1]), self._scratch.gain)
            return ()

        return Step(state, write=write)
