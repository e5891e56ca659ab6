"""FCLUB's local servers and the global one as parties: releases go up, others' releases come down.

A local server holds its users' records and draws its own noise. The global server only hands on
what it is told; it needs to know nothing about users, and never sees noise or raw sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import (
    Message,
    OutOfOrderError,
    WrongShapeError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party, Transitions
from fedbandits.learners.evidence import decompose
from fedbandits.learners.mixture import Mixture, one_cluster
from fedbandits.privacy import running_sum
from fedbandits.privacy.bounds import contexts_fault, record_fault, require_within
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.running_sum import ContinualState, NoiseSource
from fedbandits.systems.fclub.loop import observe, recommend
from fedbandits.systems.fclub.messages import Others, Release
from fedbandits.systems.fclub.phases import (
    Ready,
    learn_from,
    make_release,
    take_over,
)
from fedbandits.systems.fclub.plan import BOUND, CLUSTERS, NEVER, USERS, Plan
from fedbandits.systems.fclub.state import new_scratch, prior_models

#: Of a server that releases no running sums.
NO_SUMS = ContinualPlan("none", 0, 0.0)


def _rows(data: bytes, size: int) -> Floats:
    if len(data) % (8 * size):
        raise WrongShapeError(f"sums are rows of {size} numbers")
    return unpack(data, len(data) // 8).reshape(-1, size)


def _check_count(plan: Plan, name: str, users: int, rows: int) -> None:
    """A server of so many users releases a row for each, or for each of its clusters."""
    most = users if plan.releases == USERS else min(users, plan.most_clusters)
    if not (rows == users if plan.releases == USERS else 1 <= rows <= most):
        raise WrongShapeError(f"{name}: {rows} rows of a server that has {users} users")


class LocalServer(Party):
    """Recommends items to its users, releases noisy sums, learns from those of others.

    Parameters
    ----------
    name, hub
        This party's name, and the global server's.
    plan
        The plan variant; all servers must hold the same.
    users : int
        How many users live here; they are numbered from 0.
    others : sequence of int
        How many users live on each of the other servers, in their order.
    noise
        Noise of the z-th release, asked once each: a row of p numbers for each user, or for each
        cluster that a server may have. Simulated in a simulation; in a deployment it must be
        secure and what it gave saved.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "recommend"): ("recommending",),
        ("recommending", "observe"): ("ready",),
        ("ready", "end_phase"): ("ready", "waiting"),
        ("waiting", "Others"): ("ready",),
    }

    def __init__(
        self, name: str, hub: str, plan: Plan, users: int, others: Sequence[int], noise: NoiseSource
    ) -> None:
        super().__init__(name, "ready", [hub])
        d = plan.constants.dimension
        if users < 1 or len(others) != plan.constants.servers - 1:
            raise LocalProtocolError(f"{name}: needs users, and to know how many others have")
        self.sums = np.zeros((users, plan.size + 2))
        self.models = prior_models(users, d)
        self.cluster_of: Ints = np.zeros(users, np.int64)
        self.releases = 0
        self.released = running_sum.init(plan.sums or NO_SUMS, users * plan.size)
        self._before = np.zeros((users if plan.releases == CLUSTERS else 0, plan.size + 2))
        self._mixture: Mixture = one_cluster(d)
        self._told: list[list[Floats]] = [[] for _ in others]
        self._hub, self._plan, self._noise, self._others = hub, plan, noise, tuple(others)
        self._scratch = new_scratch(d, plan.constants.items)
        self._user = -1
        self._ready: Ready | None = None

    def recommend(self, user: int, items: Floats32) -> int:
        """Choose an item for a user.

        Parameters
        ----------
        user : int
        items : (d, K) float32
            Of norm at most 1.

        Raises
        ------
        LocalProtocolError
            If there is no such user, items have another shape, or a reward is being waited for.
        BoundExceededError
            If an item is longer than 1 or not a number.
        """
        self._require("recommend")
        constants = self._plan.constants
        if not 0 <= user < len(self.sums):
            raise LocalProtocolError(f"{self.name}: no user {user}")
        if items.shape != (constants.dimension, constants.items) or items.dtype != np.float32:
            raise LocalProtocolError(
                f"{self.name}: items are ({constants.dimension}, {constants.items}) float32 numbers"
            )
        require_within(contexts_fault(items, BOUND), f"{self.name}, an item")
        chosen = int(recommend(constants, self.models, user, items, self._scratch))
        self._scratch.context[:] = items[:, chosen]
        self._user = user
        self._move("recommend", "recommending")
        return chosen

    def observe(self, reward: float) -> None:
        """Learn what the recommended item earned, a number in [0, 1].

        Raises
        ------
        LocalProtocolError
            If nothing was recommended.
        BoundExceededError
            If the reward is outside [0, 1]. Nothing has changed then.
        """
        self._require("observe")
        scratch = self._scratch
        fault, _ = record_fault(scratch.context, float(reward), BOUND, 0.0, 1.0, False)
        require_within(fault, self.name)
        observe(
            self._plan.constants, self.models, self.sums, self._user, scratch.context, float(reward),
            scratch.gain,
        )  # fmt: skip
        self._move("observe", "ready")

    def end_phase(self, round_: int) -> list[Message]:
        """End a phase after a round that was fixed in advance, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If a reward or others' releases are being waited for, or the phase does not end after
            this round.
        """
        self._require("end_phase")
        plan, release = self._plan, self.releases + 1
        end = int(plan.constants.phase_ends[self.releases])
        if round_ != end:
            raise LocalProtocolError(f"{self.name}: phase {release} does not end in round {round_}")
        before, released = self._before.copy(), [self.released]
        ready = make_release(
            plan, release, self.sums, before, partial(self._disclose, released), self._mixture
        )
        # All at once, or nothing: whatever fails above can be tried again.
        self._before, self.releases, self._ready = before, release, ready
        self.released = released[-1]
        if plan.releases == NEVER:
            self._learn(ready.rows[:0])
            self._move("end_phase", "ready")
            return []
        self._move("end_phase", "waiting")
        sums = pack(ready.rows.reshape(-1))
        return [
            self._numbered(
                Release(sender=self.name, receiver=self._hub, release=release, sums=sums)
            )
        ]

    def _disclose(self, released: list[ContinualState], rows: Floats) -> Floats:
        """Rows with noise, of running sums or released once; a new state goes to ``released``."""
        plan, exact = self._plan, rows.reshape(-1)
        pattern = np.tile(plan.pattern, len(rows))
        if plan.sums is not None:
            state, noisy = running_sum.release(
                plan.sums, self.released, exact, pattern, self._noise
            )
            released.append(state)
        elif plan.deviation > 0.0:
            noisy = running_sum.release_once(
                plan.deviation, exact, pattern, self.releases + 1, self._noise
            )
        else:
            noisy = exact
        return noisy.reshape(rows.shape)

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Others) or message.release != self.releases:
            raise OutOfOrderError(f"{self.name}: not what {self.releases} releases lead to")
        rows = _rows(message.sums, self._plan.size)
        if len(message.rows) != len(self._others) or sum(message.rows) != len(rows):
            raise WrongShapeError(f"{self.name}: rows do not add up")
        for users, count in zip(self._others, message.rows, strict=True):
            _check_count(self._plan, self.name, users, count)
        parts = np.split(rows, np.cumsum(message.rows)[:-1])
        earlier = self._told if self._plan.releases == CLUSTERS else [[] for _ in parts]
        told = [[*kept, part] for kept, part in zip(earlier, parts, strict=True)]
        self._learn(np.concatenate([part for kept in told for part in kept]))
        self._told = told
        self._move("Others", "ready")
        return []

    def _learn(self, others: Floats) -> None:
        if self._ready is None:  # pragma: no cover - the table of transitions sees to it
            raise LocalProtocolError(f"{self.name}: nothing was released")
        learned = learn_from(self._plan, self.releases, self._ready, decompose(others))
        everyone = np.arange(len(self.sums))
        take_over(self.models, everyone, learned.estimates, self._ready.variance)
        self.cluster_of, self._mixture, self._ready = learned.cluster_of, learned.mixture, None


class GlobalServer(Party):
    """Hands every server what all others released, once all have.

    Parameters
    ----------
    name, servers
        This party's name, and how many users each local server has: rows go out in this order.
    plan
        The plan variant.
    """

    TRANSITIONS: ClassVar[Transitions] = {("gathering", "Release"): ("gathering",)}

    def __init__(self, name: str, servers: Mapping[str, int], plan: Plan) -> None:
        super().__init__(name, "gathering", list(servers))
        self._servers, self._plan = dict(servers), plan
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
        _check_count(self._plan, self.name, self._servers[message.sender], len(rows))
        self._gathered[message.sender] = rows
        self._move("Release", "gathering")
        return self._hand_out() if len(self._gathered) == len(self._servers) else []

    def _hand_out(self) -> list[Message]:
        gathered, release = self._gathered, self._release
        self._gathered, self._release = {}, release + 1
        messages = []
        for receiver in self._servers:
            parts = [gathered[server] for server in self._servers if server != receiver]
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
