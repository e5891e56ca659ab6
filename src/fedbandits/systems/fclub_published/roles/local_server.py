"""A local server of FCLUB: decides for its users, learns, tells the global server what is due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
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
from fedbandits.systems.fclub_published.kernels.exchange import AT_RENEWAL, FOR_REPORT
from fedbandits.systems.fclub_published.kernels.regroup import begin_sets_phase
from fedbandits.systems.fclub_published.kernels.servers import ALWAYS, DELAYED, NEVER, PHASED, SETS
from fedbandits.systems.fclub_published.messages import (
    Download,
    Limits,
    Partition,
    PhaseReport,
    SharedObservation,
    UnknownClusterError,
    unpack_record,
)
from fedbandits.systems.fclub_published.phases import (
    begin_alone,
    clusters_of,
    is_no_sum,
    learn_alone,
    new_clusters,
    renew,
    report_sums,
    split_users,
    sums_of,
    take_over,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.recommender import LocalState, Recommender
from fedbandits.systems.servers.system import ServerSupply


class LocalServer(Recommender):
    """Serves its own users; nobody else is told their raw statistics.

    Its noise is not asked for unless the variant is private. A source that covers values is asked
    for step after step; a simulated one by the name of a draw.
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
        super().__init__(seat, plan, supply)
        self._limits = Limits.of(plan)

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
        """Return what global clusters know, a row for each of the local ones."""
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
        """Refuse what is about clusters that did not begin when these did."""
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
