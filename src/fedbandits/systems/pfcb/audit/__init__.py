"""P-FCB in two neighbouring worlds, for an audit.

The record is one purchase from one producer: all units that can be bought, all of them good, in one
world; in the other nothing was bought, or, where only outcomes are covered, none of them is good.
Where outcomes may come late, it also moves from one batch to another.

:mod:`.stated` is what an attacker knows of reports and their noise; :mod:`.contents` attacks
reports as configured, :mod:`.parties` whole buyers, :mod:`.moved` and :mod:`.late` the same with a
purchase that moves; :mod:`.noise` looks at every number that is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import System
from fedbandits.systems.pfcb.audit.contents import contents_games
from fedbandits.systems.pfcb.audit.late import late_game
from fedbandits.systems.pfcb.audit.moved import moved_game
from fedbandits.systems.pfcb.audit.noise import secure_numbers, simulated_numbers
from fedbandits.systems.pfcb.audit.parties import messages_games, small_plan
from fedbandits.systems.pfcb.kernels.constants import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan


def games(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[Game]:
    """What an audit plays: reports as configured, then two buyers on a log, and reacting.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        Plan of the configured variant.
    """
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    moves = plan.late and plan.constants.releases > 1
    small = small_plan(system, plan.config)
    return [
        *contents_games(plan),
        *([moved_game(plan)] if moves else []),
        *messages_games(system, small),
        *([late_game(system, small)] if moves and small.constants.releases > 1 else []),
    ]


def noise_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[NoisyNumbers]:
    """All that buyers report: as configured, and as two of them with secure noise."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    small = small_plan(system, plan.config)
    return [simulated_numbers(plan), secure_numbers(system, small)]
