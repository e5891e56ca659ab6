"""Messages between local servers and the global server, and limits of their numbers."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.messages import ImplausibleError, Message, WrongShapeError, unpack
from fedbandits.federation.roles import MessageTable
from fedbandits.privacy.kernels import any_implausible
from fedbandits.systems.fclub.plan import CLUSTERS, USERS, FCLUBPlan


class Release(Message, frozen=True, kw_only=True, tag="fclub.release"):
    """Release of a server at a phase's end: rows of noisy sums."""

    release: int
    sums: bytes

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Others(Message, frozen=True, kw_only=True, tag="fclub.others"):
    """Releases of all other servers, in their order."""

    release: int  # the number of the hand-out
    #: The number of rows of each server; 0 for a server without a release, or without a new one
    #: where sums of phases are released.
    rows: tuple[int, ...]
    sums: bytes  # all rows
    #: The number of the newest release of each server, 0 for none; empty where all have the number
    #: of the hand-out.
    newest: tuple[int, ...] = ()

    @property
    def payload_size(self) -> int:
        return len(self.sums)


#: Messages by their senders and receivers.
TABLE: MessageTable = {Release: ("server", "global"), Others: ("global", "server")}


class Limits(NamedTuple):
    """Limits of the releases of servers that keep to the terms."""

    plan: FCLUBPlan
    each: Floats  # (p,) the most that a record adds to each number of a row
    most_records: int  # in one release

    @classmethod
    def of(cls, plan: FCLUBPlan) -> Self:
        """Make the limits: Gram entries are at most L² a record, the others L · (1 - offset)."""
        constants = plan.constants
        each = np.full(plan.size, constants.context_bound**2)
        each[-constants.dimension :] = constants.context_bound * (1.0 - constants.offset)
        return cls(plan, each, plan.schedule.most_records)

    def rows(self, data: bytes) -> Floats:
        """Unpack the rows of a message, (rows, p); refuse a broken row."""
        size = self.plan.size
        if len(data) % (8 * size):
            raise WrongShapeError(f"sums are rows of {size} numbers")
        return unpack(data, len(data) // 8).reshape(-1, size)

    def check_count(self, name: str, users: int, rows: int, releases: int = 1) -> None:
        """Refuse a number of rows that no releases of a server can have, as WrongShapeError.

        Running sums have a row a user; the newest release has all rows. Sums of phases have a row a
        cluster, release by release.
        """
        plan = self.plan
        if plan.releases == USERS:
            right = rows == (users if releases else 0)
        else:
            right = releases <= rows <= releases * min(users, plan.most_clusters)
        if not right:
            raise WrongShapeError(f"{name}: {rows} rows of a server that has {users} users")

    def check(self, name: str, rows: Floats, release: int) -> None:
        """Refuse rows of a server that are larger than possible up to a release."""
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
