"""What a system promises about privacy, in words and numbers that travel with its results."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from fedbandits.errors import ClaimError
from fedbandits.privacy.accounting import Event, describe, mu


class PrivacyClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A guarantee, its conditions and its limits.

    Parameters
    ----------
    unit
        The record that one neighbour differs in.
    from_whom
        Who may look, and at what.
    relation
        How neighbouring data sets differ.
    holds_for
        ``interactive``: also when the system reacts to the changed record. ``fixed log``: only if
        every other record would have been the same. ``nothing``: no finite ε holds.
    epsilon
        What accounting supports for everything that leaves a party, message times included.
        Infinite if nothing is supported.
    epsilon_contents
        The same for the contents of the messages alone, were their existence and times public.
    delta
        δ of both.
    mu
        The Gaussian-DP parameter of the contents.
    conditional_on
        What must hold for the claim to hold.
    not_protected
        What the claim does not cover.
    paper_claims
        The (ε, δ) that the paper states for this variant, if one does.
    events
        What is charged; where parties have budgets of their own, to the least protected one.
    epsilon_each
        ε of the contents of every party's messages, where parties have budgets of their own;
        ``epsilon_contents`` is the largest.
    encrypted
        What encryption protects, where that is what a system rests on: nothing is charged for it,
        and no ε comes of it.

    Raises
    ------
    ClaimError
        If no unit is named.
    """

    unit: str
    from_whom: str
    relation: Literal["replace-one", "add-remove"]
    holds_for: Literal["interactive", "fixed log", "nothing"]
    epsilon: float
    epsilon_contents: float
    delta: float
    mu: float
    conditional_on: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    paper_claims: tuple[float, float] | None = None
    events: tuple[Event, ...] = ()
    encrypted: str = ""
    epsilon_each: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.unit.strip():
            raise ClaimError("a privacy claim must name its unit")

    @property
    def is_private(self) -> bool:
        """Whether any finite ε is supported."""
        return math.isfinite(self.epsilon)

    @property
    def headline(self) -> str:
        """The claim in one line."""
        if self.is_private:
            return (
                f"ε = {self.epsilon:.4g} at δ = {self.delta:.3g}, {self.holds_for}, {self.relation}"
            )
        if math.isfinite(self.epsilon_contents):
            return (
                "no finite ε: which messages there are depends on raw data "
                f"(contents alone: ε = {self.epsilon_contents:.4g} at δ = {self.delta:.3g})"
            )
        return self.encrypted or "no finite ε: statistics leave in clear"

    def rows(self) -> list[tuple[str, list[str]]]:
        """The whole claim as titled lines, for tables."""
        total = (
            f"μ = {_number(self.mu)}, ε = {_number(self.epsilon_contents)} at δ = {self.delta:g}"
        )
        paper = [] if self.paper_claims is None else [self.paper_claims]
        rows: dict[str, list[str]] = {
            "unit": [self.unit],
            "from whom": [self.from_whom],
            "neighbours": [] if self.encrypted else [self.relation],
            "holds for": [] if self.encrypted else [self.holds_for],
            "protected by": [self.encrypted] if self.encrypted else [],
            "the paper claims": [f"ε = {epsilon:g}, δ = {delta:g}" for epsilon, delta in paper],
            "charged": [f"{describe(event)}: μ = {_number(mu(event))}" for event in self.events],
            "in total": [total] if self.events or not self.encrypted else [],
            "contents, by party": _by_party(self.epsilon_each),
            "conditional on": list(self.conditional_on),
            "not protected": list(self.not_protected),
        }
        return [(title, lines) for title, lines in rows.items() if lines]


def _by_party(epsilons: tuple[float, ...]) -> list[str]:
    """Parties by their ε, the least protected first."""
    lines = []
    for epsilon in sorted(set(epsilons), reverse=True):
        parties = ", ".join(str(i) for i, own in enumerate(epsilons) if own == epsilon)
        lines.append(f"ε = {_number(epsilon)}: {parties}")
    return lines


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
