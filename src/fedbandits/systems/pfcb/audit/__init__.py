"""P-FCB in two neighbouring worlds, for an audit.

The record is one purchase from one producer: all units that can be bought, all of them good, in one
world; in the other nothing was bought, or, where only outcomes are covered, none of them is good.
Where outcomes may come late, it also moves from one batch to another.

:mod:`.stated` is what an attacker knows of reports and their noise; :mod:`.releases` attacks
reports as configured and looks at their noise, :mod:`.parties` attacks whole buyers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import System
from fedbandits.systems.pfcb.audit.parties import late_game, messages_games, small_world
from fedbandits.systems.pfcb.audit.releases import (
    contents_games,
    moved_game,
    secure_numbers,
    simulated_numbers,
)
from fedbandits.systems.pfcb.kernels.constants import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan


def games(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[Game]:
    """Return what an audit plays: reports as configured, then two buyers on a log, and reacting."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    moves = plan.late and plan.constants.releases > 1
    small = small_world(system, plan.config)
    return [
        *contents_games(plan),
        *([moved_game(plan)] if moves else []),
        *messages_games(small),
        *([late_game(small)] if moves and small.plan.constants.releases > 1 else []),
    ]


def noise_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[NoisyNumbers]:
    """Return all that buyers report: as configured, and as two of them with secure noise."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    return [simulated_numbers(plan), secure_numbers(small_world(system, plan.config))]
