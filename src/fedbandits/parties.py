"""Parties in one process: run them, save and restore them, and read their messages.

``fb.parties.federate(…)`` makes the parties of one replicate. docs/parties.md explains what parties
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = [
    "ActingParty",
    "Decision",
    "Happened",
    "LedgeredNoise",
    "LocalProtocolError",
    "MemoryNetwork",
    "Message",
    "PartiesReplicate",
    "PartiesRun",
    "Party",
    "Receipt",
    "Recording",
    "RemoteProtocolError",
    "Roles",
    "Route",
    "SecureNoise",
    "SnapshotError",
    "Supplies",
    "Terms",
    "Transcript",
    "Watcher",
    "claim_under",
    "federate",
    "record",
    "simulate",
    "terms_of",
]

if TYPE_CHECKING:
    from fedbandits.errors import LocalProtocolError, RemoteProtocolError, SnapshotError
    from fedbandits.federation.acting import ActingParty
    from fedbandits.federation.events import Decision
    from fedbandits.federation.links import Receipt
    from fedbandits.federation.memory import MemoryNetwork, Route, Transcript
    from fedbandits.federation.messages import Message
    from fedbandits.federation.party import Party
    from fedbandits.federation.roles import Roles, Supplies
    from fedbandits.federation.run import PartiesRun
    from fedbandits.federation.terms import Terms
    from fedbandits.federation.watching import Happened, Watcher
    from fedbandits.privacy.ledger import LedgeredNoise
    from fedbandits.privacy.secure_noise import SecureNoise
    from fedbandits.recording.record import record
    from fedbandits.recording.recording import Recording
    from fedbandits.systems.base import PartiesReplicate
    from fedbandits.systems.terms import claim_under, terms_of
    from fedbandits.testing.replicates import federate, simulate
else:
    _FEDERATION = "fedbandits.federation"
    __getattr__, __dir__ = lazily(
        __name__,
        __all__,
        {
            "ActingParty": f"{_FEDERATION}.acting:ActingParty",
            "Decision": f"{_FEDERATION}.events:Decision",
            "Happened": f"{_FEDERATION}.watching:Happened",
            "LedgeredNoise": "fedbandits.privacy.ledger:LedgeredNoise",
            "LocalProtocolError": "fedbandits.errors:LocalProtocolError",
            "MemoryNetwork": f"{_FEDERATION}.memory:MemoryNetwork",
            "Message": f"{_FEDERATION}.messages:Message",
            "PartiesReplicate": "fedbandits.systems.base:PartiesReplicate",
            "PartiesRun": f"{_FEDERATION}.run:PartiesRun",
            "Party": f"{_FEDERATION}.party:Party",
            "Receipt": f"{_FEDERATION}.links:Receipt",
            "Recording": "fedbandits.recording.recording:Recording",
            "RemoteProtocolError": "fedbandits.errors:RemoteProtocolError",
            "Roles": f"{_FEDERATION}.roles:Roles",
            "Route": f"{_FEDERATION}.memory:Route",
            "SecureNoise": "fedbandits.privacy.secure_noise:SecureNoise",
            "SnapshotError": "fedbandits.errors:SnapshotError",
            "Supplies": f"{_FEDERATION}.roles:Supplies",
            "Terms": f"{_FEDERATION}.terms:Terms",
            "Transcript": f"{_FEDERATION}.memory:Transcript",
            "Watcher": f"{_FEDERATION}.watching:Watcher",
            "claim_under": "fedbandits.systems.terms:claim_under",
            "federate": "fedbandits.testing.replicates:federate",
            "record": "fedbandits.recording.record:record",
            "simulate": "fedbandits.testing.replicates:simulate",
            "terms_of": "fedbandits.systems.terms:terms_of",
        },
    )
