"""A local server of FCLUB between phases: it recommends, learns, and uploads what is due."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.clustered import Arrival
from fedbandits.federation.messages import Message, pack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.ridge import add_rank_one
from fedbandits.privacy.running_sum import checked_noise, draw_ahead
from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.fclub_published.kernels.exchange import (
    AFTER_UPLOAD,
    begin_buffer,
    noise_slot,
    note_upload,
    take_noise,
)
from fedbandits.systems.fclub_published.kernels.regroup import check_edges, check_sets
from fedbandits.systems.fclub_published.kernels.servers import (
    ALWAYS,
    EDGES,
    NEVER,
    SETS,
    Local,
    add,
    learn,
    pick,
    refresh,
)
from fedbandits.systems.fclub_published.messages import Observation, Upload
from fedbandits.systems.fclub_published.phases import NotARecordsSumError
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.roles.noise import CoveredTree, TreeNoise
from fedbandits.systems.fclub_published.state import empty_local, new_scratch, put_row, row_of
from fedbandits.systems.servers.roles import OpenDecision, Server, ServerState
from fedbandits.systems.servers.system import ServerSupply

#: The phase in which clusters began anew that never did.
NEVER_BEGUN = -1


class LocalState(ServerState, frozen=True, kw_only=True):
    """All that changes in a local server."""

    local: Local  # what it knows of its users
    groups: dict[int, int]  # to global clusters' rows of models, where every record is shared
    reported: Floats  # (users, p + 1) clusters' sums at the last report, in rows of their names
    since: int = NEVER_BEGUN  # the phase in which its clusters last began anew
    #: Whether its clusters are others than those that began then: their buffers were never begun,
    #: so that nothing is hidden in them, and nothing is uploaded.
    apart: bool = False
    waits: bool = False  # whether the last report may still be answered
    steps: int = 0  # how many times noise was asked for that covers sums
    #: Of every cluster, where noise covers sums.
    trees: dict[int, CoveredTree] = msgspec.field(default_factory=dict)


class Recommender(Server[LocalState, PublishedFCLUBPlan]):
    """Part of a local server that works between phases."""

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
        self._scratch = new_scratch(plan, users)
        self._has_noise = False

    def learned(self) -> Learned:
        """Return what it recommends by to each of its users: the model of the user's cluster.

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

    def _shared(self, after: LocalState, found: OpenDecision, reward: float) -> Sequence[Message]:
        """Return what leaves after a record, without noise."""
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
        local = after.local  # as upload_due says: handing it all that is known takes longer
        grown = local.models.log_det[cluster] - local.base_log_det[cluster]
        if after.stage == "ready" and grown >= constants.log_upload:
            return [self._upload(after, cluster)]
        return ()

    def _learn_under_noise(self, after: LocalState, found: OpenDecision, reward: float) -> Step:
        """Learn under noise: the noise of what leaves next is settled before anything changes."""
        constants, local = self._plan.constants, after.local
        cluster = int(local.cluster_of[found.place])
        due = after.stage == "ready" and not after.apart
        due = due and self._will_be_due(local, cluster, found.context)
        covered: Floats | None = None
        drawn: Floats | None = None
        if due and self._covers:
            buffer, shift = local.buffer[cluster : cluster + 1].copy(), self._plan.shift(3.0)
            add(buffer, 0, found.context, reward)
            noise = self._noise_of(after)
            covered = noise.upload(cluster, buffer[0, :-1] - shift) + shift
            after = msgspec.structs.replace(after, steps=noise.steps, trees=noise.trees)
        elif due:
            drawn = self._drawn(cluster, after.round, AFTER_UPLOAD)

        def write() -> Sequence[Message]:
            learn(constants, local, found.place, found.context, reward, self._scratch)
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
        """Let out what is buffered; the next noise has been settled. Writes to arrays."""
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
