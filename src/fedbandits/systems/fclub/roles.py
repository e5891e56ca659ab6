"""FCLUB's local servers and the global one as parties: releases go up, others' releases come down.

A local server holds its users' records and draws its own noise. The global server only hands on
what it is told; it needs to know nothing about users, and never sees noise or raw sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import Arrival
from fedbandits.federation.messages import (
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Roles
from fedbandits.federation.state import Transitions
from fedbandits.learners.evidence import decompose
from fedbandits.learners.mixture import Mixture, one_cluster
from fedbandits.learners.models import choose_arm
from fedbandits.privacy import running_sum
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.running_sum import ContinualState, draw_ahead
from fedbandits.systems.fclub.kernels import learn
from fedbandits.systems.fclub.messages import TABLE, Others, Release
from fedbandits.systems.fclub.phases import find_clusters, learn_from, make_release, take_over
from fedbandits.systems.fclub.plan import CLUSTERS, NEVER, USERS, FCLUBPlan
from fedbandits.systems.fclub.state import new_scratch, prior_models
from fedbandits.systems.servers.roles import Server, server_roles
from fedbandits.systems.servers.system import ServerSupply

#: Of a server that releases no running sums.
NO_SUMS = ContinualPlan("none", 0, 0.0)


def _rows(data: bytes, size: int) -> Floats:
    if len(data) % (8 * size):
        raise WrongShapeError(f"sums are rows of {size} numbers")
    return unpack(data, len(data) // 8).reshape(-1, size)


def _check_count(plan: FCLUBPlan, name: str, users: int, rows: int) -> None:
    """A server of so many users releases a row for each, or for each of its clusters."""
    most = users if plan.releases == USERS else min(users, plan.most_clusters)
    if not (rows == users if plan.releases == USERS else 1 <= rows <= most):
        raise WrongShapeError(f"{name}: {rows} rows of a server that has {users} users")


class LocalServer(Server[FCLUBPlan]):
    """Recommends items to its users, releases noisy sums, learns from those of others.

    Parameters
    ----------
    index, name, hub, plan
        The server's number and name, the global server's name, and what all parties go by.
    supply
        The noise that it brings. What is asked for the z-th release is a row of p numbers for each
        user, or for each cluster that a server may have.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready",),
        ("ready", "end_round"): ("ready", "waiting"),
        ("waiting", "Others"): ("ready",),
    }

    def __init__(
        self, index: int, name: str, hub: str, plan: FCLUBPlan, supply: ServerSupply
    ) -> None:
        super().__init__(index, name, hub, "ready", plan, supply)
        d, users = plan.constants.dimension, len(self.users)
        self.sums = np.zeros((users, plan.size + 2))
        self.models = prior_models(users, d)
        self.cluster_of: Ints = np.zeros(users, np.int64)
        self.released = running_sum.init(plan.sums or NO_SUMS, users * plan.size)
        self._before = np.zeros((users if plan.releases == CLUSTERS else 0, plan.size + 2))
        self._mixture: Mixture = one_cluster(d)
        #: How many users each of the other servers has, in their order.
        self._others = _user_counts(plan)[:index] + _user_counts(plan)[index + 1 :]
        self._told: list[list[Floats]] = [[] for _ in self._others]
        self._scratch = new_scratch(d, plan.constants.items)
        self._rows: Floats = np.zeros((0, plan.size))
        self._await_release()

    def _choose(self, place: int, situation: Arrival) -> int:
        width, scoring = self._plan.constants.width, self._scratch.scoring
        return int(choose_arm(self.models, place, width, False, situation.items, scoring))

    def _learn(self, place: int, context: Floats, reward: float) -> list[Message]:
        gain = self._scratch.gain
        learn(self._plan.constants, self.models, self.sums, place, context, reward, gain)
        return []

    def _end_phase(self, round_: int) -> list[Message]:
        """Release what there is to release. If the noise raises, nothing has changed.

        What the server learns waits for what the others say: by then its release has left.
        """
        plan, number = self._plan, self.phase + 1
        before, released = self._before.copy(), [self.released]
        release_rows = partial(self._release_rows, released)
        rows = make_release(plan, self.sums, before, self.cluster_of, release_rows)
        # All at once, or nothing: whatever fails above can be tried again.
        self._before, self.phase, self._rows = before, number, rows
        self.released = released[-1]
        if plan.releases == NEVER:
            self._learn_from(rows[:0])
            return []
        self._move("end_round", "waiting")
        sums = pack(rows.reshape(-1))
        return [
            self._numbered(Release(sender=self.name, receiver=self._hub, release=number, sums=sums))
        ]

    def _release_rows(self, released: list[ContinualState], rows: Floats) -> Floats:
        """Rows with noise, of running sums or released once; a new state goes to ``released``."""
        plan, exact = self._plan, rows.reshape(-1)
        scale = np.tile(plan.entry_scale, len(rows))
        if plan.sums is not None:
            state, noisy = running_sum.release(plan.sums, self.released, exact, scale, self._noise)
            released.append(state)
        elif plan.deviation > 0.0:
            noisy = running_sum.release_once(
                plan.deviation, exact, scale, self.phase + 1, self._noise
            )
        else:
            noisy = exact
        return noisy.reshape(rows.shape)

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Others) or message.release != self.phase:
            raise OutOfOrderError(f"{self.name}: not what {self.phase} releases lead to")
        rows = _rows(message.sums, self._plan.size)
        if len(message.rows) != len(self._others) or sum(message.rows) != len(rows):
            raise WrongShapeError(f"{self.name}: rows do not add up")
        for users, count in zip(self._others, message.rows, strict=True):
            _check_count(self._plan, self.name, users, count)
        parts = np.split(rows, np.cumsum(message.rows)[:-1])
        earlier = self._told if self._plan.releases == CLUSTERS else [[] for _ in parts]
        told = [[*kept, part] for kept, part in zip(earlier, parts, strict=True)]
        self._await_release()  # nothing has changed if the noise raises
        self._learn_from(np.concatenate([part for kept in told for part in kept]))
        self._told = told
        self._move("Others", "ready")
        return []

    def _learn_from(self, others: Floats) -> None:
        """Begin a phase with what own users and the rows of other servers say."""
        ready = find_clusters(self._plan, self.phase, self.sums, self._rows, self._mixture)
        learned = learn_from(self._plan, self.phase, ready, decompose(others))
        everyone = np.arange(len(self.sums))
        take_over(self.models, everyone, learned.estimates, ready.variance)
        self.cluster_of, self._mixture = learned.cluster_of, learned.mixture

    def _await_release(self) -> None:
        """Have the noise of the next release, if there is one, as many rows as it may have."""
        plan, rows = self._plan, len(self.users)
        if plan.private and self.phase < plan.release_count:
            rows = rows if plan.releases == USERS else min(rows, plan.most_clusters)
            draw_ahead(self._noise, rows * plan.size)


