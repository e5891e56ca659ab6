"""Estimates with intervals, from sums over events.

Every estimate is a ratio of two sums over events, U / V. The sums are additive: sums of several
sites, or of several parts of a log, are added. They also have the squares that intervals need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints

#: The methods, in the order of tables.
METHODS = ("replay", "ips", "snips", "dr")
#: Names of the methods.
NAMES = {
    "replay": "replay (rejection sampling)",
    "ips": "IPS (inverse propensity)",
    "snips": "self-normalised IPS",
    "dr": "doubly robust",
}
#: Sums of each method.
PARTS = ("events", "matched", "w", "ww", "u", "v", "uu", "uv", "vv")
_EVENTS, _MATCHED, _W, _WW, _U, _V, _UU, _UV, _VV = range(len(PARTS))
#: Fewest effective events of an interval that can be trusted.
FEW = 30.0
#: Probability with which an interval of one mean covers the mean.
LEVEL = 0.95
#: Largest distance of a mean weight from 1, the mean with right propensities: in standard errors,
#: and in all.
_ERRORS, _AWAY = 4.0, 0.1
#: Relative size of a sum of squares that is 0 but for errors of rounding.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """The mean reward of a policy, estimated from a log.

    Parameters
    ----------
    value
        The estimate; NaN if no event tells anything.
    low, high
        The 95% interval; NaN with fewer than two matched events, or if all their terms are equal.
    method
        ``replay``, ``ips``, ``snips`` or ``dr``.
    events
        Number of events of the log.
    matched
        Number of events in which the policy chose the logged action; for ``replay``, of these the
        accepted events.
    effective
        Effective number of events: (Σw)² / Σw², w the weights of matched events. It is the number
        of equally weighted events with the same variance.
    weight, weight_error
        Mean weight of an event, and its standard error. With right propensities the mean weight is
        1 but for chance. For ``replay`` both are not known: 1 and 0.
    """

    value: float
    low: float
    high: float
    method: str
    events: int
    matched: int
    effective: float
    weight: float = 1.0
    weight_error: float = 0.0

    @property
    def name(self) -> str:
        """The method in words."""
        return NAMES[self.method]

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2.0

    @property
    def few(self) -> bool:
        """True if so few events match that the interval cannot be trusted."""
        return not self.effective >= FEW

    @property
    def doubtful(self) -> bool:
        """True if the mean weight is so far from 1 that propensities must be wrong."""
        return bool(is_far(self.weight, self.weight_error))

    def __str__(self) -> str:
        text = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}), {self.name}"
        if self.few:
            text += f"; not to be trusted: only {self.effective:.3g} effective events"
        if self.doubtful:
            text += (
                f"; not to be trusted: the mean weight is {self.weight:.3g}, but 1 if the "
                "propensities are right"
            )
        return text


def sums_of(
    u: Floats, v: Floats, w: Floats, sites: Ints, count: int, there: Bools | None = None
) -> Floats:
    """Return the sums of one method, by site, (sites, parts), of ``count`` sites.

    Each event, (events,), adds ``u`` and ``v`` to the numerator and the denominator of the estimate
    of its site. ``w`` is its weight, 0 if the policy did not choose the logged action. ``there``
    marks the events that count; by default all.
    """
    if there is not None:
        u, v, w, sites = u[there], v[there], w[there], sites[there]
    terms = (np.ones(len(u)), w > 0.0, w, w * w, u, v, u * u, u * v, v * v)
    return np.stack([np.bincount(sites, term, count) for term in terms], axis=1)


class Intervals(NamedTuple):
    """Estimates of many sums, as in :class:`Estimate`, with the shape of the sums' first axes."""

    value: Floats
    low: Floats
    high: Floats
    effective: Floats


def intervals(sums: Floats) -> Intervals:
    """Make estimates of sums, (…, parts), for any method, with 95% intervals by Student's t.

    The variance is that of a ratio: Σ(u - θv)² / V². For a mean, with v = 1, it is the usual
    variance. If the policy learns during the log, deviations from its current value still have mean
    0 and are uncorrelated. So the same sum estimates the variance, or a larger number.
    """
    sums = np.asarray(sums, np.float64)
    matched, v, vv = sums[..., _MATCHED], sums[..., _V], sums[..., _VV]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = sums[..., _U] / v
        squares = sums[..., _UU] - 2.0 * value * sums[..., _UV] + value * value * vv
        count = v * v / vv  # number of terms: all events, or all matched events
        variance = np.maximum(squares, 0.0) / (v * v) * count / np.maximum(count - 1.0, 1.0)
        effective = np.where(matched == 0, 0.0, sums[..., _W] ** 2 / sums[..., _WW])
        half = quantile(np.maximum(matched - 1.0, 1.0)) * np.sqrt(variance)
        varies = np.maximum(squares, 0.0) > _ROUNDING * sums[..., _UU]
    # Equal terms do not show the variance: 0 of 100 is no rate of exactly 0.
    half = np.where((matched >= 2) & varies, half, np.nan)
    return Intervals(value, value - half, value + half, effective)


def mean_weights(sums: Floats) -> tuple[Floats, Floats]:
    """Return the mean weight of an event and its standard error, of ``sums`` (…, parts)."""
    count = sums[..., _EVENTS]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums[..., _W] / count
        return mean, np.sqrt(np.maximum(sums[..., _WW] / count - mean * mean, 0.0) / count)


def is_far(weight: Floats | float, error: Floats | float) -> Bools | bool:
    """Tell whether a mean weight is farther from 1 than by chance."""
    distance = np.abs(np.asarray(weight) - 1.0)
    far: Bools = (distance > _ERRORS * np.asarray(error)) & (distance > _AWAY)
    return far


def estimate_of(sums: Floats, method: str) -> Estimate:
    """Return the estimate of one ``method`` from its ``sums``, (parts,); see :func:`intervals`."""
    at = intervals(sums)
    return Estimate(
        float(at.value), float(at.low), float(at.high), method,
        int(sums[_EVENTS]), int(sums[_MATCHED]), float(at.effective),
        *((1.0, 0.0) if method == "replay" else map(float, mean_weights(sums))),
    )  # fmt: skip


def estimates_of(sums: Floats) -> list[Estimate]:
    """Return the estimates of all methods, from ``sums``, (methods, parts)."""
    return [estimate_of(row, method) for row, method in zip(sums, METHODS, strict=True)]


def quantile(freedom: Floats | float, level: float = LEVEL) -> Floats:
    """Return half the width of an interval in standard errors, by Student's t.

    The interval covers the mean with probability ``level``, with ``freedom`` degrees of freedom.
    """
    from scipy.special import stdtrit  # takes a while to import

    half: Floats = stdtrit(freedom, 0.5 + level / 2.0)
    return half
