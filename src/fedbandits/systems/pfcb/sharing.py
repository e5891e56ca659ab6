"""Noise where nobody sees more than the sum of what all buyers report.

*What is added up.* A buyer adds w, the units that it bought, and d = 2y - w, the good ones less the
bad ones. The noise that fits a purchase has the smallest ellipse around a hexagon
(:mod:`.noise`). Its axes are those of w and d: of deviation √(4/3) k and 2 k, and independent. So
both are whole numbers with noise of their own, and nothing has to be rounded. Whoever reads a sum
takes y = (w + d) / 2.

*Whose capacity.* The noise of a sum must hide a purchase of any buyer. At producer i it is for the
largest capacity of all, K = max_j k_ij, which is public. So units of a buyer with a smaller
capacity count for more: K / k_ij, but at most twice. Its whole order then stands out of the noise
more, and moves the sum no further than one of the largest buyer (:func:`.unit_weight`).

*The grid.* Weighed units are whole multiples of 2⁻¹⁰, so they are on every finer grid. A share's
earlier noise is rounded to it (:mod:`fedbandits.privacy.shares`). With few buyers that is within
the margin of calibrated noise. With thousands it need not be. Then noise is as much larger as
rounding may move a purchase farther: 0.8% with 10,000 buyers and 100,000 rounds.

*Late outcomes.* A purchase can move from one report to another, and other buyers may be in one of
both alone. So nothing is taken off for what both reports have in common: √2.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits.errors import ConfigError
from fedbandits.facts import ProcurementFacts
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.shares import ShareNeeds, finest_grid, share_plan
from fedbandits.systems.aggregation import SecureTotals
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.kernels.sums import AXES, WEIGHT_STEP
from fedbandits.systems.pfcb.noise import (
    HEXAGONAL,
    Noise,
    calibrated_sums,
    further_in_batches,
    running_sums,
)

#: Beyond it rounding is not a matter of small corrections any more.
_MOST_ROOM = 0.1


def noise_of_shares(
    config: PFCB, facts: ProcurementFacts, rounds: int, releases: int, secure: SecureTotals
) -> Noise:
    """Work out the noise of a secure sum, and of each buyer's share of it.

    Raises
    ------
    ConfigError
        If no grid of 64-bit whole numbers is fine enough for so many purchases.
    """
    unit = running_sums(config, releases)
    reach = further_in_batches(releases) if config.outcomes == "late" else 1.0
    total = calibrated_sums(unit, config, reach)
    needs = _needs(config, facts, rounds, secure, total, reach)
    grid, room = finest_grid(needs), 1.0
    if grid.moved > ROUNDING_MARGIN:
        # With more noise rounding moves a purchase less, so there is room for what it does now.
        room += grid.moved
        total = calibrated_sums(unit, config, reach * room)
    grid.require(_MOST_ROOM, needs)
    if grid.step > WEIGHT_STEP:
        raise ConfigError(
            f"rounds: purchases of {rounds:,} rounds of {facts.parties:,} buyers do not fit into a "
            "secure sum of 64-bit whole numbers; use fewer rounds, or fewer buyers"
        )
    share = share_plan(total, secure.honest).scale
    read = math.sqrt(facts.parties) * share  # all have sent, so all of their noise is in it
    return Noise(read, HEXAGONAL, room, total, share, grid.step)


def _needs(
    config: PFCB, facts: ProcurementFacts, rounds: int, secure: SecureTotals, total: ContinualPlan,
    reach: float,
) -> ShareNeeds:  # fmt: skip
    """Return what the grid depends on: two numbers of one producer.

    What is about others is the same in both worlds. Capacities may be drawn later than a plan is
    made, so producers of the largest and of the smallest capacity are counted.
    """
    axes, largest = np.array(AXES), max(facts.largest_capacity, 1)
    return ShareNeeds(
        total=total, honest=secure.honest, parties=facts.parties, records=rounds,
        largest=float(largest), reach=reach, unrounded=0.0,
        pattern=np.concatenate([axes, largest * axes]), delta=config.delta,
    )  # fmt: skip
