"""Peer-to-peer FedUCB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.federation.graphs import Complete
from fedbandits.privacy.auditing import Game
from fedbandits.systems.agents.audit import contents_games, messages_games, trigger_games
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.federate import PeerRun
from fedbandits.systems.feducb_p2p.plan import make_plan


def games(config: PeerFedUCB, environment: ContextualEnvironment, rounds: int) -> Sequence[Game]:
    """What an audit plays: the configured mechanism, then two agents that talk to each other.

    Where an agent keeps several estimators a record is in one of them alone: the releases of one
    are attacked.
    """
    pair = msgspec.structs.replace(config, graph=Complete())
    return [
        *contents_games(config, make_plan(config, environment.facts, rounds)),
        *messages_games(pair, PeerRun),
        *trigger_games(pair, PeerRun),
    ]
