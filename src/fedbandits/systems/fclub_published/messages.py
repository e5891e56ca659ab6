"""What servers of FCLUB tell one another. Clusters are named by their lowest users."""

from __future__ import annotations

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import ImplausibleError, Message, unpack
from fedbandits.federation.roles import MessageTable
from fedbandits.privacy.kernels import NO_FAULT, record_fault


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
    """Which global clusters a server's clusters are in; what they know, where that is renewed."""

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
    """What a local cluster lacks."""

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
    """Another server's record in a global cluster."""

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
    """A record as it came to the party ``name``, x then y, (d + 1,).

    Raises
    ------
    RemoteProtocolError
        One of its kinds, if it is none, x is longer than ``bound``, or y is not in [0, 1].
    """
    record = unpack(message.record, dimension + 1)
    if record_fault(record[:-1], float(record[-1]), bound, 0.0, 1.0, False)[0] != NO_FAULT:
        raise ImplausibleError(f"{name}: {message.sender} sent a record beyond its bounds")
    return record
