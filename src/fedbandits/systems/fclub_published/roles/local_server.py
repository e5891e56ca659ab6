"""A local server of FCLUB: decides for its users, learns, tells the global server what is due."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import Arrival
from fedbandits.federation.events import Deadline, Decide, EndRound, Observe, Start
from fedbandits.federation.messages import Message, OutOfOrderError, WrongShapeError, pack, unpack
from fedbandits.federation.party import Seat, Step, Transitions
from fedbandits.learners.models import update
from fedbandits.learners.ridge import add_rank_one, factorise
from fedbandits.systems.fclub_published.covered_trees import CoveredTree
from fedbandits.systems.fclub_published.kernels.exchange import (
    AFTER_UPLOAD,
    AT_RENEWAL,
    FOR_REPORT,
    begin_buffer,
    noise_slot,
    note_upload,
    take_download,
    take_noise,
    upload_due,
)
from fedbandits.systems.fclub_published.kernels.models import add, learn, pick, refresh
from fedbandits.systems.fclub_published.kernels.regroup import (
    begin_sets_phase,
    check_edges,
    check_sets,
)
from fedbandits.systems.fclub_published.limits import Limits
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
    new_clusters,
    own_sums,
    renew,
    report,
    split_users,
    sums_of,
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
from fedbandits.systems.fclub_published.roles.noise import (
    Covered,
    TreeNoise,
    covers,
    draw_for_one,
    shift_of,
    simulated,
)
from fedbandits.systems.fclub_published.state import (
    Local,
    empty_local,
    new_scratch,
    put_row,
    row_of,
)
from fedbandits.systems.servers.roles import OpenDecision, Server, ServerState
from fedbandits.systems.servers.system import ServerSupply

#: The phase in which clusters began anew that never did.
NEVER_BEGUN = -1


class LocalState(ServerState, frozen=True, kw_only=True):
    """All that changes in a local server.

    Parameters
    ----------
    local
        What it knows of its users.
    groups
        For each global cluster the row of its model, where every record is shared.
    reported : (users, p + 1) float64
        What clusters added up to at the last report, in rows of their names.
    since
        The phase in which its clusters last began anew.
    apart
        Whether its clusters are others than those that began then: their buffers were never begun,
        so that nothing is hidden in them, and nothing is uploaded.
    waits
        Whether the last report may still be answered.
    steps
        How many times noise was asked for that covers sums.
    trees
        Of every cluster, where noise covers sums.
    """

    local: Local
    groups: dict[int, int]
    reported: Floats
    since: int = NEVER_BEGUN
    apart: bool = False
    waits: bool = False
    steps: int = 0
    trees: dict[int, CoveredTree] = msgspec.field(default_factory=dict)


class LocalServer(Server[LocalState, PublishedFCLUBPlan]):
    """Serves its own users; nobody else is told their raw statistics.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says which of the servers it is.
    plan
        What all parties go by.
    supply
        The noise that it brings; it is not asked for unless the variant is private. A source that
        covers values is asked for step after step; a simulated one by the name of a draw.
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
        #: Whether noise covers sums.
        self._covers = plan.constants.private and covers(supply.noise)
        if self._covers:  # trees of perturbations stay empty
            trees = local.trees._replace(draws=local.trees.draws[:, :0].copy())
            local = local._replace(trees=trees)
        state = LocalState(
            stage="starting",
            local=local,
            groups={0: 0} if plan.constants.sharing == ALWAYS else {},
            reported=np.zeros_like(local.sums),
        )
        super().__init__(seat, plan, supply, state, plan.constants.private)
        self._scratch, self._limits = new_scratch(plan, users), Limits.of(plan)
        self._has_noise = False

    @property
    def awaited(self) -> int | None:
        """The report that was not answered yet."""
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
        """Nobody answers: go on with the clusters that there are."""
        late = event.number == self._state.phase + 1
        return Step(self._after(stage="ready") if late else self._state)

    # ------------------------------------------------------------------ decisions

    def _choose(self, place: int, situation: Arrival) -> Step:
        """Choose an item by the model of the user's cluster, brought up to date.

        Raises
        ------
        NotARecordsSumError
            If noise left nothing that can be recommended by.
        """
        self._draw_ahead()
        constants, local = self._plan.constants, self._state.local
        row = int(local.model_of[place])
        known, at, write = local, row, None
        if local.stale[row]:
            known, at = row_of(local, row), 0
            if not refresh(constants, known, 0, self._scratch):
                raise NotARecordsSumError(
                    f"round {situation.round_}: the noise left a matrix that is not positive "
                    "definite"
                )

            def write() -> Sequence[Message]:
                put_row(local, row, known)
                return ()

        models = known.models if constants.buffered else known.acting
        partners = int(local.partners[row])
        item = int(pick(constants, models, at, partners, situation.items, self._scratch.scoring))
        return msgspec.structs.replace(self._decided(place, situation, item), write=write)

    def _draw_ahead(self) -> None:
        if self._covers and not self._has_noise:
            draw_for_one(self._plan, self._noise)
        self._has_noise = True

    # ------------------------------------------------------------------ records

    def _learn(self, after: LocalState, found: OpenDecision, reward: float) -> Step:
        constants, local = self._plan.constants, after.local
        if after.stage == "ready" and after.waits:  # what leaves now is in no report's answer
            after = msgspec.structs.replace(after, waits=False)
        if constants.private:
            return self._learn_under_noise(after, found, reward)

        def write() -> Sequence[Message]:
            learn(constants, local, found.place, found.context, reward, self._scratch)
            if constants.clustering == EDGES:
                check_edges(constants, local, found.place, self._scratch)
            elif constants.clustering == SETS:
                check_sets(constants, local, found.place, after.round, self._scratch)
            return self._shared(after, found, reward)

        return Step(after, write=write)

    def _shared(
        self, after: LocalState, found: OpenDecision, reward: float
    ) -> Sequence[Message]:
        """What leaves after a record, without noise."""
        constants, cluster = self._plan.constants, int(after.local.cluster_of[found.place])
        if after.apart or constants.sharing == NEVER:
            return ()
        if constants.sharing == ALWAYS:
            return [
                Observation(
                    sender=self.name, receiver=self._hub, cluster=self._named(cluster),
                    since=after.since, record=pack(np.append(found.context, reward)),
                )
            ]  # fmt: skip
        if after.stage == "ready" and upload_due(constants, after.local, cluster):
            return [self._upload(after, cluster)]
        return ()

    def _learn_under_noise(self, after: LocalState, found: OpenDecision, reward: float) -> Step:
        """The same with noise, of which what leaves next is settled before anything changes."""
        constants, local = self._plan.constants, after.local
        cluster = int(local.cluster_of[found.place])
        due = after.stage == "ready" and not after.apart
        due = due and self._will_be_due(local, cluster, found.context)
        covered: Covered | None = None
        drawn: Floats | None = None
        if due and self._covers:
            buffer = local.buffer[cluster : cluster + 1].copy()
            add(buffer, 0, found.context, reward)
            records = buffer[0, :-1] - shift_of(self._plan, 3.0)
            covered = self._noise_of(after).upload(cluster, records)
            after = msgspec.structs.replace(after, steps=covered.steps, trees=covered.trees)
        elif due:
            drawn = self._drawn(cluster, after.round, AFTER_UPLOAD)

        def write() -> Sequence[Message]:
            learn(constants, local, found.place, found.context, reward, self._scratch)
            if not due:
                return ()
            if covered is not None:
                noisy = covered.noisy[cluster] + shift_of(self._plan, 3.0)
                local.buffer[cluster, :-1] = noisy
            return [self._upload(after, cluster, drawn)]

        return Step(after, write=write)

    def _will_be_due(self, local: Local, cluster: int, context: Floats) -> bool:
        """Whether :func:`.upload_due` says so once a record is in; see :func:`.models.update`."""
        constants, trees = self._plan.constants, local.trees
        if trees.uploads[cluster] >= constants.most_uploads:
            return False
        inverse = local.models.inverse[cluster : cluster + 1].copy()
        grown = add_rank_one(inverse, 0, context, self._scratch.gain)
        after = local.models.log_det[cluster] + grown
        return bool(after - local.base_log_det[cluster] >= constants.log_upload)

    def _upload(self, after: LocalState, cluster: int, drawn: Floats | None = None) -> Message:
        """What is buffered leaves; the next noise has been settled. Writes to arrays."""
        constants, local = self._plan.constants, after.local
        sums = pack(local.buffer[cluster])
        note_upload(constants, local, cluster)
        if drawn is not None:
            local.trees.draws[cluster, noise_slot(local, cluster)] = drawn
            take_noise(constants, local, cluster)
        begin_buffer(constants, local, cluster)
        return Upload(
            sender=self.name, receiver=self._hub, cluster=self._named(cluster),
            since=after.since, sums=sums,
        )  # fmt: skip

    def _named(self, cluster: int) -> int:
        """A cluster's name among all servers."""
        return int(self.users[cluster])

    def _drawn(self, cluster: int, round_: int, kind: int) -> Floats:
        return simulated(self._plan, self._noise, self._named(cluster), round_, kind)

    def _noise_of(self, after: LocalState) -> TreeNoise:
        self._has_noise = False
        return TreeNoise(self._plan, self._noise, after.steps, after.trees)

    # ------------------------------------------------------------------ phases

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
        if constants.sharing == NEVER:
            return Step(after, write=lambda: learn_alone(constants, after.local, labels) or ())
        return self._report(after, labels)

    def _report(self, after: LocalState, labels: Ints) -> Step:
        """Report all clusters' sums; the phase begins with the answer."""
        constants, local = self._plan.constants, after.local
        names, new = clusters_of(labels), new_clusters(local, labels)
        totals = sums_of(local, labels)
        after = msgspec.structs.replace(
            after, stage="reporting", reported=totals, waits=True,
            apart=after.apart or bool(new) or after.phase == 0,
        )  # fmt: skip
        drawn: dict[int, Floats] = {}
        rows = totals.copy()
        if self._covers:
            covered = self._noise_of(after).report(names, new, totals)
            after = msgspec.structs.replace(after, steps=covered.steps, trees=covered.trees)
            for name, noisy in covered.noisy.items():
                rows[name, :-1] = noisy + shift_of(self._plan, 2.0)
        elif constants.private:
            drawn = {int(c): self._drawn(int(c), after.round, FOR_REPORT) for c in names}

        def write() -> Sequence[Message]:
            take_over(constants, local, labels)
            if drawn:
                rows[:] = report(constants, local, lambda cluster, _: drawn[cluster])
            return [
                PhaseReport(
                    sender=self.name, receiver=self._hub, phase=after.phase, since=after.since,
                    labels=tuple(self.users[labels].tolist()), sums=pack(rows[names].reshape(-1)),
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
        names = clusters_of(state.local.cluster_of)
        if message.renewed:
            return self._renew(after, names, message, self._checked(message, names))

        def write() -> Sequence[Message]:
            begin_alone(constants, after.local, None, after.reported)
            self._add_late(after, names)
            return ()

        return Step(after, write=write)

    def _checked(self, message: Partition, names: Ints) -> Floats:
        """What global clusters know, a row for each of the local ones."""
        size = self._state.local.sums.shape[1]
        sums = unpack(message.sums, len(names) * size).reshape(len(names), -1)
        if len(message.groups) != len(names) or len(message.partners) != len(names):
            raise WrongShapeError(f"{self.name}: expected a group for {len(names)} clusters")
        users = self._plan.constants.users
        if (
            not 0 <= min(message.groups) <= max(message.groups) < users
            or not 1 <= min(message.partners) <= max(message.partners) <= users
        ):
            raise UnknownClusterError(f"{self.name}: no such groups")
        self._limits.total.check(self.name, message.sender, sums)
        if any(self._is_no_sum(row) for row in sums):
            raise ImplausibleSumError(f"{self.name}: a renewed sum is none of records")
        return sums

    def _renew(self, after: LocalState, names: Ints, message: Partition, sums: Floats) -> Step:
        constants, local = self._plan.constants, after.local
        rows = dict(zip(reversed(message.groups), reversed(names.tolist()), strict=True))
        if constants.sharing == ALWAYS:
            after = msgspec.structs.replace(after, groups=rows)
        drawn: dict[int, Floats] = {}
        if self._covers:
            covered = self._noise_of(after).renew(names)
            after = msgspec.structs.replace(after, steps=covered.steps, trees=covered.trees)
        elif constants.private:
            drawn = {int(c): self._drawn(int(c), after.round, AT_RENEWAL) for c in names}
        draw = None if self._covers else lambda cluster, _: drawn[cluster]

        def write() -> Sequence[Message]:
            for name, group in zip(names, message.groups, strict=True):
                row = rows[group] if constants.sharing == ALWAYS else int(name)
                local.model_of[local.cluster_of == name] = row
            for place, name in enumerate(names.tolist()):
                renew(constants, local, name, sums[place], message.partners[place], draw)
            self._add_late(after, names)
            return ()

        return Step(after, write=write)

    def _add_late(self, after: LocalState, names: Ints) -> None:
        """Records that came after the report are in nobody's sums: they are buffered."""
        local = after.local
        if self._plan.constants.sharing == DELAYED:
            late = own_sums(local) - after.reported
            local.buffer[names] += late[names]

    # ------------------------------------------------------------------ what others know

    def _take_download(self, message: Download) -> Step:
        constants, local = self._plan.constants, self._state.local
        place = int(np.searchsorted(self.users, message.cluster)) if self._is_user(message) else -1
        if constants.sharing != DELAYED or place < 0 or local.cluster_of[place] != place:
            raise UnknownClusterError(f"{self.name}: {message.cluster} is no cluster here")
        self._require_same(message)
        download = unpack(message.sums, local.shared.shape[1])
        self._limits.download.check(self.name, message.sender, download[None])
        if self._is_no_sum(local.shared[place] + download):
            raise ImplausibleSumError(f"{self.name}: the download for {message.cluster} is no sum")

        def write() -> Sequence[Message]:
            take_download(local, place, download)
            return ()

        return Step(self._state, write=write)

    def _is_user(self, message: Download) -> bool:
        in_range = 0 <= message.cluster < self._plan.constants.users
        return in_range and self._plan.facts.home[message.cluster] == self._index

    def _require_same(self, message: Download | SharedObservation) -> None:
        """Refuse what is about clusters that did not begin when these did."""
        if message.since != self._state.since:
            raise OutOfOrderError(
                f"{self.name}: clusters began anew in phase {self._state.since}, not in "
                f"{message.since}"
            )

    def _is_no_sum(self, row: Floats) -> bool:
        constants = self._plan.constants
        factor = np.zeros((constants.dimension, constants.dimension))
        return bool(row[-1] < 0.0 or math.isnan(factorise(row, constants.ridge, factor)))

    def _take_record(self, message: SharedObservation) -> Step:
        state, constants = self._state, self._plan.constants
        if message.group not in state.groups:
            raise UnknownClusterError(f"{self.name}: nobody here is in {message.group}")
        self._require_same(message)
        record = unpack_record(self.name, message, constants.dimension, constants.context_bound)
        row = state.groups[message.group]

        def write() -> Sequence[Message]:
            update(state.local.models, row, record[:-1], float(record[-1]), self._scratch.gain)
            return ()

        return Step(state, write=write)
