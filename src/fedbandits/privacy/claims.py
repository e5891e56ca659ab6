"""What a system promises about privacy, in words and numbers that travel with its results."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Literal

import msgspec

from fedbandits.errors import ClaimError
from fedbandits.privacy.accounting import (
    Encrypted,
    Event,
    basic_epsilon,
    describe,
    mu,
    relative_deviation,
)


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
        What accounting supports for everything that leaves a party, message times included: which
        messages there are, and the round at whose end each leaves. Infinite if nothing is
        supported.
    epsilon_contents
        The same for the contents of the messages alone, were their existence and times public.
    delta
        The δ that goes with ``epsilon`` and with ``epsilon_contents``.
    mu
        The Gaussian-DP parameter of the contents: what all events cost together. Infinite where
        there is none; encryption, for which nothing is charged, gives none.
    conditional_on
        What must hold for the claim to hold.
    not_protected
        What the claim does not cover, each named in its first clause.
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
        If it names no unit.
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

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not protected, in short: the first clause of each sentence."""
        return tuple(
            re.split(r"[,:;(]", line, maxsplit=1)[0].strip() for line in self.not_protected
        )

    @property
    def noise(self) -> float:
        """Deviation of the noise in the largest release, in units of what a record can be."""
        return max((relative_deviation(event) for event in self.events), default=0.0)

    def rows(self) -> list[tuple[str, list[str]]]:
        """The whole claim as titled lines, for tables."""
        paper = [] if self.paper_claims is None else [self.paper_claims]
        rows: dict[str, list[str]] = {
            "unit": [self.unit],
            "from whom": [self.from_whom],
            "neighbours": [] if self.encrypted else [self.relation],
            "holds for": [] if self.encrypted else [self.holds_for],
            "protected by": [self.encrypted] if self.encrypted else [],
            "the paper claims": [f"ε = {epsilon:g}, δ = {delta:g}" for epsilon, delta in paper],
            "charged": _charged(self.events),
            "in total": [] if self.encrypted else self._totals(),
            "contents, by party": _by_party(self.epsilon_each),
            "conditional on": list(self.conditional_on),
            "not protected": list(self.not_protected),
        }
        return [(title, lines) for title, lines in rows.items() if lines]

    def _totals(self) -> list[str]:
        exact, at = self.epsilon_contents, f"at δ = {self.delta:g}"
        lines = [f"μ = {_number(self.mu)}, ε = {_number(exact)} {at}"]
        basic = basic_epsilon(self.events, self.delta) if self.delta else math.inf
        if math.isfinite(basic) and not math.isclose(basic, exact, rel_tol=1e-6):
            lines.append(f"by basic composition, as papers add up: ε = {_number(basic)} {at}")
        return lines


def _charged(events: tuple[Event, ...]) -> list[str]:
    """Every event with its price; events that are alike once."""
    lines = []
    for event, count in Counter(events).items():
        price = "" if isinstance(event, Encrypted) else f": μ = {_number(mu(event))}"
        each = f"{count} times, each " if count > 1 else ""
        lines.append(f"{each}{describe(event)}{price}")
    return lines


def _by_party(epsilons: tuple[float, ...]) -> list[str]:
    """Parties by their ε, the least protected first."""
    lines = []
    for epsilon in sorted(set(epsilons), reverse=True):
        parties = ", ".join(str(i) for i, own in enumerate(epsilons) if own == epsilon)
        lines.append(f"ε = {_number(epsilon)}: {parties}")
    return lines


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
