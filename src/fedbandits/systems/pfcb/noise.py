"""The noise that reports need: its shape, and its calibration to a buyer's budget."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import ContinualPlan, calibrated
from fedbandits.systems.pfcb.config import (
    PFCB,
    Continual,
    Correlated,
    Independent,
    NoNoise,
    Published,
)
from fedbandits.systems.pfcb.moved import further_in_batches, further_in_running_sums

_MOST_RUNNING_SUMS = 2**14
_ROOT_2 = math.sqrt(2.0)

#: Noise of (w, y), in capacities and per unit of scale: one draw each. A purchase that is replaced
#: moves (w, y) by at most √2 k: from nothing to k good units.
_SEPARATE = np.eye(2)
#: A purchase is a point (l, g) with 0 ≤ g ≤ l ≤ k; replacing it moves the sums by a difference of
#: two such points, a hexagon. This is the noise whose covariance is the smallest ellipse around it
#: (Löwner & John): no difference is longer than k in its measure.
_HEXAGONAL = np.array([[math.sqrt(4 / 3), 0.0], [math.sqrt(1 / 3), 1.0]])


class Noise(NamedTuple):
    """How reports are made noisy."""

    scale: float  # deviation of a draw, in capacities; 0 where reports differ, or are in clear
    mixing: Floats = _SEPARATE  # (2, 2): draws to noise of (w, y)
    sensitivity: float = _ROOT_2  # of a batch to one purchase, in capacities and in its measure
    continual: ContinualPlan | None = None  # of running sums


def noise_of_reports(config: PFCB, releases: int) -> Noise:
    """The noise of a buyer's ``releases`` reports.

    Raises
    ------
    ConfigError
        If there are more running sums than a buyer keeps.
    """
    late = config.outcomes == "late"
    further = further_in_batches(releases) if late else 1.0
    match config.privatizer:
        case Independent():
            return Noise(_calibrated_scale(_ROOT_2 * further, config))
        case Correlated():
            return Noise(_calibrated_scale(further, config), _HEXAGONAL, 1.0)
        case Continual():
            if releases > _MOST_RUNNING_SUMS:
                raise ConfigError(
                    f"schedule: {releases:,} running sums are more than the continual privatizer "
                    f"keeps ({_MOST_RUNNING_SUMS:,}); exchange less often"
                )
            mu = gaussian.mu_of(config.epsilon, config.delta)
            further = further_in_running_sums(releases) if late else 1.0
            found = calibrated("toeplitz", releases, mu, further)
            return Noise(found.scale, _HEXAGONAL, 1.0, found)
        case NoNoise() | Published():
            return Noise(0.0)


def _calibrated_scale(sensitivity: float, config: PFCB) -> float:
    """The least noise whose reports are (ε, δ)-private, by how far a purchase moves all of them."""
    return gaussian.least_deviation(sensitivity, gaussian.mu_of(config.epsilon, config.delta))
