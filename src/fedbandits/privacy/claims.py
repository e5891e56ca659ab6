"""Privacy claims: guarantees of a system, in words and numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from fedbandits._html import table, text
from fedbandits.errors import ClaimError
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import (
    Encrypted,
    Event,
    basic_epsilon,
    describe,
    mu,
    relative_deviation,
)
from fedbandits.privacy.accounting import epsilon as epsilon_of_events
from fedbandits.privacy.person import PersonCost

#: Rounding of sums of prices: a claim may be smaller than the charged price by this share.
_ROUNDING = 1e-6
#: Largest length of :attr:`Limit.what`, which tables show.
_LONGEST = 90
_RELATIONS = {
    "replace-one": "replace-one: one data set has another value in the place of one record",
    "add-remove": "add-remove: one data set has one record more than the other",
    "replace-person": "replace-person: one data set has other values in the place of all records "
    "of one person; how many they are, and when they come, stays",
}
_REACH = {
    "interactive": "interactive data: also if later records depend on {changed}",
    "fixed log": "a fixed log only: all records but {changed} stay as they are",
    "nothing": "nothing: no finite ε holds for all that leaves",
}


#: Fields of the promise; all other fields explain the promise, and their words may change.
_PROMISED = (
    "unit", "relation", "holds_for", "epsilon", "epsilon_contents", "delta", "mu", "paper_claims",
    "events", "epsilon_each", "one_noise",
)  # fmt: skip


class Limit(msgspec.Struct, frozen=True):
    """One thing that a claim does not protect.

    Parameters
    ----------
    what
        A few words for tables: at most 90 characters, not a full sentence.
    why
        An explanation in one to three short sentences. It may be empty.

    Raises
    ------
    ClaimError
        If ``what`` is empty, or too long for a table.

    Examples
    --------
    >>> print(Limit("when messages are sent", "The trigger reads raw data."))
    When messages are sent: The trigger reads raw data.
    """

    what: str
    why: str = ""

    def __post_init__(self) -> None:
        if not 0 < len(self.what.strip()) <= _LONGEST:
            raise ClaimError(
                f"Limit.what: given {self.what!r}, allowed: 1 to {_LONGEST} characters that name "
                "what is not protected; explain it in Limit.why"
            )

    def __str__(self) -> str:
        """Return the limit and its explanation as a sentence."""
        named = f"{self.what[0].upper()}{self.what[1:]}"
        return f"{named}: {self.why}" if self.why else f"{named}."


class View(msgspec.Struct, frozen=True):
    """One kind of attacker, and the ε that holds against this attacker.

    Parameters
    ----------
    who
        The attacker, in words.
    epsilon
        The ε of all that this attacker sees, at the δ of the claim.
    """

    who: str
    epsilon: float


class PrivacyClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A guarantee, its conditions and its limits.

    Parameters
    ----------
    unit
        The unit of privacy: the record in which neighbouring data sets differ.
    from_whom
        The attacker, and the attacker's view.
    relation
        The difference between neighbouring data sets.
    holds_for
        ``interactive``: the claim holds even if the system reacts to the changed record. ``fixed
        log``: only if all other records stay as they are. ``nothing``: no finite ε holds.
    epsilon
        The ε that accounting supports for everything that a party sends. This includes message
        times: which messages exist, and after which round each is sent. Infinite if no ε is
        supported.
    epsilon_contents
        The same for the contents of messages only, as if all message times were public.
    delta
        The δ of ``epsilon`` and of ``epsilon_contents``.
    mu
        The μ of Gaussian differential privacy of all events together, for contents. Infinite if no
        finite μ holds. Encryption has no μ.
    conditional_on
        Conditions of the claim, in short sentences.
    not_protected
        Limits of the claim.
    paper_claims
        The (ε, δ) that the paper states for this variant, if any.
    events
        The events that are charged. If each party has its own budget: the events of the least
        protected party.
    epsilon_each
        ε of the contents of each party's messages, if each party has its own budget.
        ``epsilon_contents`` is the largest of them.
    person
        The price of all records of one person together, if persons have several records and their
        number is known. The price is for contents, as ``epsilon_contents`` is. Where ``unit`` is a
        person at one party: the price of that person's records at all parties, if there are
        several.
    views
        The ε against each kind of attacker, where ε depends on the attacker. ``epsilon`` is for
        ``from_whom``.
    encrypted
        The protection by encryption, in a system that encrypts. Encryption costs nothing and has no
        ε.
    one_noise
        True if one noise covers the sum of all parties, as in secure sums. Then records at several
        parties cost as much as at one party: their prices add up. False if each party has noise of
        its
        own. All sums over parties, records, persons and ledgers use this field: see
        :meth:`several`.

    Raises
    ------
    ClaimError
        If ``unit`` is empty, an item of ``not_protected`` is not a :class:`Limit`, or the claim is
        below the price of ``events``: an ε of contents below theirs at ``delta``, or an ε of all
        messages below that of contents.
    """

    unit: str
    from_whom: str
    relation: Literal["replace-one", "add-remove", "replace-person"]
    holds_for: Literal["interactive", "fixed log", "nothing"]
    epsilon: float
    epsilon_contents: float
    delta: float
    mu: float
    conditional_on: tuple[str, ...] = ()
    not_protected: tuple[Limit, ...] = ()
    paper_claims: tuple[float, float] | None = None
    events: tuple[Event, ...] = ()
    encrypted: str = ""
    epsilon_each: tuple[float, ...] = ()
    person: PersonCost | None = None
    views: tuple[View, ...] = ()
    one_noise: bool = False

    def __post_init__(self) -> None:
        if not self.unit.strip():
            raise ClaimError(
                f"PrivacyClaim.unit: given {self.unit!r}, allowed: words that say what one record "
                "is, for example 'one visit of one patient'"
            )
        for place, limit in enumerate(self.not_protected):
            if not isinstance(limit, Limit):
                raise ClaimError(
                    f"PrivacyClaim.not_protected[{place}]: given {limit!r}, allowed: "
                    "fedbandits.privacy.claims.Limit(what, why)"
                )
        self._claims_what_is_charged()

    def _claims_what_is_charged(self) -> None:
        """Refuse a claim below the price that the accountant charges."""
        if math.isfinite(self.epsilon_contents) and not 0.0 <= self.delta < 1.0:
            raise ClaimError(f"PrivacyClaim.delta: given {self.delta}, allowed: 0 ≤ δ < 1")
        for name, least, why in (
            ("epsilon_contents", self._charged_epsilon(), "that its events cost"),
            ("epsilon", self.epsilon_contents, "of contents alone, epsilon_contents"),
        ):
            given = getattr(self, name)
            if not given >= least * (1.0 - _ROUNDING):
                raise ClaimError(
                    f"PrivacyClaim.{name}: given {_number(given)}, allowed: at least "
                    f"{_number(least)}, the ε {why} at δ = {self.delta:g}. Compute it with "
                    "fedbandits.privacy.accounting.epsilon, or add noise"
                )

    def _charged_epsilon(self) -> float:
        """Return ε of the events at δ; 0 without events, or without a finite claim."""
        if not self.events or not math.isfinite(self.epsilon_contents):
            return 0.0
        return epsilon_of_events(self.events, self.delta)

    def __repr__(self) -> str:
        return f"<PrivacyClaim: {self.headline}>"

    def _repr_html_(self) -> str:
        """Show the whole claim as a table, in a notebook."""
        rows = table((title, "\n".join(lines)) for title, lines in self.rows())
        return f"<p><b>{text(self.headline)}</b></p>{rows}"

    def promises_as(self, other: PrivacyClaim) -> bool:
        """Tell whether ``other`` makes the same claim; its texts may differ."""
        return self._promised() == other._promised()

    def _promised(self) -> tuple[object, ...]:
        """Return the promised fields. Of views only ε is promised: attackers are words."""
        views = frozenset(view.epsilon for view in self.views)
        return (*(getattr(self, name) for name in _PROMISED), views)

    def several(self, counts: Sequence[int]) -> float:
        """Return μ of records at several parties, with ``counts`` records at each party.

        A record is the unit of ``mu``: where persons are protected, all counted records of a person
        at one party.

        Examples
        --------
        >>> claim = PrivacyClaim(
        ...     unit="one visit", from_whom="all others", relation="replace-one",
        ...     holds_for="interactive", epsilon=1.0, epsilon_contents=1.0, delta=1e-5, mu=0.25,
        ... )
        >>> claim.several([1, 1, 1, 1])  # each party has noise of its own
        0.5
        >>> msgspec.structs.replace(claim, one_noise=True).several([1, 1, 1, 1])
        1.0
        """
        return gaussian.several((n * self.mu for n in counts if n), one_noise=self.one_noise)

    @property
    def protects_persons(self) -> bool:
        """True if ε is for all records of a person at once, not for one record."""
        return self.relation == "replace-person"

    @property
    def is_private(self) -> bool:
        """True if any finite ε is supported."""
        return math.isfinite(self.epsilon)

    @property
    def headline(self) -> str:
        """The claim in one line."""
        if self.is_private:
            person = ""
            if self.person:
                person = f"; a person with {self.person.counted_visits}: ε = {self.person.shown}"
            return (
                f"ε = {self.epsilon:.4g} at δ = {self.delta:g}, {self.holds_for}, "
                f"{self.relation}{person}"
            )
        if math.isfinite(self.epsilon_contents):
            return (
                "no finite ε: which messages there are depends on raw data "
                f"(contents alone: ε = {self.epsilon_contents:.4g} at δ = {self.delta:g})"
            )
        return self.encrypted or "no finite ε: statistics leave in clear"

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits of the claim, a few words each."""
        return tuple(limit.what for limit in self.not_protected)

    @property
    def noise(self) -> float:
        """Noise of the largest release: its standard deviation divided by the size of a record."""
        return max((relative_deviation(event) for event in self.events), default=0.0)

    def rows(self) -> list[tuple[str, list[str]]]:
        """Return the whole claim as pairs of a title and a text, for tables."""
        paper = [] if self.paper_claims is None else [self.paper_claims]
        rows: dict[str, list[str]] = {
            "privacy unit": [self.unit],
            "per person": [] if self.person is None else [self._per_person(self.person)],
            "from whom": [self.from_whom],
            "neighbours": [] if self.encrypted else [_RELATIONS[self.relation]],
            "holds for": [] if self.encrypted else [self._reach()],
            "protected by": [self.encrypted] if self.encrypted else [],
            "the paper claims": [f"ε = {epsilon:g}, δ = {delta:g}" for epsilon, delta in paper],
            "charged": _charged(self.events),
            "in total": [] if self.encrypted else self._totals(),
            "contents, by party": _by_party(self.epsilon_each),
            "by who looks": [f"{view.who}: ε = {_number(view.epsilon)}" for view in self.views],
            "conditional on": list(self.conditional_on),
            "not protected": [str(limit) for limit in self.not_protected],
        }
        return [(title, lines) for title, lines in rows.items() if lines]

    def _reach(self) -> str:
        changed = "those of the person" if self.protects_persons else "the one that changes"
        return _REACH[self.holds_for].format(changed=changed)

    def _per_person(self, person: PersonCost) -> str:
        return f"{person}." if self.is_private else f"For contents alone: {person}."

    def _totals(self) -> list[str]:
        exact, at = self.epsilon_contents, f"at δ = {self.delta:g}"
        lines = [f"μ = {_number(self.mu)}, ε = {_number(exact)} {at}"]
        basic = basic_epsilon(self.events, self.delta) if self.delta else math.inf
        if math.isfinite(basic) and not math.isclose(basic, exact, rel_tol=1e-6):
            lines.append(f"by basic composition, as papers add up: ε = {_number(basic)} {at}")
        return lines


def _charged(events: tuple[Event, ...]) -> list[str]:
    """List every event with its price. Equal events are listed once."""
    lines = []
    for event, count in Counter(events).items():
        price = "" if isinstance(event, Encrypted) else f": μ = {_number(mu(event))}"
        each = f"{count} times, each " if count > 1 else ""
        lines.append(f"{each}{describe(event)}{price}")
    return lines


def _by_party(epsilons: tuple[float, ...]) -> list[str]:
    """List parties by their ε, the least protected first."""
    lines = []
    for epsilon in sorted(set(epsilons), reverse=True):
        parties = ", ".join(
            str(i) for i, party_epsilon in enumerate(epsilons) if party_epsilon == epsilon
        )
        lines.append(f"ε = {_number(epsilon)}: {parties}")
    return lines


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
