"""FCLUB's local servers and the global server as parties: releases go up, and come down to others.

A local server holds its users' records and draws its own noise. The global server hands
releases on; the global server knows the number of users, and never sees noise or raw sums.

Nobody waits for anybody. A server recommends by its present models while releases are exchanged. At
a deadline the global server hands out the newest release of every server, with its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe
from fedbandits.federation.exchange.hub import (
    Gathering,
    Hub,
    HubState,
    numbers_in,
    serving,
    with_value,
)
from fedbandits.federation.messages import Message, OutOfOrderError, WrongShapeError, pack
from fedbandits.federation.roles import Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.clustering import one_cluster
from fedbandits.learners.kernels.evidence import Mixture, decompose
from fedbandits.learners.kernels.linucb import Models, choose_arm
from fedbandits.privacy import running_sum
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.running_sum import ContinualState, draw_ahead
from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.fclub.kernels import learn
from fedbandits.systems.fclub.messages import TABLE, Limits, Others, Release, user_counts
from fedbandits.systems.fclub.plan import CLUSTERS, NEVER, USERS, FCLUBPlan
from fedbandits.systems.fclub.state import (
    Known,
    begin_phase,
    counting_users,
    find_clusters,
    learn_from,
    learn_from_each,
    make_release,
    prior_models,
    released_sums,
)
from fedbandits.systems.servers.roles import Recommended, Server, ServerState, server_roles
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.systems.shell import staying

#: The mechanism of a server that releases no running sums.
NO_SUMS = ContinualPlan("none", 0, 0.0)


class OtherServer(NamedTuple):
    """The releases of another server that are known and still of use."""

    newest: int  # number of its newest release; 0 for none
    rows: Floats  # (rows, p)


class Kept(NamedTuple):
    """A record that waits for the next phase."""

    place: int
    context: Floats  # (d,)
    reward: float
    counts: bool  # for releases


class LocalState(ServerState, frozen=True, kw_only=True):
    """All that changes in a local server."""

    sums: Floats  # (users, p + 2) of every user's records; see :func:`.kernels.learn`
    shared: Floats  # (users, p + 2) of records that count for releases; no rows where all count
    models: Models  # of every user
    cluster_of: Ints  # (users,) the likeliest cluster of each
    released: ContinualState  # where releases of running sums stand
    before: Floats  # (users, p + 2) at the last release, where only what is new is released
    rows: Floats  # (rows, p) of the last release
    mixture: Mixture  # clusters of its own users
    others: tuple[OtherServer, ...]  # the releases of every other server
    heard: int = 0  # the number of the last hand-out
    fresh: int = 0  # records since the last release
    kept: tuple[Kept, ...] = ()  # records beyond the most of one phase


class LocalServer(Server[LocalState, FCLUBPlan]):
    """A server that recommends items, releases noisy sums, and learns from the sums of others.

    For its z-th release the server asks its noise for a row of p numbers for each user, or for each
    cluster that a server may have.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        **staying(("ready", "waiting"), Decide, Observe, LetGo),
        ("ready", EndRound): ("ready", "waiting"),
        ("ready", Others): ("ready",),
        ("waiting", EndRound): ("waiting",),
        ("waiting", Others): ("ready", "waiting"),
        ("waiting", Deadline): ("ready", "waiting"),
    }

    def __init__(self, seat: Seat, plan: FCLUBPlan, supply: ServerSupply) -> None:
        counts, d = user_counts(plan), plan.constants.dimension
        users = counts[seat.place]
        #: How many users each of the other servers has, in their order.
        self._others = counts[: seat.place] + counts[seat.place + 1 :]
        state = LocalState(
            stage="ready", sums=np.zeros((users, plan.size + 2)),
            shared=np.zeros((counting_users(plan, users), plan.size + 2)),
            models=prior_models(plan, users), cluster_of=np.zeros(users, np.int64),
            released=running_sum.init(plan.sums or NO_SUMS, users * plan.size),
            before=np.zeros((users if plan.releases == CLUSTERS else 0, plan.size + 2)),
            rows=np.zeros((0, plan.size)), mixture=one_cluster(d),
            others=tuple(OtherServer(0, np.zeros((0, plan.size))) for _ in self._others),
        )  # fmt: skip
        releases = plan.release_count if plan.private else 0
        super().__init__(seat, plan, supply, state, releases, plan.constants.records_per_person)
        self._limits = Limits.of(plan)
        self._have_noise()

    @property
    def _made(self) -> int:
        return self._state.phase

    def _draw_noise(self) -> None:
        """Draw the noise of the next release, for the most rows that a release can have."""
        plan, rows = self._plan, len(self.users)
        rows = rows if plan.releases == USERS else min(rows, plan.most_clusters)
        draw_ahead(self._noise, rows * plan.size)

    @property
    def _answer_due(self) -> int | None:
        """The newest release, while nothing was handed out after it."""
        return self._state.phase if self.stage == "waiting" else None

    def _go_on_without(self) -> Step:
        """Learn from the releases at hand, as nothing was handed out."""
        self._have_noise()
        return self._learn_from(self._after(stage="ready"))

    def learned(self) -> Learned:
        """Return the server's model of each of its users.

        A server that acts on releases alone has models of its own releases and of all others'.
        """
        state, raw = self._state, self._plan.constants.raw_view
        releases = np.full(len(self.users), float(state.phase))
        return Learned(
            names=self.user_names,
            estimate=state.models.theta.copy(),
            gram=symmetric_inverse(state.models.inverse),
            counts=state.models.records.copy() if raw else releases,
            counted="records" if raw else "releases",
            contains_own_records=raw or not self._plan.private,
            offset=self._plan.constants.offset,
        )

    def _choose(self, place: int, situation: Arrival) -> Step:
        width, models = self._plan.constants.width, self._state.models
        scoring = self._scoring(situation.items)
        item = int(choose_arm(models, place, width, False, situation.items, scoring))
        return self._recommended(place, situation, item)

    def _learn(self, after: LocalState, decision: Recommended, reward: float) -> Step:
        """Learn a record, and kept records, as far as there is room in this phase."""
        waiting = (*after.kept, Kept(decision.place, decision.context, reward, decision.counts))
        count = max(0, self._plan.records_of(after.phase) - after.fresh)
        fresh, kept = waiting[:count], waiting[count:]
        after = msgspec.structs.replace(after, fresh=after.fresh + len(fresh), kept=kept)

        def write() -> Sequence[Message]:
            constants, gain = self._plan.constants, self._scratch.gain
            for place, context, earned, counts in fresh:
                learn(
                    constants, after.models, after.sums, after.shared, place, context, earned,
                    counts, gain,
                )  # fmt: skip
            return ()

        return Step(after, write=write)

    def _end_phase(self, after: LocalState) -> Step:
        """Release the sums of the phase.

        Learning waits for the releases of others: by then the server's own release has left.
        """
        plan, number = self._plan, after.phase + 1
        before, released = after.before.copy(), [after.released]
        release_rows = partial(self._release_rows, released)
        sums = released_sums(after.sums, after.shared)
        rows = make_release(plan, sums, before, after.cluster_of, release_rows)
        stage = "ready" if plan.releases == NEVER else "waiting"
        after = msgspec.structs.replace(
            after, stage=stage, phase=number, fresh=0, before=before, rows=rows,
            released=released[-1],
        )  # fmt: skip
        if plan.releases == NEVER:
            return self._learn_from(after)
        self._has_noise = False
        packed = pack(rows.reshape(-1))
        return Step(
            after, [Release(sender=self.name, receiver=self._hub, release=number, sums=packed)]
        )

    def _release_rows(self, released: list[ContinualState], rows: Floats) -> Floats:
        """Add noise to rows, of running sums or released once; a new state goes to ``released``."""
        plan, exact = self._plan, rows.reshape(-1)
        scale = np.tile(plan.entry_scale, len(rows))
        if plan.sums is not None:
            state, noisy = running_sum.release(plan.sums, released[0], exact, scale, self._noise)
            released.append(state)
        elif plan.deviation > 0.0:
            step = self._state.phase + 1
            noisy = running_sum.release_once(plan.deviation, exact, scale, step, self._noise)
        else:
            noisy = exact
        return noisy.reshape(rows.shape)

    def _take_message(self, message: Others) -> Step:
        state, plan = self._state, self._plan
        # Where all releases come late each may be handed out by itself.
        most = plan.release_count * plan.constants.servers
        if not state.heard < message.release <= most:
            raise OutOfOrderError(
                f"{self.name}: hand-out {message.release} after {state.heard} of at most {most}"
            )
        others = self._checked(message)
        self._have_noise()  # nothing has changed if the noise raises
        stage = "ready" if message.release >= state.phase else state.stage
        after = self._after(stage=stage, heard=message.release, others=others)
        # A server that acts on releases has no model before its first release.
        return self._learn_from(after) if state.phase else Step(after)

    def _checked(self, message: Others) -> tuple[OtherServer, ...]:
        """Return the other servers' releases by now; refuse a message without them."""
        state, plan, count = self._state, self._plan, len(self._others)
        newest = message.newest or (message.release,) * count
        if len(newest) != count or len(message.rows) != count:
            raise WrongShapeError(f"{self.name}: expected releases of {count} servers")
        rows = self._limits.rows(message.sums)
        if min(message.rows) < 0 or sum(message.rows) != len(rows):
            raise WrongShapeError(f"{self.name}: rows do not add up")
        ends = accumulate(message.rows, initial=0)
        others = []
        for i, (start, stop) in enumerate(pairwise(ends)):
            known, number, part = state.others[i], newest[i], rows[start:stop]
            if not known.newest <= number <= plan.release_count:
                raise OutOfOrderError(
                    f"{self.name}: release {number} of a server after {known.newest}"
                )
            by_cluster = plan.releases == CLUSTERS
            releases = number - known.newest if by_cluster else number
            self._limits.check_count(self.name, self._others[i], len(part), releases)
            self._limits.check(self.name, part, number)
            all_rows = np.concatenate([known.rows, part]) if by_cluster else part
            others.append(OtherServer(number, all_rows))
        return tuple(others)

    def _learn_from(self, after: LocalState) -> Step:
        """Begin a phase with evidence of own users and of the rows of other servers."""
        plan, models = self._plan, after.models
        ready = find_clusters(plan, after.phase, after.sums, after.rows, after.mixture)
        others = after.others if plan.releases != NEVER else ()
        alike = all(other.newest == after.phase for other in others)
        known: Known
        if alike or plan.releases != USERS:
            rows = [other.rows for other in others]
            spectrum = decompose(np.concatenate([after.rows[:0], *rows]))
            known = learn_from(plan, after.phase, ready, spectrum)
        else:
            known = learn_from_each(plan, ready, others)
        after = msgspec.structs.replace(after, cluster_of=known.cluster_of, mixture=known.mixture)

        def write() -> Sequence[Message]:
            begin_phase(models, np.arange(len(after.sums)), known.estimates, ready.variance)
            return ()

        return Step(after, write=write)


