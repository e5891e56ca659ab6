"""A local server of FCLUB: it decides for its users, learns, and uploads the sums that are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.federation.events import Deadline, Decide, EndRound, Observe, Start
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
    AFTER_UPLOAD,
    AT_RENEWAL,
    FOR_REPORT,
    begin_buffer,
    noise_slot,
    note_upload,
    take_noise,
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
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.noise import CoveredTree, TreeNoise
from fedbandits.systems.fclub_published.state import (
    NotARecordsSumError,
    begin_alone,
    clusters_of,
    empty_local,
    is_no_sum,
    learn_alone,
    new_clusters,
    new_scratch,
    put_row,
    renew,
    report_sums,
    row_of,
    split_users,
    sums_of,
    take_over,
)
from fedbandits.systems.servers.roles import OpenDecision, Server, ServerState
from fedbandits.systems.servers.system import ServerSupply

#: In place of a phase, for clusters that have never begun anew.
NEVER_BEGUN = -1


class LocalState(ServerState, frozen=True, kw_only=True):
    """All that changes in a local server."""

    local: Local  # statistics and models of its users
    groups: dict[int, int]  # to global clusters' rows of models, where every record is shared
    reported: Floats  # (users, p + 1) clusters' sums at the last report, in rows of their names
    since: int = NEVER_BEGUN  # the phase in which its clusters last began anew
    #: Whether its clusters are others than those that began then: their buffers were never begun,
    #: so that nothing is hidden in them, and nothing is uploaded.
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
        **{
            (stage, kind): (stage,)
            for stage in ("ready", "reporting")
            for kind in (Decide, Observe, Download, SharedObservation)
        },
        ("ready", Partition): ("ready",),
        ("reporting", Partition): ("ready",),
    }

    def __init__(self, seat: Seat, plan: PublishedFCLUBPlan, supply: ServerSupply) -> None:
        users = len(plan.facts.users_of(seat.place))
        local = empty_local(plan, np.zeros(users, np.int64))
        #: Whether noise covers sums; else it is simulated, and added to them.
        self._covers = plan.private and hasattr(supply.noise, "cover")
        if self._covers:  # trees of perturbations stay empty
            trees = local.trees._replace(draws=local.trees.draws[:, :0].copy())
            local = local._replace(trees=trees)
        state = LocalState(
            stage="starting", local=local, reported=np.zeros_like(local.sums),
            groups={0: 0} if plan.constants.sharing == ALWAYS else {},
        )  # fmt: skip
        super().__init__(seat, plan, supply, state)
        self._limits, self._scratch = Limits.of(plan), new_scratch(plan, users)
        self._has_noise = False

    def learned(self) -> Learned:
        """Return the model that recommends to each user: that of the user's cluster.

        Clusters were found in raw records, and a model may have the newest ones in it: the model
        says so, whatever noise there is.
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
        """Find a model that is up to date: in which rows, which of them, and whether it is sound.

        One that is stale is brought up to its sums in a copy of its row.
        """
        local = self._state.local
        if not local.stale[row]:
            return local, row, True
        known = row_of(local, row)
        return known, 0, refresh(self._plan.constants, known, 0, self._scratch)

    def _choose(self, place: int, situation: Arrival) -> Step:
        """Choose an item by the model of the user's cluster, brought up to date."""
        self._draw_ahead()
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
        scoring = self._scoring(situation.items, self._scratch.scoring)
        item = int(pick(constants, models, at, partners, situation.items, scoring))
        return msgspec.structs.replace(self._decided(place, situation, item), write=write)

    def _draw_ahead(self) -> None:
        if self._covers and not self._has_noise:
            draw_ahead(self._noise, self._plan.size)
        self._has_noise = True

    def _learn(self, after: LocalState, decision: OpenDecision, reward: float) -> Step:
        constants, local = self._plan.constants, after.local
        if after.stage == "ready" and after.waits:  # what leaves now is in no report's answer
            after = msgspec.structs.replace(after, waits=False)
        if constants.private:
            return self._learn_under_noise(after, decision, reward)

        def write() -> Sequence[Message]:
            learn(constants, local, decision.place, decision.context, reward, self._scratch)
            if constants.clustering == EDGES:
                check_edges(constants, local, decision.place, self._scratch)
            elif constants.clustering == SETS:
                check_sets(constants, local, decision.place, after.round, self._scratch)
            return self._shared(after, decision, reward)

        return Step(after, write=write)

    def _shared(
        self, after: LocalState, decision: OpenDecision, reward: float
    ) -> Sequence[Message]:
        """Return the messages that follow a record, without noise."""
        constants, cluster = self._plan.constants, int(after.local.cluster_of[decision.place])
        if after.apart or constants.sharing == NEVER:
            return ()
        if constants.sharing == ALWAYS:
            return [
                Observation(
                    sender=self.name, receiver=self._hub, cluster=self._named(cluster),
                    since=after.since, record=pack(np.append(decision.context, reward)),
                )
            ]  # fmt: skip
        local = after.local  # as upload_due says: handing it all that is known takes longer
        grown = local.models.log_det[cluster] - local.base_log_det[cluster]
        if after.stage == "ready" and grown >= constants.log_upload:
            return [self._upload(after, cluster)]
        return ()

    def _learn_under_noise(self, after: LocalState, decision: OpenDecision, reward: float) -> Step:
        """Learn under noise: the noise of the next message is settled before anything changes."""
        constants, local = self._plan.constants, after.local
        cluster = int(local.cluster_of[decision.place])
        due = after.stage == "ready" and not after.apart
        due = due and self._will_be_due(local, cluster, decision.context)
        covered: Floats | None = None
        drawn: Floats | None = None
        if due and self._covers:
            buffer, shift = local.buffer[cluster : cluster + 1].copy(), self._plan.shift(3.0)
            add(buffer, 0, decision.context, reward)
            noise = self._noise_of(after)
            covered = noise.upload(cluster, buffer[0, :-1] - shift) + shift
            after = msgspec.structs.replace(after, steps=noise.steps, trees=noise.trees)
        elif due:
            drawn = self._drawn(cluster, after.round, AFTER_UPLOAD)

        def write() -> Sequence[Message]:
            learn(constants, local, decision.place, decision.context, reward, self._scratch)
            if not due:
                return ()
            if covered is not None:
                local.buffer[cluster, :-1] = covered
            return [self._upload(after, cluster, drawn)]

        return Step(after, write=write)

    def _will_be_due(self, local: Local, cluster: int, context: Floats) -> bool:
        """Tell whether an upload is due once a record is in: :func:`.upload_due` in advance."""
        constants, trees = self._plan.constants, local.trees
        if trees.uploads[cluster] >= constants.most_uploads:
            return False
        inverse = local.models.inverse[cluster : cluster + 1].copy()
        grown = add_rank_one(inverse, 0, context, self._scratch.gain)
        after = local.models.log_det[cluster] + grown
        return bool(after - local.base_log_det[cluster] >= constants.log_upload)

    def _upload(self, after: LocalState, cluster: int, drawn: Floats | None = None) -> Message:
        """Upload a buffer, for whose successor noise has been settled; write to arrays."""
        constants, local = self._plan.constants, after.local
        sums = pack(local.buffer[cluster])
        note_upload(constants, local, cluster)
        if drawn is not None:
            local.trees.draws[cluster, noise_slot(local, cluster)] = drawn
            take_noise(constants, local, cluster)
        if constants.private:
            begin_buffer(constants, local, cluster)
        else:  # the same, sooner
            local.buffer[cluster] = 0.0
        return Upload(
            sender=self.name, receiver=self._hub, cluster=self._named(cluster),
            since=after.since, sums=sums,
        )  # fmt: skip

    def _named(self, cluster: int) -> int:
        """Return a cluster's name among all servers."""
        return int(self.users[cluster])

    def _drawn(self, cluster: int, round_: int, kind: int) -> Floats:
        """Draw simulated noise, (p,), by its name: the cluster, the round, and what it is for."""
        return checked_noise(self._noise(self._named(cluster), round_, kind), self._plan.size)

    def _noise_of(self, after: LocalState) -> TreeNoise:
        self._has_noise = False
        return TreeNoise(self._plan, self._noise, after.steps, after.trees)

    @property
    def awaited(self) -> int | None:
        """The report that has no answer yet."""
        return self._state.phase + 1 if self.stage == "reporting" else super().awaited

    def _handle(self, event: Any) -> Step:
        match event:
            case Start():
                return self._begin_phase(self._after(stage="ready"))
            case Download():
                return self._take_download(event)
            case SharedObservation():
                return self._take_record(event)
            case Partition():
                return self._take_partition(event)
            case _:
                return self._go_on(event)

    def _go_on(self, event: Deadline) -> Step:
        """Go on with the clusters that there are, as nobody answers."""
        late = event.number == self._state.phase + 1
        return Step(self._after(stage="ready") if late else self._state)

    def _end_phase(self, after: LocalState) -> Step:
        return self._begin_phase(msgspec.structs.replace(after, phase=after.phase + 1))

    def _begin_phase(self, after: LocalState) -> Step:
        constants, local = self._plan.constants, after.local
        if constants.clustering == SETS:
            return Step(after, write=lambda: begin_sets_phase(local) or ())
        if constants.clustering != PHASED:
            return Step(after)
        edges = local.edges.copy()
        labels = split_users(constants, local.sums, edges)
        after = msgspec.structs.replace(after, local=local._replace(edges=edges))

        def alone() -> Sequence[Message]:
            learn_alone(constants, after.local, labels)
            return ()

        if constants.sharing == NEVER:
            return Step(after, write=alone)
        return self._report(after, labels)

    def _report(self, after: LocalState, labels: Ints) -> Step:
        """Report all clusters' sums; the phase begins with the answer."""
        constants, local = self._plan.constants, after.local
        clusters, new = clusters_of(labels), new_clusters(local, labels)
        totals = sums_of(local, labels)
        after = msgspec.structs.replace(
            after, stage="reporting", reported=totals, waits=True,
            apart=after.apart or bool(new) or after.phase == 0,
        )  # fmt: skip
        drawn: dict[int, Floats] = {}
        rows = totals.copy()
        if self._covers:
            noise = self._noise_of(after)
            for cluster, noisy in noise.report(clusters, new, totals).items():
                rows[cluster, :-1] = noisy + self._plan.shift(2.0)
            after = msgspec.structs.replace(after, steps=noise.steps, trees=noise.trees)
        elif constants.private:
            drawn = {int(c): self._drawn(int(c), after.round, FOR_REPORT) for c in clusters}

        def write() -> Sequence[Message]:
            take_over(constants, local, labels)
            if drawn:
                rows[:] = report_sums(constants, local, lambda cluster, _: drawn[cluster])
            return [
                PhaseReport(
                    sender=self.name, receiver=self._hub, phase=after.phase, since=after.since,
                    labels=tuple(self.users[labels].tolist()),
                    sums=pack(rows[clusters].reshape(-1)),
                )
            ]  # fmt: skip

        return Step(after, write=write)

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
        after = msgspec.structs.replace(after, since=state.phase, apart=False)
        clusters = clusters_of(state.local.cluster_of)
        if message.renewed:
            return self._renew(after, clusters, message, self._checked(message, clusters))

        def write() -> Sequence[Message]:
            begin_alone(constants, after.local, after.reported)
            self._add_late(after, clusters)
            return ()

        return Step(after, write=write)

    def _checked(self, message: Partition, clusters: Ints) -> Floats:
        """Return the sums of global clusters, a row for each of the local clusters."""
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
        return sums

    def _renew(self, after: LocalState, clusters: Ints, message: Partition, sums: Floats) -> Step:
        constants, local = self._plan.constants, after.local
        rows = dict(zip(reversed(message.groups), reversed(clusters.tolist()), strict=True))
        if constants.sharing == ALWAYS:
            after = msgspec.structs.replace(after, groups=rows)
        drawn: dict[int, Floats] = {}
        if self._covers:
            noise = self._noise_of(after)
            noise.renew(clusters)
            after = msgspec.structs.replace(after, steps=noise.steps, trees=noise.trees)
        elif constants.private:
            drawn = {int(c): self._drawn(int(c), after.round, AT_RENEWAL) for c in clusters}
        draw = None if self._covers else lambda cluster, _: drawn[cluster]

        def write() -> Sequence[Message]:
            for cluster, group in zip(clusters, message.groups, strict=True):
                row = rows[group] if constants.sharing == ALWAYS else int(cluster)
                local.model_of[local.cluster_of == cluster] = row
            for place, cluster in enumerate(clusters.tolist()):
                renew(constants, local, cluster, sums[place], message.partners[place], draw)
            self._add_late(after, clusters)
            return ()

        return Step(after, write=write)

    def _add_late(self, after: LocalState, clusters: Ints) -> None:
        """Add records that came after the report to buffers: they are in nobody's sums."""
        local = after.local
        if self._plan.constants.sharing == DELAYED:
            late = sums_of(local, local.cluster_of) - after.reported
            local.buffer[clusters] += late[clusters]

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
        """Refuse a message about clusters that began anew in another phase than these."""
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
