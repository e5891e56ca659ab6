"""Peer-to-peer FedUCB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fedbandits.federation.graphs import Complete
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.agents import audit
from fedbandits.systems.base import System
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.plan import PeerPlan


def games(system: System[Any], plan: PeerPlan) -> Sequence[Game]:
    """Return what an audit plays: the configured mechanism, then two agents that talk.

    Where an agent keeps several estimators a record is in one of them alone: the releases of one
    are attacked.
    """
    return audit.games(system, plan, _small(plan))


def noise_checks(system: System[Any], plan: PeerPlan) -> Sequence[NoisyNumbers]:
    """Return all that agents release."""
    return audit.noise_checks(system, plan, _small(plan))


def protocol_checks(system: System[Any], plan: PeerPlan) -> Sequence[ProtocolCheck]:
    """Return checks of how often persons count."""
    return audit.protocol_checks(system, plan, _small(plan))


def _small(plan: PeerPlan) -> PeerFedUCB:
    """Return the variant on a graph that few agents have too."""
    small: PeerFedUCB = msgspec.structs.replace(plan.config, graph=Complete())
    return small
