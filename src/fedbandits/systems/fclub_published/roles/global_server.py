"""The global server of FCLUB: merges what local servers report, and passes on what they upload."""

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
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.ridge import factorise
from fedbandits.systems.fclub_published.kernels.state import row_size
from fedbandits.systems.fclub_published.merging import (
    NotARecordsSumError,
    Proposal,
    adopt,
    clusters_of,
    propose,
)
from fedbandits.systems.fclub_published.messages import (
    Observation,
    Partition,
    PhaseReport,
    UnknownClusterError,
    Upload,
)
from fedbandits.systems.fclub_published.phases import (
    partners_of,
)
from fedbandits.systems.fclub_published.roles.relay import GlobalState, Relay


class GlobalServer(Relay):
    """Holds what servers have uploaded, and no user's own statistics; it adds no noise.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    """

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
            newest=_with(state.newest, place, message.phase),
            behind=_with(state.behind, place, state.behind[place] or astray),
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
        first = max(state.included) < 0
        proposal = propose(
            constants, hub, self._home, known, state.labels, state.reports, first or back
        )
        since, behind = state.since, state.behind
        if proposal.renewed or constants.own_merging:
            since = _chosen(fresh, state.newest, since)
            behind = tuple(not is_fresh for is_fresh in fresh)
        after = msgspec.structs.replace(
            state, stage="serving", regrouped=state.regrouped + 1, included=state.newest,
            since=since, behind=behind,
        )  # fmt: skip

        def write() -> Sequence[Message]:
            adopt(constants, hub, self._home, proposal)
            return [
                self._partition(place, after, proposal)
                for place, is_fresh in enumerate(fresh)
                if is_fresh
            ]

        return Step(after, write=write)

    def _checked(self, message: PhaseReport, place: int) -> tuple[Ints, Floats]:
        """A server's labels and sums, if every cluster is named by its lowest user."""
        users, constants = np.flatnonzero(self._home == place), self._plan.constants
        try:
            labels = np.array(message.labels, dtype=np.int64)
        except OverflowError:
            labels = np.full(len(users), -1, np.int64)
        if labels.shape != users.shape:
            raise WrongShapeError(f"{self.name}: expected a cluster for {len(users)} users")
        names, first = np.unique(labels, return_index=True)
        if not np.array_equal(names, users[first]):
            raise UnknownClusterError(f"{self.name}: clusters are named by their lowest users")
        size = row_size(constants.dimension)
        sums = unpack(message.sums, len(names) * size).reshape(len(names), size)
        self._limits.report.check(self.name, message.sender, sums)
        factor = np.zeros((constants.dimension, constants.dimension))
        if any(math.isnan(factorise(row, constants.ridge, factor)) for row in sums):
            raise ImplausibleError(f"{self.name}: {message.sender} reports no sums")
        return labels, sums

    def _partition(self, place: int, after: GlobalState, proposal: Proposal) -> Message:
        hub, groups = after.hub, np.zeros(0, np.int64)
        if proposal.renewed:
            groups = hub.group_of[clusters_of(hub.cluster_of[self._home == place])]
        return Partition(
            sender=self.name,
            receiver=self._servers[place],
            phase=after.newest[place],
            renewed=proposal.renewed,
            groups=tuple(groups.tolist()),
            partners=tuple(partners_of(hub, int(group)) for group in groups),
            sums=pack(proposal.totals[groups].reshape(-1)),
        )


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _chosen(first: Sequence[bool], ones: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    return tuple(a if is_one else b for is_one, a, b in zip(first, ones, others, strict=True))
