"""Claim of a variant, derived from its parts."""

from __future__ import annotations

import math
from typing import Literal

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.person import PersonCost, person_cost
from fedbandits.privacy.statements import (
    IN_CLEAR,
    ITEMS_BOUNDED,
    ON_A_CLOCK,
    OUTSIDE_THE_SERVER,
    SAME_ARRIVALS,
    SECURE_NOISE,
    USER_INTERACTION,
    USER_PERSON,
    WHO_COMES,
    exact_sums,
    first_records,
)
from fedbandits.systems.fclub.plan import CLUSTERS, FCLUBPlan

_COUNTS = f"The rounds of releases are public and depend on no data. {SAME_ARRIVALS}"
_COUNTS_OF_A_PERSON = (
    "The rounds of releases are public and depend on no data. Neighbours differ only in one user's "
    "recommended items and their rewards: the same users arrive, and rewards come, at the same "
    "times."
)
_APART = "A record is only in its own user's sums, so users' releases do not add up."
_SUMMED = "A user is in one server's sums alone, so servers' releases do not add up."
_ONCE = "A record is only in one phase's sum of one cluster, so releases do not add up."
_PARTITION = "For the contents alone: clusters stay as they are when the record changes."
_SELF = Limit(
    "a user's interactions, from that user's own server and from its other users",
    "The server sees them in clear. Its other users see them as far as they show in what that "
    "server recommends.",
)
_LATER = Limit(
    "the effect of a record on later recommendations on its server",
    "The server acts on its own raw records. The guarantee is for a fixed log, whose other records "
    "stay as they are.",
)
_MEMBERSHIP = Limit(
    "how many clusters a server has, and whose records are in which",
    "Clusters are found in the raw data of earlier phases, and one record can move a user.",
)
_WHOLE_CLUSTERS = (
    "For the contents alone: clusters stay as they are when the records of a user change."
)
_MANY = Limit(
    "all of a user's records together",
    "The guarantee is for one interaction: k records in one phase cost k times μ.",
)


def claim(plan: FCLUBPlan) -> PrivacyClaim:
    """Return the claim of one server's users towards everybody else, for a whole run."""
    delta, events, persons = plan.config.delta, _events(plan), _persons(plan)
    same, mu = _COUNTS_OF_A_PERSON if persons else _COUNTS, total_mu(events)
    contents = gaussian.epsilon_of(mu, delta)
    exposed = math.isinf(mu) or (plan.releases == CLUSTERS and bool(events))
    return PrivacyClaim(
        unit=USER_PERSON if persons else USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-person" if persons else "replace-one",
        holds_for="nothing" if exposed else _reach(plan, events),
        epsilon=math.inf if exposed else contents,
        epsilon_contents=contents,
        delta=delta if events else 0.0,
        mu=mu,
        conditional_on=(same, *plan.facts.public, *_conditions(plan)),
        not_protected=_not_protected(plan),
        events=events,
        person=None if persons else _person(plan, mu),  # else ε is that of a person
    )


def _persons(plan: FCLUBPlan) -> bool:
    """Tell whether all records of a user are protected at once."""
    return plan.constants.records_per_person > 0


def _person(plan: FCLUBPlan, mu: float) -> PersonCost | None:
    """Price a person: a user is one, and comes again and again."""
    if not 0.0 < mu < math.inf:
        return None
    return person_cost(plan.rounds / plan.facts.parties, mu, plan.config.delta)


def _reach(
    plan: FCLUBPlan, events: tuple[Event, ...]
) -> Literal["interactive", "fixed log", "nothing"]:
    """Say what it holds for: interactive data if servers act on releases alone, or are silent."""
    return "interactive" if plan.config.local_view == "released" or not events else "fixed log"


def _events(plan: FCLUBPlan) -> tuple[Event, ...]:
    """Return what one record is charged for."""
    return (plan.event(),) if plan.release_count else ()


def _conditions(plan: FCLUBPlan) -> tuple[str, ...]:
    if not plan.private:
        return ()
    whose = (_ONCE, _PARTITION) if plan.releases == CLUSTERS else (_APART,)
    if _persons(plan):
        k = plan.constants.records_per_person
        also = (_WHOLE_CLUSTERS,) if plan.releases == CLUSTERS else ()
        whose = (first_records(k), _SUMMED, *also)
    return (ITEMS_BOUNDED, *whose, SECURE_NOISE, ON_A_CLOCK, exact_sums(plan.rounds))


def _not_protected(plan: FCLUBPlan) -> tuple[Limit, ...]:
    limits = [_SELF]
    if plan.release_count and not plan.private:
        limits.append(IN_CLEAR)
    if plan.release_count and plan.releases == CLUSTERS:
        limits.append(_MEMBERSHIP)
    if plan.private:
        limits += [_LATER] if plan.config.local_view == "raw" else []
        limits.append(WHO_COMES if _persons(plan) else _MANY)
    return tuple(limits)
