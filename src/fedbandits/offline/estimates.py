"""Estimates with intervals, from sums over events.

Every estimate is a ratio of two sums over events, U / V. The sums are additive: those of several
sites, or of several parts of a log, are added. What an interval needs is in them too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints

#: The methods, in the order in which they are shown.
METHODS = ("replay", "ips", "snips", "dr")
#: What they are called.
NAMES = {
    "replay": "replay (rejection sampling)",
    "ips": "IPS (inverse propensity)",
    "snips": "self-normalised IPS",
    "dr": "doubly robust",
}
#: What is added up for each method.
PARTS = ("events", "matched", "w", "ww", "u", "v", "uu", "uv", "vv")
_EVENTS, _MATCHED, _W, _WW, _U, _V, _UU, _UV, _VV = range(len(PARTS))
#: With a smaller effective number of events an interval is not to be trusted.
FEW = 30.0
_LEVEL = 0.95
#: The mean weight of a log with right propensities is 1: so many standard errors and so much it may
#: be away from that.
_ERRORS, _AWAY = 4.0, 0.1
#: What errors of rounding leave of a sum of squares that is 0.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """The mean reward of a policy, estimated from a log.

    Parameters
    ----------
    value
        The estimate; NaN if no event tells anything.
    low, high
        Its 95% interval; NaN if there are fewer than two events to make it of, or all of them are
        equal.
    method
        ``replay``, ``ips``, ``snips`` or ``dr``.
    events
        Number of events of the log that the policy has met.
    matched
        Number of events in which it chose the logged action; for ``replay``, those observed.
    effective
        Effective number of events: (Σw)² / Σw², w the weights of matched events. Unequal weights
        tell as much as so many equal ones.
    weight, weight_error
        Mean weight of an event, and its standard error. If propensities are right, it is 1 but for
        chance. For ``replay`` it is not known.
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
        said = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}), {self.name}"
        if self.few:
            said += f"; not to be trusted: only {self.effective:.3g} effective events"
        if self.doubtful:
            said += (
                f"; not to be trusted: the mean weight is {self.weight:.3g}, but 1 if the "
                "propensities are right"
            )
        return said


def sums_of(
    u: Floats, v: Floats, w: Floats, sites: Ints, count: int, there: Bools | None = None
) -> Floats:
    """Return the sums of one method, by site, (sites, parts), of ``count`` sites.

    Each event, (events,), adds ``u`` and ``v`` to the numerator and the denominator of the estimate
    of its site. ``w`` is its weight; 0 where the policy did not choose the logged action. ``there``
    says where an event counts; everywhere if it is not given.
    """
    if there is not None:
        u, v, w, sites = u[there], v[there], w[there], sites[there]
    each = (np.ones(len(u)), w > 0.0, w, w * w, u, v, u * u, u * v, v * v)
    return np.stack([np.bincount(sites, part, count) for part in each], axis=1)


class Intervals(NamedTuple):
    """Estimates of many sums, as in :class:`Estimate`; of the sums' shape but the last axis."""

    value: Floats
    low: Floats
    high: Floats
    effective: Floats


def intervals(sums: Floats) -> Intervals:
    """Make estimates of sums, (…, parts), for any method, with 95% intervals by Student's t.

    The variance is that of a ratio: Σ(u - θv)² / V². For a mean, whose v are 1, it is the usual
    one. If the policy learns on the way, what differs from its value of the moment still has mean 0
    and is uncorrelated. So the same sum estimates the variance, or a larger one.
    """
    sums = np.asarray(sums, np.float64)
    matched, v, vv = sums[..., _MATCHED], sums[..., _V], sums[..., _VV]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = sums[..., _U] / v
        squares = sums[..., _UU] - 2.0 * value * sums[..., _UV] + value * value * vv
        count = v * v / vv  # how many terms: all events, or those that match
        variance = np.maximum(squares, 0.0) / (v * v) * count / np.maximum(count - 1.0, 1.0)
        effective = np.where(matched == 0, 0.0, sums[..., _W] ** 2 / sums[..., _WW])
        half = quantile(np.maximum(matched - 1.0, 1.0)) * np.sqrt(variance)
        varies = np.maximum(squares, 0.0) > _ROUNDING * sums[..., _UU]
    # Equal numbers do not show how much others would differ: 0 of 100 is no rate of exactly 0.
    half = np.where((matched >= 2) & varies, half, np.nan)
    return Intervals(value, value - half, value + half, effective)


def mean_weights(sums: Floats) -> tuple[Floats, Floats]:
    """Return the mean weight of an event and its standard error, of ``sums`` (…, parts)."""
    count = sums[..., _EVENTS]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums[..., _W] / count
        return mean, np.sqrt(np.maximum(sums[..., _WW] / count - mean * mean, 0.0) / count)


def is_far(weight: Floats | float, error: Floats | float) -> Bools | bool:
    """Tell whether a mean weight is so far from 1 that it is not by chance."""
    away = np.abs(np.asarray(weight) - 1.0)
    found: Bools = (away > _ERRORS * np.asarray(error)) & (away > _AWAY)
    return found


def estimate_of(sums: Floats, method: str) -> Estimate:
    """Return the estimate of one ``method`` from its ``sums``, (parts,); see :func:`intervals`."""
    found = intervals(sums)
    return Estimate(
        float(found.value), float(found.low), float(found.high), method,
        int(sums[_EVENTS]), int(sums[_MATCHED]), float(found.effective),
        *((1.0, 0.0) if method == "replay" else map(float, mean_weights(sums))),
    )  # fmt: skip


def estimates_of(sums: Floats) -> list[Estimate]:
    """Return the estimates of all methods, from ``sums``, (methods, parts)."""
    return [estimate_of(each, method) for each, method in zip(sums, METHODS, strict=True)]


def quantile(freedom: Floats) -> Floats:
    """Return how many deviations hold 95% by Student's t, with ``freedom`` degrees of freedom."""
    from scipy.special import stdtrit  # not before there is something to estimate

    found: Floats = stdtrit(freedom, 0.5 + _LEVEL / 2.0)
    return found
