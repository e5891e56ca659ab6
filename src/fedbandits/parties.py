"""Parties in one process: run, save and restore them, and read their messages.

``fb.parties.federate(…)`` makes the parties of one replicate. docs/parties.md explains parties.
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
    __getattr__, __dir__ = lazily(__name__, __all__)