class GlobalServer(Party):
    """Hands every server what all others released, once all have.

    Parameters
    ----------
    name
        This party's name.
    servers
        Names of the local servers; rows go out in this order.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {("gathering", "Release"): ("gathering",)}

    def __init__(self, name: str, servers: Sequence[str], plan: FCLUBPlan) -> None:
        super().__init__(name, "gathering", servers)
        self._plan, self._users = plan, dict(zip(servers, _user_counts(plan), strict=True))
        self._release = 1
        self._gathered: dict[str, Floats] = {}

    def _handle(self, message: Message) -> list[Message]:
        if (
            not isinstance(message, Release)
            or not message.release == self._release <= self._plan.release_count
            or message.sender in self._gathered
        ):
            raise OutOfOrderError(f"{self.name}: not release {self._release} of {message.sender}")
        rows = _rows(message.sums, self._plan.size)
        _check_count(self._plan, self.name, self._users[message.sender], len(rows))
        self._gathered[message.sender] = rows
        self._move("Release", "gathering")
        return self._hand_out() if len(self._gathered) == len(self._users) else []

    def _hand_out(self) -> list[Message]:
        gathered, release = self._gathered, self._release
        self._gathered, self._release = {}, release + 1
        messages = []
        for receiver in self._users:
            parts = [gathered[server] for server in self._users if server != receiver]
            messages.append(
                self._numbered(
                    Others(
                        sender=self.name, receiver=receiver, release=release,
                        rows=tuple(len(part) for part in parts),
                        sums=pack(np.concatenate(parts).reshape(-1)),
                    )
                )
            )  # fmt: skip
        return messages


def _user_counts(plan: FCLUBPlan) -> list[int]:
    """How many users each server has."""
    counts: list[int] = np.bincount(plan.facts.home).tolist()
    return counts


def roles(plan: FCLUBPlan) -> Roles:
    """Local servers, and a global one that hands on what they release."""
    return server_roles(plan, TABLE, LocalServer, GlobalServer)
