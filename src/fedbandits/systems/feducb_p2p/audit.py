"""Peer-to-peer FedUCB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fedbandits.federation.graphs import Complete
from fedbandits.privacy.auditing import Game
from fedbandits.systems.agents.audit import agents_games
from fedbandits.systems.base import System
from fedbandits.systems.feducb_p2p.plan import PeerPlan


def games(system: System[Any], plan: PeerPlan) -> Sequence[Game]:
    """What an audit plays: the configured mechanism, then two agents that talk to each other.

    Where an agent keeps several estimators a record is in one of them alone: the releases of one
    are attacked.
    """
    return agents_games(system, plan, msgspec.structs.replace(plan.config, graph=Complete()))
