"""FedUCB with a controller in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.agents import audit
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.base import System


def games(system: System[Any], plan: AgentsPlan) -> Sequence[Game]:
    """What an audit plays: the configured mechanism, then two agents and a controller."""
    return audit.agents_games(system, plan, plan.config)


def noise_checks(system: System[Any], plan: AgentsPlan) -> Sequence[NoisyNumbers]:
    """All that agents release."""
    return audit.noise_checks(system, plan, plan.config)
