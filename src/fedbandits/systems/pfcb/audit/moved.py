"""A purchase that moves from one report to another, because its outcome comes late in one world.

In world 0 it is counted in one batch, in world 1 in another; both are corners of what a purchase
can be. Which two batches: those whose reports show the most. Of running sums that is worked out
here from what is stated of the mechanism, not from how it is priced.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.likelihood import decoder, telling_releases
from fedbandits.systems.games import ContentsGame, Look, audit_key, drawn_targets
from fedbandits.systems.pfcb.audit.contents import UNITS, play_reports
from fedbandits.systems.pfcb.kernels.books import empty_books, one_book
from fedbandits.systems.pfcb.kernels.constants import RUNNING
from fedbandits.systems.pfcb.plan import PFCBPlan

#: Deviations of noise within which a number is taken for one that has none.
_NO_NOISE = 1e-9


class Moved(NamedTuple):
    """Who looks at some reports about one producer, and knows all but where a purchase is counted.

    Parameters
    ----------
    means : (2, n, 2) float64
        What the purchase adds to each report in either world, in capacities.
    precision : (2 n, 2 n) float64
        Inverse covariance of the reports' noise.
    deviation : (n, 2) float64
        Of the reports' noise.
    """

    means: Floats
    precision: Floats
    deviation: Floats

    def scores(self, values: Floats) -> Floats:
        """The log likelihood ratio of every run, (runs, 1), of reports (runs, n, 2)."""
        change = (self.means[1] - self.means[0]).reshape(-1)
        middle = 0.5 * (self.means[1] + self.means[0]).reshape(-1)
        found: Floats = (values.reshape(len(values), -1) - middle) @ (self.precision @ change)
        return found[:, None]

    def bare(self, values: Floats) -> Floats:
        """Numbers that are those of world 1 without noise, less those of world 0, (runs, 1)."""
        apart, near = self.means[1] != self.means[0], _NO_NOISE * self.deviation
        hits = [(np.abs(values - mean) < near) & apart for mean in self.means]
        found: Floats = hits[1].sum((1, 2)).astype(np.float64) - hits[0].sum((1, 2))
        return found[:, None]


def corners(plan: PFCBPlan) -> Floats:
    """The purchase in either world, (2, 2): units bought and good, as shares of the capacity.

    The corners (1, 0) and (1, 1) are at an angle in the noise's measure: what running sums that
    hold both have in common is least then. Where only one report has each, the longest will do.
    """
    running = plan.constants.reports == RUNNING
    return np.array([[1.0, 0.0 if running else 1.0], [1.0, 1.0]])


def moved(plan: PFCBPlan, steps: Ints, batches: tuple[int, int]) -> Moved:
    """Who looks at the reports ``steps``, of which some hold the batches of the two worlds."""
    constants = plan.constants
    running = constants.reports == RUNNING
    entered = [steps >= batch if running else steps == batch for batch in batches]
    means = np.array([np.outer(e, v) for e, v in zip(entered, corners(plan), strict=True)])
    if plan.continual is not None:
        mixing = plan.continual.scale * decoder(plan.continual, steps)
        over_time = mixing @ mixing.T
    else:
        over_time = np.diag([plan.deviation(int(step)) ** 2 for step in steps])
    covariance = np.kron(over_time, constants.covariance)
    deviation = np.sqrt(np.diag(covariance)).reshape(-1, 2)
    return Moved(means, np.asarray(np.linalg.inv(covariance)), deviation)


def farthest_batches(plan: PFCBPlan, steps: Ints) -> tuple[int, int]:
    """The first batch, and the one that is as far from it as any, of running sums."""
    if plan.continual is None:
        return 1, 2
    encoder = np.linalg.solve(decoder(plan.continual, steps), np.tri(len(steps)))
    together = encoder.T @ encoder
    return 1, int(np.argmax(np.diag(together) - together[0])) + 1


def moved_game(plan: PFCBPlan) -> ContentsGame:
    """Reports as configured, about a drawn producer of a drawn buyer, with one purchase moved."""
    running, releases = plan.continual is not None, plan.constants.releases
    steps = telling_releases(plan.continual) if plan.continual is not None else np.array([1, 2])
    batches = farthest_batches(plan, steps)
    made = 1 + len(steps) // 8 if running else 1
    return ContentsGame(
        f"contents of {len(steps)} of {releases} reports, one drawn buyer and producer, a purchase "
        f"of batch {batches[0]} or, late, of batch {batches[1]}",
        2 * len(steps),
        partial(_look, plan, steps, batches),
        2 * len(steps) * plan.constants.producers * made,
    )


def _look(plan: PFCBPlan, steps: Ints, batches: tuple[int, int], world: int, first: int, count: int
) -> Look:  # fmt: skip
    constants, sees = plan.constants, moved(plan, steps, batches)
    buyer, producer = drawn_targets(first, count, constants.agents, constants.producers)
    keys = np.array([audit_key(run) for run in range(first, first + count)], np.uint64)
    entered = np.tile(sees.means[world, :, 0], (count, 1))
    values = np.zeros((count, len(steps), 2))
    play_reports(
        constants, np.tile(steps, (count, 1)), entered, corners(plan)[world] * UNITS,
        np.stack([buyer, producer], axis=1), keys, np.full(constants.producers, UNITS, np.int64),
        one_book(empty_books(1, constants.producers), 0),
        np.zeros((plan.slots, 2 * constants.producers)), values,
    )  # fmt: skip
    values /= UNITS
    return Look(values.reshape(count, -1), sees.scores(values), sees.bare(values))
