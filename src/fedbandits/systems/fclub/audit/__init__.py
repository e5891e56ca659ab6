"""The sound FCLUB in two neighbouring worlds, for an audit.

:mod:`.releases` attacks releases as configured and looks at their noise, :mod:`.parties` attacks
two whole servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import System
from fedbandits.systems.fclub.audit.parties import messages_games, small_world
from fedbandits.systems.fclub.audit.releases import (
    contents_games,
    secure_numbers,
    simulated_numbers,
)
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan


def games(system: System[Any], plan: FCLUBPlan) -> Sequence[Game]:
    """Return what an audit plays: releases as configured, then two servers in a small world."""
    if not plan.private:
        return []
    return [*contents_games(plan), *messages_games(system, plan.config)]


def noise_checks(system: System[Any], plan: FCLUBPlan) -> Sequence[NoisyNumbers]:
    """Return all that servers release: as configured, and as two of them with secure noise."""
    if not plan.private:
        return []
    config = plan.config
    if plan.releases != USERS:  # one row a server, whatever its users are like
        config = msgspec.structs.replace(config, clustering="population")
    return [simulated_numbers(plan), secure_numbers(small_world(system, config))]
