"""The opponents of a run in words, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from fedbandits.environments.base import Words
from fedbandits.experiments.answers.rivals import RivalResult
from fedbandits.experiments.baselines import Kind

_KINDS: dict[Kind, str] = {"alone": "learning alone", "pooled": "everything pooled in clear"}


class AtBest(Protocol):
    """The settings with which parties alone are at their best."""

    @property
    def at_best(self) -> float | None:
        """α."""

    @property
    def ridge_at_best(self) -> float | None:
        """λ; None where it is the default."""


def at_best(one: AtBest) -> str:
    """Write the settings of parties alone at their best: ``at its best (α = 0.5, λ = 3)``."""
    ridge = "" if one.ridge_at_best is None else f", λ = {one.ridge_at_best:g}"
    return f"at its best (α = {one.at_best:g}{ridge})"


def compared_with(opponents: Sequence[RivalResult], words: Words, unit: str) -> Iterator[str]:
    """Yield the line that names all opponents, each with its number; none if there are none."""
    groups = []
    for kind, said in _KINDS.items():
        own = [_with_number(one, words) for one in opponents if one.kind == kind]
        if own:
            groups.append(f"{said}: {', '.join(own)}")
    if groups:
        yield f"Compared with {'; with '.join(groups)}, in {unit}."


def _with_number(one: RivalResult, words: Words) -> str:
    how = at_best(one) if one.at_best is not None else f"by {one.name}"
    counted = f"{one.replicates} replicate{'s' if one.replicates > 1 else ''}"
    if one.parties is not None:
        counted = f"{one.parties} {words.parties}, {counted}"
    return f"{_number(one.mean)} {how}{'' if one.linear else f' ({counted})'}"


def wrong_model(opponents: Sequence[RivalResult], kind: Kind, unit: str) -> str:
    """Say that a linear model is the wrong one: another loses far less, by more than chance."""
    own = [one for one in opponents if one.kind == kind]
    linear = min((one for one in own if one.linear), key=lambda one: one.mean)
    other = min((one for one in own if not one.linear), key=lambda one: one.mean)
    said = "alone" if kind == "alone" else "pooled in clear"
    return (
        f"A linear model is the wrong one for this data: {said}, {other.name} has "
        f"{_number(other.mean)} {unit}, and the best linear one {_number(linear.mean)}."
    )


def _number(mean: float) -> str:
    return f"{mean:,.0f}" if abs(mean) >= 100.0 else f"{mean:.3g}"
