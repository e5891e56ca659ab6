"""Facts for a privacy officer, in plain words: a card for each system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fedbandits.experiments.audits.verdict import Audit, Verdict
from fedbandits.experiments.intervals import spelled_epsilon
from fedbandits.privacy.claims import PrivacyClaim, View
from fedbandits.privacy.error_rates import gaussian_power
from fedbandits.privacy.person import PersonCost, cost_at_parties, person_cost

#: Share of false alarms at which the power of tests is stated.
ALARMS = 0.05
#: Least ε of a person that means no protection in practice: e^10 is 22,026.
_NO_PROTECTION = 10.0
#: Least power of a test that means weak protection: the test finds every second person.
_WEAK_POWER = 0.5
#: Visits of a person in an example, if their number is not known.
_EXAMPLE = 10
_COST_OF_PERSONS = (
    "Noise grows with the number of records of a person that count. What that costs in regret is "
    "shown by the same experiment with --sweep systems.N.records_per_person=1,4,16, where N is the "
    "system's place in the file, from 0: one table and one plot."
)


class Card(NamedTuple):
    """Card of one system for the officer."""

    label: str
    kind: str  # the style: sound, broken, or in clear
    short: str  # the protection in a few words
    row: tuple[str, ...]  # cells of the table of all systems
    lines: tuple[tuple[str, str | list[str]], ...]  # titles, each with its text, or a list of texts


def officer_cards(claims: Mapping[str, PrivacyClaim], audit: Audit | None) -> list[Card]:
    """Make a card for each system.

    Claims are named by the labels of systems. An audit adds the findings of attacks.
    """
    verdicts = {} if audit is None else {verdict.system: verdict for verdict in audit.verdicts}
    cards = []
    for label, claim in claims.items():
        verdict = verdicts.get(label)
        row, lines = _row(label, claim, verdict), tuple(_lines(claim, verdict))
        cards.append(Card(label, kind_of(claim), _in_short(claim), row, lines))
    return cards


def _row(label: str, claim: PrivacyClaim, verdict: Verdict | None) -> tuple[str, ...]:
    at_most = "at most " if claim.protects_persons else ""
    power = "–"
    if claim.is_private:
        power = f"{gaussian_power(ALARMS, claim.mu):.1%}" if claim.events else f"{ALARMS:.1%}"
    attacked = "not yet" if verdict is None else verdict.outcome
    return label, at_most + _record_cell(claim), _person_cell(claim), power, attacked


def _record_cell(claim: PrivacyClaim) -> str:
    accounted = spelled_epsilon(math.nan if claim.encrypted else claim.epsilon)
    worst = max((view.epsilon for view in claim.views), default=0.0)
    if worst <= claim.epsilon:
        return accounted
    return f"{accounted} (at worst {spelled_epsilon(worst)})"


def _person_cell(claim: PrivacyClaim) -> str:
    if claim.encrypted:
        return "encrypted"
    if not claim.is_private:
        return "∞"
    if claim.protects_persons and claim.person is None:
        return f"{claim.epsilon:.4g}"
    if claim.person is not None:
        return f"{claim.person.shown} ({claim.person.counted_visits})"
    return "not known" if claim.events else "0"


def kind_of(claim: PrivacyClaim) -> str:
    """Choose the style of a claim's card: sound, broken, or in clear."""
    return (
        ""
        if claim.is_private or claim.encrypted
        else " broken"
        if claim.mu < math.inf
        else " clear"
    )


def _in_short(claim: PrivacyClaim) -> str:
    if claim.encrypted:
        return "encrypted"
    if not claim.is_private:
        return "no protection that could be promised" if claim.mu < math.inf else "no protection"
    return "protected by noise" if claim.events else "nothing leaves"


def _lines(claim: PrivacyClaim, verdict: Verdict | None) -> Iterator[tuple[str, str | list[str]]]:
    """Write the titles of a card, each with the text beside it."""
    yield "who is protected", _sentence(claim.unit)
    yield "from whom", _sentence(claim.from_whom)
    protected = "person" if claim.protects_persons else "record"
    yield f"how much, one {protected}", _per_record(claim)
    if claim.views:
        yield "by who looks", list(map(_view, claim.views))
    person = _per_person(claim)
    if person:
        everywhere = ", at all parties together" if claim.protects_persons else ""
        yield f"how much, one person{everywhere}", person
    if claim.protects_persons and claim.is_private and claim.events:
        yield "what that costs", _COST_OF_PERSONS
    yield "not protected", list(map(_sentence, claim.limits))
    yield "attacked?", _attacked(verdict)


