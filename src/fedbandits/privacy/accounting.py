"""What a release costs: mechanisms name events, this module prices them, and refuses strangers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fedbandits.errors import UnknownEventError
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import ContinualPlan


class GaussianRelease(msgspec.Struct, frozen=True, tag=True):
    """One vector with L2 sensitivity Δ under Gaussian noise of deviation σ a coordinate."""

    sensitivity: float
    deviation: float


class ContinualSum(msgspec.Struct, frozen=True, tag=True):
    """A stream of running sums, each record in one batch, replace-one neighbours."""

    plan: ContinualPlan
    record_norm: float  # L² + B²
    releases: int | None = None  # made so far; all that were planned when not given


class Clear(msgspec.Struct, frozen=True, tag=True):
    """Statistics that leave without noise: no finite ε holds."""


Event = GaussianRelease | ContinualSum | Clear


def mu(event: Any) -> float:
    """Price one event in Gaussian differential privacy.

    Raises
    ------
    UnknownEventError
        If the event is none that this accountant knows.
    """
    match event:
        case GaussianRelease():
            return gaussian_mu(event.sensitivity, event.deviation)
        case ContinualSum():
            return event.plan.mu(event.record_norm, event.releases)
        case Clear():
            return float("inf")
        case _:
            raise UnknownEventError(f"no price is known for {type(event).__name__}: not charged")


def gaussian_mu(sensitivity: float, deviation: float) -> float:
    """μ = Δ/σ; infinite without noise, 0 for what no record moves."""
    if sensitivity == 0.0:
        return 0.0
    return sensitivity / deviation if deviation > 0.0 else float("inf")


def total_mu(events: Iterable[Any]) -> float:
    """μ of all events on the same data."""
    return gaussian.compose(mu(event) for event in events)


def epsilon(events: Iterable[Any], delta: float) -> float:
    """ε of all events together at the given δ."""
    return gaussian.epsilon_of(total_mu(events), delta)


def describe(event: Event) -> str:
    """One line for a table of charged events."""
    match event:
        case GaussianRelease():
            return f"Gaussian, sensitivity {event.sensitivity:.4g}, deviation {event.deviation:.4g}"
        case ContinualSum():
            plan = event.plan
            return (
                f"{plan.mechanism} running sum, {plan.releases} releases planned, "
                f"noise scale {plan.scale:.4g}, record norm {event.record_norm:.4g}"
            )
        case Clear():
            return "statistics in clear"