class GlobalServer(Hub[HubState]):
    """Hands every server the releases of all others.

    Of running sums the hub keeps the rows of every server's newest release; of sums of phases, all
    rows that were not handed out yet.
    """

    GATHERING = Gathering("server", Release)
    TRANSITIONS: ClassVar[Transitions] = serving(Release, Deadline)

    def __init__(self, seat: Seat, plan: FCLUBPlan) -> None:
        empty = [np.zeros((0, plan.size))] * plan.constants.servers
        super().__init__(seat, HubState(**self.first_state(empty)), plan.release_count)
        self._by_phase, self._users = plan.releases == CLUSTERS, user_counts(plan)
        self._limits = Limits.of(plan)

    def _keep(self, place: int, message: Release) -> dict[str, Any]:
        kept, rows = self._state.kept, self._limits.rows(message.sums)
        self._limits.check_count(self.name, self._users[place], len(rows))
        self._limits.check(self.name, rows, message.release)
        if self._by_phase:
            rows = np.concatenate([kept[place], rows])
        return {"kept": with_value(kept, place, rows)}

    def _hand_out(self, state: HubState) -> Step:
        kept = tuple(rows[:0] for rows in state.kept) if self._by_phase else state.kept
        after = msgspec.structs.replace(
            state, releases=state.releases + 1, included=state.newest, kept=kept
        )
        return Step(after, list(self._others(state)))

    def _others(self, state: HubState) -> Iterator[Message]:
        """Make messages with all rows but the receiver's own, in the order of servers."""
        number = state.releases + 1
        newest = numbers_in(state, number)
        for place, receiver in enumerate(self._members):
            rows: list[Floats] = [*state.kept[:place], *state.kept[place + 1 :]]
            yield Others(
                sender=self.name, receiver=receiver, release=number,
                rows=tuple(map(len, rows)), sums=pack(np.concatenate(rows).reshape(-1)),
                newest=newest[:place] + newest[place + 1 :],
            )  # fmt: skip


def roles(plan: FCLUBPlan) -> Roles:
    """Return local servers, and a global one that hands on what they release."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