def _per_record(claim: PrivacyClaim) -> str:
    if claim.encrypted:
        return f"{_sentence(claim.encrypted)} There is no ε: who breaks the encryption sees all."
    if not claim.is_private:
        return _no_promise(claim)
    if not claim.events:
        return "ε = 0: nothing is sent, so messages tell nothing."
    protected = "person" if claim.protects_persons else "record"
    return (
        f"ε = {claim.epsilon:.4g} at δ = {claim.delta:g}. {_observer(claim)} changes the "
        f"odds of any guess by a factor of at most e^ε = {_factor(claim.epsilon)}, except with "
        f"probability about {claim.delta:g}. A test with {ALARMS:.0%} false alarms finds the "
        f"{protected} in at most {gaussian_power(ALARMS, claim.mu):.1%} of cases."
    )


def _observer(claim: PrivacyClaim) -> str:
    """Name the observer of the ε, who depends on the claim's views."""
    return "Whoever is named above" if claim.views else "Whoever sees all messages"


def _view(view: View) -> str:
    """Write the ε of one kind of attacker."""
    weak = view.epsilon >= _NO_PROTECTION
    verdict = ". This is practically no protection" if weak else ""
    return _sentence(f"{view.who}: ε = {spelled_epsilon(view.epsilon)}{verdict}")


def _no_promise(claim: PrivacyClaim) -> str:
    if math.isinf(claim.epsilon_contents):
        return "Nothing is promised: statistics leave in clear, without noise (ε = ∞)."
    paper = ""
    if claim.paper_claims is not None:
        paper = f" The paper states ε = {claim.paper_claims[0]:g}; that does not hold."
    return (
        "Nothing is promised: which messages there are depends on raw data, so no finite ε holds."
        f"{paper} If everybody might know these messages' times, contents would cost "
        f"ε = {claim.epsilon_contents:.4g}."
    )


def _per_person(claim: PrivacyClaim) -> str:
    if claim.encrypted or not claim.is_private or not claim.events or math.isinf(claim.mu):
        return ""
    if claim.protects_persons and claim.person is None:
        return ""
    if claim.person is not None:
        return f"{_sentence(str(claim.person))} {_worth(claim.person)}"
    example = person_cost(_EXAMPLE, claim.mu, claim.delta)
    apart = cost_at_parties([1] * _EXAMPLE, claim.mu, claim.delta, one_noise=claim.one_noise)
    why = ", since one noise covers all parties" if claim.one_noise else ""
    return (
        "It is not known how many records a person has; each counts. For example "
        f"{_EXAMPLE} records at one party cost ε = {example.shown}, and one at each of {_EXAMPLE} "
        f"parties ε = {apart.shown}{why}. {_worth(example)}"
    )


def _worth(person: PersonCost) -> str:
    """Describe the protection of a person by the power of the best test."""
    power = gaussian_power(ALARMS, person.mu)
    finds = (
        f"A test with {ALARMS:.0%} false alarms may find such a person in up to {power:.1%} of "
        "cases"
    )
    if person.epsilon >= _NO_PROTECTION:
        return f"This gives the person practically no protection. {finds}."
    if power >= _WEAK_POWER:
        return f"This is weak protection of the person. {finds}."
    return f"{finds}."


_NOT_ATTACKED = {
    "nothing claimed": "No: no ε is claimed, so there is nothing to put to the test.",
    "nothing leaves": "No: by its claim nothing leaves a party, so there is nothing to attack.",
    "not attacked": "No: the system brings no attack that would put its claim to the test.",
}


def _attacked(verdict: Verdict | None) -> str:
    """Describe the findings of an audit, without technical terms."""
    if verdict is None:
        return "Not attacked yet. Run: fedbandits audit CONFIG.toml"
    if verdict.outcome in _NOT_ATTACKED:
        return _NOT_ATTACKED[verdict.outcome]
    if verdict.examined is not None:
        return _sentence(verdict.line.removeprefix(f"{verdict.system}: "))
    if verdict.outcome == "holds":
        return (
            f"Yes. No attack showed more than ε = {verdict.epsilon:.3g}; the best showed that ε is "
            f"at least {verdict.epsilon_low:.3g}. That is evidence, not proof."
        )
    if verdict.epsilon_low > verdict.epsilon:
        return (
            f"Yes, and the claim is broken: attacks showed that ε is at least "
            f"{verdict.epsilon_low:.3g}, where {verdict.claimed_by} claims {verdict.epsilon:.3g}."
        )
    return "Yes, and the claim is broken: see the audit below."


def _factor(epsilon: float) -> str:
    if epsilon > 20.0:
        return f"10^{epsilon / math.log(10.0):.0f}"
    return f"{math.exp(epsilon):,.3g}" if epsilon < 6.0 else f"{math.exp(epsilon):,.0f}"


def _sentence(text: str) -> str:
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return f"{ended[0].upper()}{ended[1:]}" if not ended.startswith(("ε", "μ")) else ended
