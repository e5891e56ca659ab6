"""Numbers as tables for people show them."""

from __future__ import annotations

import math

from fedbandits.experiments.answers.words import with_error


def spelled(mean: float, half: float = math.nan) -> str:
    """A mean with the half-width of its interval, if it has one: ``15.26 ± 0.06``."""
    if math.isnan(mean):
        return "–"
    if not math.isfinite(half):
        return f"{mean:,.0f}" if abs(mean) >= 1000.0 else f"{mean:.4g}"
    return with_error(mean, half)


def spelled_epsilon(value: float) -> str:
    """An ε: infinite, or a word where encryption has none."""
    if math.isnan(value):
        return "encrypted"
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"
