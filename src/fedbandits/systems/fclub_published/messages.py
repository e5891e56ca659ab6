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
    """A cluster that is not the sender's to speak of, or not the receiver's."""


class PhaseReport(Message, frozen=True, kw_only=True, tag="fclub.report"):
    """A server's clusters when a phase begins, and their sums."""

    phase: int
    since: int  # the phase in which they last began anew, -1 for none
    labels: tuple[int, ...]  # the cluster of each of its users
    sums: bytes  # (clusters, p + 1), clusters in order

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Partition(Message, frozen=True, kw_only=True, tag="fclub.partition"):
    """Global clusters that a server's clusters are in; what they know, where that is renewed."""

    phase: int  # of the receiver's report that this rests on
    renewed: bool
    groups: tuple[int, ...] = ()
    partners: tuple[int, ...] = ()
    sums: bytes = b""  # (clusters, p + 1)

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Upload(Message, frozen=True, kw_only=True, tag="fclub.upload"):
    """A local cluster's upload buffer."""

    cluster: int
    since: int  # the phase in which it began anew
    sums: bytes  # (p + 1,)

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Download(Message, frozen=True, kw_only=True, tag="fclub.download"):
    """Sums that a local cluster lacks."""

    cluster: int
    since: int  # the phase in which it began anew
    sums: bytes  # (p + 1,)

    @property
    def payload_size(self) -> int:
        return len(self.sums)


class Observation(Message, frozen=True, kw_only=True, tag="fclub.record"):
    """One record of a local cluster, shared at once."""

    cluster: int
    since: int  # the phase in which it began anew
    record: bytes  # (d + 1,) x and y

    @property
    def payload_size(self) -> int:
        return len(self.record)


class SharedObservation(Message, frozen=True, kw_only=True, tag="fclub.shared-record"):
    """A record of another server in a global cluster."""

    group: int
    since: int  # the phase in which the receiver's clusters began anew
    record: bytes  # (d + 1,)

    @property
    def payload_size(self) -> int:
        return len(self.record)


#: Who sends what to whom.
TABLE: MessageTable = {
    PhaseReport: ("server", "global"),
    Partition: ("global", "server"),
    Upload: ("server", "global"),
    Download: ("global", "server"),
    Observation: ("server", "global"),
    SharedObservation: ("global", "server"),
}


def unpack_record(
    name: str, message: Observation | SharedObservation, dimension: int, bound: float
) -> Floats:
    """Unpack a record as it came to the party ``name``, x then y, (d + 1,).

    Raises
    ------
    RemoteProtocolError
        One of its kinds, if it is none, x is longer than ``bound``, or y is not in [0, 1].
    """
    record = unpack(message.record, dimension + 1)
    if record_fault(record[:-1], float(record[-1]), bound, 0.0, 1.0, False)[0] != NO_FAULT:
        raise ImplausibleError(f"{name}: {message.sender} sent a record beyond its bounds")
    return record


class Limit(NamedTuple):
    """Limit of a row of p + 1 numbers.

    Parameters
    ----------
    most : (p + 1,) float64
        Records and shifts; the last number counts records.
    deviation
        Of the noise.
    scales : (p + 1,) float64
        Deviations of each number's noise, in ``deviation``.
    """

    most: Floats
    deviation: float
    scales: Floats

    def check(self, name: str, sender: str, rows: Floats) -> None:
        """Hold rows, (rows, p + 1), to what they can be.

        Raises
        ------
        ImplausibleError
            If one number is larger, or fewer records are counted than none.
        """
        count = len(rows)
        most, scales = self.most, self.scales
        if count > 1:
            most, scales = np.tile(most, count), np.tile(scales, count)
        too_large = any_implausible(rows.reshape(-1), most, 1.0, scales, self.deviation)
        if too_large or min(rows[:, -1].tolist(), default=0.0) < 0.0:
            raise ImplausibleError(f"{name}: {sender} sends sums that the terms do not allow")


class Limits(NamedTuple):
    """Limits of all that is sent."""

    report: Limit
    upload: Limit
    total: Limit  # of the reports of a group
    download: Limit  # of uploads of others

    @classmethod
    def of(cls, plan: PublishedFCLUBPlan) -> Limits:
        """Make the limits: at most a record a round; reports are shifted by 2ρ, uploads by 3ρ."""
        constants, rounds = plan.constants, float(plan.rounds)
        slots = 0 if plan.tree is None else plan.tree.slots
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
    constants, d = plan.constants, plan.constants.dimension
    p = len(constants.entry_scale)
    most = np.full(p + 1, records * constants.context_bound**2)
    most[np.cumsum([0, *range(d, 1, -1)])] += shifts * constants.shift
    scales = np.append(constants.entry_scale, 0.0)
    return Limit(most, constants.noise_scale * math.sqrt(nodes), scales)
