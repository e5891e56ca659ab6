"""What is stated of reports and their noise, and what an attacker makes of it. In capacities."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.likelihood import Attacker, decoder, stated_deviations
from fedbandits.systems.paired_parties import covariance_of
from fedbandits.systems.pfcb.plan import PFCBPlan


def record_pair(amounts: bool) -> tuple[Floats, Floats]:
    """Units bought and good of the replaced purchase in either world, as shares of the capacity.

    ``amounts``: whether it is covered how much was bought, and not only how much of it was good.
    """
    return np.array([0.0, 0.0] if amounts else [1.0, 0.0]), np.array([1.0, 1.0])


def planned_deviations(plan: PFCBPlan, steps: Ints) -> Floats:
    """Deviations of (w̃, ỹ) in some reports, (reports, 2)."""
    if plan.continual is not None:
        scale = stated_deviations(plan.continual, steps)
    else:
        scale = np.array([plan.deviation(int(step)) for step in steps])
    return np.outer(scale, np.sqrt(np.diag(plan.constants.covariance)))


def draw_covariance(plan: PFCBPlan, release: int) -> Floats:
    """Covariance of one draw of noise for (w̃, ỹ), (2, 2); of independent reports, in that one."""
    running = plan.continual is not None
    scale = plan.continual.scale if running else plan.deviation(release)  # type: ignore[union-attr]
    found: Floats = plan.constants.covariance * scale**2
    return found


def covariance_over_time(plan: PFCBPlan) -> Floats:
    """Covariance of all reports of one number, in that of one draw, (reports, reports)."""
    if plan.continual is None:
        return np.eye(plan.constants.releases)
    return covariance_of(plan.continual)


def attacker(plan: PFCBPlan, amounts: bool, steps: Ints) -> Attacker:
    """Who looks at some reports about one producer, and knows all purchases but one."""
    zero, one = record_pair(amounts)
    change, covariance = one - zero, plan.constants.covariance
    if plan.continual is not None:
        mixing = decoder(plan.continual, steps)
        least, over_time = plan.continual.scale, np.linalg.inv(mixing @ mixing.T)
    else:
        scales = np.array([plan.deviation(int(step)) for step in steps])
        least = float(scales.min())
        over_time = np.diag((least / scales) ** 2)
    weights = np.asarray(np.linalg.solve(covariance * least**2, change), dtype=np.float64)
    deviation = least * np.sqrt(np.diag(covariance))
    return Attacker(zero, change, weights, deviation, np.asarray(over_time, dtype=np.float64))
