"""Messages between servers and the global one, and how large their numbers can be."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError, Message, WrongShapeError, unpack
from fedbandits.federation.roles import MessageTable
from fedbandits.privacy.kernels import any_implausible
from fedbandits.systems.fclub.plan import CLUSTERS, USERS, FCLUBPlan


class Release(Message, frozen=True, kw_only=True, tag="fclub.release"):
    """Release of a server at a phase's end: noisy sums, one a row."""

    release: int
    sums: bytes

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Others(Message, frozen=True, kw_only=True, tag="fclub.others"):
    """Releases of all other servers, in their order."""

    release: int  # counts what is handed out
    #: How many rows of each; 0 of one that has released nothing, or nothing new where sums of
    #: phases are released.
    rows: tuple[int, ...]
    sums: bytes  # all rows
    #: The number of the newest release of each, 0 where there is none; empty where all are the
    #: present one.
    newest: tuple[int, ...] = ()

    @property
    def payload_size(self) -> int:
        return len(self.sums)


#: Who sends what to whom.
TABLE: MessageTable = {Release: ("server", "global"), Others: ("global", "server")}


class Limits(NamedTuple):
    """Limits of what servers release that keep to the terms."""

    plan: FCLUBPlan
    each: Floats  # (p,) what one record can add to each number of a row
    most_records: int  # in one release

    @classmethod
    def of(cls, plan: FCLUBPlan) -> Self:
        """Make the limits: Gram entries are at most L² a record, the others L · (1 - offset)."""
        constants = plan.constants
        each = np.full(plan.size, constants.context_bound**2)
        each[-constants.dimension :] = constants.context_bound * (1.0 - constants.offset)
        return cls(plan, each, plan.schedule.most_records)

    def rows(self, data: bytes) -> Floats:
        """Unpack the rows of a message, (rows, p); refuse what is no whole rows of numbers."""
        size = self.plan.size
        if len(data) % (8 * size):
            raise WrongShapeError(f"sums are rows of {size} numbers")
        return unpack(data, len(data) // 8).reshape(-1, size)

    def check_count(self, name: str, users: int, rows: int, releases: int = 1) -> None:
        """Hold the number of rows of some releases of one server to what it can be.

        Running sums have a row a user; the newest release has all of them. Sums of phases have a
        row a cluster, release by release. Others are refused with :class:`.WrongShapeError`.
        """
        plan = self.plan
        if plan.releases == USERS:
            right = rows == (users if releases else 0)
        else:
            right = releases <= rows <= releases * min(users, plan.most_clusters)
        if not right:
            raise WrongShapeError(f"{name}: {rows} rows of a server that has {users} users")

    def check(self, name: str, rows: Floats, release: int) -> None:
        """Hold rows of one server to what they can be up to a release; refuse implausible ones."""
        plan = self.plan
        times = 1 if plan.releases == CLUSTERS else release
        deviation = plan.noise_variance(release) ** 0.5
        records = float(times * self.most_records)
        if any_implausible(rows.reshape(-1), self.each, records, plan.entry_scale, deviation):
            raise ImplausibleError(
                f"{name}: a number in release {release} is larger than the terms allow"
            )


def user_counts(plan: FCLUBPlan) -> list[int]:
    """Count the users of each server."""
    counts: list[int] = np.bincount(plan.facts.home).tolist()
    return counts
