"""Messages of FCLUB's servers, which name clusters by their lowest users, and their limits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import ImplausibleError, Message, unpack
from fedbandits.federation.roles import MessageTable
from fedbandits.privacy.kernels import NO_FAULT, any_implausible, record_fault
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan


class UnknownClusterError(RemoteProtocolError):
    """A message about a cluster of another server than the sender or the receiver."""


class _Numbers(Message, frozen=True, kw_only=True):
    """A message whose bytes are packed numbers."""

    @property
    def payload_size(self) -> int:
        values = (getattr(self, field) for field in self.__struct_fields__)
        return sum(len(value) for value in values if isinstance(value, bytes))


class PhaseReport(_Numbers, frozen=True, kw_only=True, tag="fclub.report"):
    """A server's clusters when a phase begins, and their sums."""

    phase: int
    since: int  # the phase in which the clusters last began anew, -1 for none
    labels: tuple[int, ...]  # the cluster of each of its users
    sums: bytes  # (clusters, p + 1), clusters in order


class Partition(_Numbers, frozen=True, kw_only=True, tag="fclub.partition"):
    """The global clusters of a server's clusters; with their sums, where all begin anew."""

    phase: int  # of the receiver's report in this partition
    renewed: bool
    groups: tuple[int, ...] = ()
    partners: tuple[int, ...] = ()
    sums: bytes = b""  # (clusters, p + 1)


class _ClusterSums(_Numbers, frozen=True, kw_only=True):
    """Sums of a local cluster."""

    cluster: int
    since: int  # the phase in which the cluster began anew
    sums: bytes  # (p + 1,)


class Upload(_ClusterSums, frozen=True, kw_only=True, tag="fclub.upload"):
    """A local cluster's upload buffer."""


class Download(_ClusterSums, frozen=True, kw_only=True, tag="fclub.download"):
    """Sums that a local cluster lacks."""


class Observation(_Numbers, frozen=True, kw_only=True, tag="fclub.record"):
    """One record of a local cluster, shared at once."""

    cluster: int
    since: int  # the phase in which it began anew
    record: bytes  # (d + 1,) x and y


class SharedObservation(_Numbers, frozen=True, kw_only=True, tag="fclub.shared-record"):
    """A record of another server in a global cluster."""

    group: int
    since: int  # the phase in which the receiver's clusters began anew
    record: bytes  # (d + 1,)


#: Messages by their senders and receivers.
TABLE: MessageTable = {
    PhaseReport: ("server", "global"),
    Partition: ("global", "server"),
    Upload: ("server", "global"),
    Download: ("global", "server"),
    Observation: ("server", "global"),
    SharedObservation: ("global", "server"),
}


def unpack_record(
    plan: PublishedFCLUBPlan, name: str, message: Observation | SharedObservation
) -> Floats:
    """Unpack a record, x then y, (d + 1,), at the party ``name``; refuse a record out of bounds."""
    record, bound = (
        unpack(message.record, plan.constants.dimension + 1),
        plan.constants.context_bound,
    )
    if record_fault(record[:-1], float(record[-1]), bound, 0.0, 1.0, False)[0] != NO_FAULT:
        raise ImplausibleError(f"{name}: {message.sender} sent a record beyond its bounds")
    return record


class Limit(NamedTuple):
    """Limit of a row of p + 1 numbers."""

    most: Floats  # (p + 1,) records and shifts; the last number counts records
    deviation: float  # of the noise
    scales: Floats  # (p + 1,) deviations of each number's noise, in ``deviation``

    def check(self, name: str, sender: str, rows: Floats) -> None:
        """Refuse rows, (rows, p + 1), that are too large, or of fewer than 0 records.

        Such rows raise :class:`.ImplausibleError`.
        """
        too_large = any_implausible(rows.reshape(-1), self.most, 1.0, self.scales, self.deviation)
        if too_large or min(rows[:, -1].tolist(), default=0.0) < 0.0:
            raise ImplausibleError(f"{name}: {sender} sends sums that the terms do not allow")


class Limits(NamedTuple):
    """Limits of all messages."""

    report: Limit
    upload: Limit
    total: Limit  # of the reports of a group
    download: Limit  # of uploads of others

    @classmethod
    def of(cls, plan: PublishedFCLUBPlan) -> Limits:
        """Make the limits: at most a record a round; reports are shifted by 2ρ, uploads by 3ρ."""
        constants, rounds, slots = plan.constants, float(plan.rounds), plan.slots
        everybody = rounds * constants.servers
        twice = 2.0 if constants.own_merging else 1.0
        uploads = float(constants.users * constants.most_uploads)
        users = float(constants.users)
        return cls(
            _limit(plan, rounds, 2.0, slots),
            _limit(plan, rounds, 3.0, 2 * slots),
            _limit(plan, everybody, 2.0 * users, slots * users),
            _limit(plan, twice * everybody, 3.0 * uploads, 2 * slots * uploads),
        )


def _limit(plan: PublishedFCLUBPlan, records: float, shifts: float, nodes: float) -> Limit:
    constants = plan.constants
    most = np.full(plan.size + 1, records * constants.context_bound**2)
    most[:-1] += plan.shift(shifts)
    scales = np.append(constants.entry_scale, 0.0)
    return Limit(most, constants.noise_scale * math.sqrt(nodes), scales)
