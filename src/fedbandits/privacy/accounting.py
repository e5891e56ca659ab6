"""The privacy cost of releases: a mechanism describes an event, and this module prices the event.

Unknown events are refused. Prices are in Gaussian differential privacy (Dong, Roth & Su 2022). They
are exact for Gaussian releases and for compositions of Gaussian releases. The price of a Laplace
release is the smallest valid μ. Papers use basic composition. It is included to show how much exact
accounting saves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from fedbandits.errors import UnknownEventError
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import ContinualPlan

_ITERATIONS = 200
#: Largest noise scale that calibration tries.
_LOUDEST = 1e30


class GaussianRelease(msgspec.Struct, frozen=True, tag=True):
    """A vector of L2 sensitivity Δ with Gaussian noise of deviation σ on each coordinate."""

    sensitivity: float
    deviation: float


class LaplaceRelease(msgspec.Struct, frozen=True, tag=True):
    """A vector of L1 sensitivity Δ with Laplace noise of scale b on each coordinate."""

    sensitivity: float
    scale: float


class ContinualSum(msgspec.Struct, frozen=True, tag=True):
    """A stream of running sums; each record is in one batch, and neighbours are replace-one.

    Parameters
    ----------
    plan
        The mechanism: a binary tree, square-root Toeplitz, or the optimal factorisation.
    record_norm
        Sensitivity of the sum to one record.
    releases
        Number of releases so far.
    """

    plan: ContinualPlan
    record_norm: float  # the result of gaussian.record_sensitivity
    releases: int | None = None  # number of releases so far; by default all planned releases


class Parallel(msgspec.Struct, frozen=True, tag=True):
    """Releases of disjoint records: each record is in one release, and cannot move to another.

    Only the most expensive of the releases in ``parts`` is charged. Do not use this event if a
    replaced record can be in another release than before. Two releases change then.
    """

    parts: tuple[GaussianRelease | LaplaceRelease | ContinualSum, ...]


class Encrypted(msgspec.Struct, frozen=True, tag=True):
    """Messages encrypted with ``by``, without noise: nothing is charged, and no ε holds."""

    by: str


class Clear(msgspec.Struct, frozen=True, tag=True):
    """Statistics that are sent without noise: no finite ε holds."""


Event = GaussianRelease | LaplaceRelease | ContinualSum | Parallel | Encrypted | Clear


def mu(event: Any) -> float:
    """Return the price of one event in Gaussian differential privacy.

    Raises
    ------
    UnknownEventError
        If the price of the event is not known, or its numbers are not valid.
    """
    try:
        price = _price(event)
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise UnknownEventError(
            f"{type(event).__name__} has parts of a wrong type or outside all bounds: not charged"
        ) from error
    if not price >= 0.0:  # NaN and negative prices are refused
        raise UnknownEventError(
            f"{type(event).__name__} has numbers that are not valid: not charged"
        )
    return price


def _price(event: Any) -> float:
    match event:
        case GaussianRelease():
            return gaussian_mu(event.sensitivity, event.deviation)
        case LaplaceRelease():
            return laplace_mu(event.sensitivity, event.scale)
        case ContinualSum():
            return event.plan.mu(event.record_norm, event.releases)
        case Parallel():
            return max([mu(part) for part in event.parts], default=0.0)
        case Encrypted():
            return 0.0
        case Clear():
            return float("inf")
        case _:
            raise UnknownEventError(f"no price is known for {type(event).__name__}: not charged")


def gaussian_mu(sensitivity: float, deviation: float) -> float:
    """Return μ of a Gaussian release: ``sensitivity`` / ``deviation``.

    μ is infinite without noise, and 0 if the sensitivity is 0.
    """
    _check(sensitivity, deviation)
    if sensitivity == 0.0:
        return 0.0
    return sensitivity / deviation if deviation > 0.0 else float("inf")


def laplace_mu(sensitivity: float, scale: float) -> float:
    """Return the smallest μ such that a Laplace release is μ-GDP: 2 Φ⁻¹(1 - ½ e^(-Δ/2b)).

    Δ is ``sensitivity`` (L1), and b is ``scale``.

    Its trade-off function (Dong, Roth & Su 2022, section 2.3) is closest to a Gaussian one where
    both error rates are equal.
    """
    _check(sensitivity, scale)
    if sensitivity == 0.0:
        return 0.0
    if scale == 0.0:
        return float("inf")
    from scipy.special import ndtri  # it takes a while, and 27 MB

    return -2.0 * float(ndtri(0.5 * math.exp(-0.5 * sensitivity / scale)))


def _check(sensitivity: float, noise: float) -> None:
    """Refuse NaN and negative numbers, and infinite noise, which is a mistake."""
    if not (sensitivity >= 0.0 and 0.0 <= noise < math.inf):
        raise UnknownEventError(
            f"sensitivity and noise must be numbers ≥ 0, got {sensitivity} and {noise}: not charged"
        )


def total_mu(events: Iterable[Any]) -> float:
    """Return μ of all ``events`` together, on the same data."""
    return gaussian.compose(mu(event) for event in events)


def epsilon(events: Iterable[Any], delta: float) -> float:
    """Return ε of all ``events`` together at the given ``delta``.

    A Laplace release is also (Δ/b, 0)-private. So its ε may be added to the ε of the other events.
    The result is the smaller of this sum and the composition of all events as Gaussian.
    """
    known = list(events)
    laplace = [event for event in known if isinstance(event, LaplaceRelease)]
    composed = _gaussian_epsilon(total_mu(known), delta)
    if not laplace:
        return composed
    others = total_mu(event for event in known if not isinstance(event, LaplaceRelease))
    pure = sum(e.sensitivity / e.scale if e.scale > 0.0 else math.inf for e in laplace)
    return min(composed, pure + _gaussian_epsilon(others, delta))


def _gaussian_epsilon(price: float, delta: float) -> float:
    """Return ε of μ-Gaussian privacy at δ; at δ = 0, ε is infinite unless μ = 0."""
    if delta == 0.0:
        return 0.0 if price == 0.0 else math.inf
    return gaussian.epsilon_of(price, delta)


def basic_epsilon(events: Iterable[Any], delta: float) -> float:
    """Return ε of all ``events`` by basic composition: equal shares of ``delta``, a sum of ε.

    The sum is over elementary releases. An elementary release is one draw of noise that covers a
    record. Every level of a tree is an elementary release. The whole Toeplitz mechanism counts as a
    single release, because basic composition cannot divide it.
    """
    prices = [price for event in events for price in _elementary(event)]
    if not prices:
        return 0.0
    return sum(gaussian.epsilon_of(price, delta / len(prices)) for price in prices)


def _elementary(event: Any) -> list[float]:
    """Return μ of every elementary release that covers one record."""
    whole = mu(event)
    if isinstance(event, Parallel):
        return _elementary(max(event.parts, key=mu)) if event.parts else []
    if isinstance(event, ContinualSum) and event.plan.mechanism == "tree":
        released = event.plan.releases if event.releases is None else event.releases
        levels = released.bit_length()
        if not levels:
            return []
        return [whole / math.sqrt(levels)] * levels
    return [whole] if whole > 0.0 else []


def relative_deviation(event: Event) -> float:
    """Return the noise of the largest release: its deviation divided by the size of a record.

    The size of a record is its largest possible size. The result is 0 without noise. For a running
    sum the deviation is that of an off-diagonal entry, and the size is the record norm.
    """
    match event:
        case GaussianRelease():
            return _ratio(event.deviation, event.sensitivity)
        case LaplaceRelease():
            return _ratio(math.sqrt(2.0) * event.scale, event.sensitivity)
        case ContinualSum():
            return _ratio(event.plan.largest_deviation(), event.record_norm)
        case Parallel():
            return max((relative_deviation(part) for part in event.parts), default=0.0)
        case Encrypted() | Clear():
            return 0.0


def _ratio(deviation: float, record: float) -> float:
    return deviation / record if record > 0.0 else 0.0


def calibrate(
    events_at: Callable[[float], Iterable[Any]], target_epsilon: float, delta: float
) -> float:
    """Return the smallest noise scale, rounded up, at which all events are (ε, δ)-private.

    The noise of a real party must be larger by the share
    :data:`~fedbandits.privacy.gaussian.ROUNDING_MARGIN`.

    Parameters
    ----------
    events_at
        A function from a noise scale > 0 to the events. A larger scale must never cost more.
    target_epsilon, delta : float
        The budget (ε, δ) for all events together.

    Raises
    ------
    ValueError
        If no noise is enough, or the budget is not valid.
    """
    gaussian.mu_of(target_epsilon, delta)  # refuses an impossible budget
    low, high = 0.0, 1.0
    while epsilon(events_at(high), delta) > target_epsilon:
        low, high = high, 2.0 * high
        if high > _LOUDEST:
            raise ValueError("no noise is large enough to keep these events within the budget")
    for _ in range(_ITERATIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if epsilon(events_at(middle), delta) <= target_epsilon:
            high = middle
        else:
            low = middle
    return high


def describe(event: Event) -> str:
    """Describe ``event`` in one line, for tables."""
    match event:
        case GaussianRelease():
            return f"Gaussian, sensitivity {event.sensitivity:.4g}, deviation {event.deviation:.4g}"
        case LaplaceRelease():
            return f"Laplace, sensitivity {event.sensitivity:.4g} (L1), scale {event.scale:.4g}"
        case ContinualSum():
            plan = event.plan
            released = "" if event.releases is None else f", {event.releases} made"
            return (
                f"{plan.mechanism} running sum, {plan.releases} releases planned{released}, "
                f"noise scale {plan.scale:.4g}, record norm {event.record_norm:.4g}"
            )
        case Parallel():
            costliest = describe(max(event.parts, key=mu)) if event.parts else "nothing"
            return f"the costliest of releases about disjoint records: {costliest}"
        case Encrypted():
            return f"encrypted, nothing charged: {event.by}"
        case Clear():
            return "statistics in clear"
