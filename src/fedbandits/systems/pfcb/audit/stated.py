"""Stated noise of reports, and who looks at them. All numbers are in capacities.

A purchase is replaced, or it moves from one report to another, because its outcome comes late in
one world. Then it is counted in one batch in world 0 and in another in world 1; both are corners of
what a purchase can be. Which two batches: those whose reports show the most. Of running sums that
is worked out here from what is stated of the mechanism, not from how it is priced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.likelihood import (
    NO_NOISE,
    Attacker,
    covariance_of,
    decoder,
    stated_deviations,
)
from fedbandits.systems.games import Look
from fedbandits.systems.pfcb.kernels.state import RUNNING
from fedbandits.systems.pfcb.plan import PFCBPlan


def record_pair(amounts: bool) -> tuple[Floats, Floats]:
    """Return units bought and good of the replaced purchase, as shares of the capacity, by world.

    ``amounts``: whether it is covered how much was bought, and not only how much of it was good.
    """
    return np.array([0.0, 0.0] if amounts else [1.0, 0.0]), np.array([1.0, 1.0])


def planned_deviations(plan: PFCBPlan, steps: Ints) -> Floats:
    """Return deviations of (w̃, ỹ) in some reports, (reports, 2)."""
    return np.outer(_scales(plan, steps), np.sqrt(np.diag(plan.constants.covariance)))


def _scales(plan: PFCBPlan, steps: Ints) -> Floats:
    if plan.continual is not None:
        return stated_deviations(plan.continual, steps)
    return np.array([plan.deviation(int(step)) for step in steps])


def draw_covariance(plan: PFCBPlan, release: int) -> Floats:
    """Return the covariance of one draw of noise for (w̃, ỹ), (2, 2); of a batch, in its report."""
    scale = plan.deviation(release) if plan.continual is None else plan.continual.scale
    found: Floats = plan.constants.covariance * scale**2
    return found


def covariance_over_time(plan: PFCBPlan) -> Floats:
    """Return the covariance of all reports of one number, in that of one draw, (n, n)."""
    if plan.continual is None:
        return np.eye(plan.constants.releases)
    return covariance_of(plan.continual)


def attacker(plan: PFCBPlan, amounts: bool, steps: Ints) -> Attacker:
    """Return who looks at some reports about one producer, and knows all purchases but one."""
    zero, one = record_pair(amounts)
    change, covariance = one - zero, plan.constants.covariance
    if plan.continual is not None:
        mixing = decoder(plan.continual, steps)
        least, over_time = plan.continual.scale, np.linalg.inv(mixing @ mixing.T)
    else:
        scales = _scales(plan, steps)
        least = float(scales.min())
        over_time = np.diag((least / scales) ** 2)
    weights = np.asarray(np.linalg.solve(covariance * least**2, change), dtype=np.float64)
    deviation = least * np.sqrt(np.diag(covariance))
    return Attacker(zero, change, weights, deviation, np.asarray(over_time, dtype=np.float64))


# ---------------------------------------------------------------- a purchase that moves


class Moved(NamedTuple):
    """Someone who looks at reports about one producer, and knows all but where a purchase counts.

    Parameters
    ----------
    means : (2, n, 2) float64
        What the purchase adds to each report in either world.
    precision : (2 n, 2 n) float64
        Inverse covariance of the reports' noise.
    deviation : (n, 2) float64
        Deviations of the reports' noise.
    """

    means: Floats
    precision: Floats
    deviation: Floats

    def look(self, values: Floats) -> Look:
        """Return the likelihood ratio of reports (runs, n, 2), and numbers without noise."""
        change = (self.means[1] - self.means[0]).reshape(-1)
        middle = 0.5 * (self.means[1] + self.means[0]).reshape(-1)
        rows = values.reshape(len(values), -1)
        scores: Floats = (rows - middle) @ (self.precision @ change)
        apart, near = self.means[1] != self.means[0], NO_NOISE * self.deviation
        hits = [(np.abs(values - mean) < near) & apart for mean in self.means]
        bare: Floats = hits[1].sum((1, 2)).astype(np.float64) - hits[0].sum((1, 2))
        return Look(rows, scores[:, None], bare[:, None])


def corners(plan: PFCBPlan) -> Floats:
    """Return the purchase in either world, (2, 2): units bought and good.

    The corners (1, 0) and (1, 1) are at an angle in the noise's measure: what running sums that
    hold both have in common is least then. Where only one report has each, the longest will do.
    """
    running = plan.constants.reports == RUNNING
    return np.array([[1.0, 0.0 if running else 1.0], [1.0, 1.0]])


def moved(plan: PFCBPlan, steps: Ints, batches: tuple[int, int]) -> Moved:
    """Return who looks at the reports ``steps``, of which some hold the batches of the worlds."""
    running = plan.constants.reports == RUNNING
    entered = [steps >= batch if running else steps == batch for batch in batches]
    means = np.array([np.outer(e, v) for e, v in zip(entered, corners(plan), strict=True)])
    if plan.continual is not None:
        mixing = plan.continual.scale * decoder(plan.continual, steps)
        over_time = mixing @ mixing.T
    else:
        over_time = np.diag(_scales(plan, steps) ** 2)
    covariance = np.kron(over_time, plan.constants.covariance)
    deviation = np.sqrt(np.diag(covariance)).reshape(-1, 2)
    return Moved(means, np.asarray(np.linalg.inv(covariance)), deviation)


def farthest_batches(plan: PFCBPlan, steps: Ints) -> tuple[int, int]:
    """Return the first batch, and the one that is as far from it as any, of running sums."""
    if plan.continual is None:
        return 1, 2
    encoder = np.linalg.solve(decoder(plan.continual, steps), np.tri(len(steps)))
    together = encoder.T @ encoder
    return 1, int(np.argmax(np.diag(together) - together[0])) + 1
