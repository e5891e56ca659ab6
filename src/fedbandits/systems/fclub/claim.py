"""Claim of a variant, derived from its parts."""

from __future__ import annotations

import math

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.person import person_cost
from fedbandits.privacy.statements import (
    IN_CLEAR,
    ITEMS_BOUNDED,
    NEVER_BACK,
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
    "The guarantee is for one interaction: k records in one phase cost k times μ. Servers draw "
    "their noise independently: a person with n records at each of several costs √(Σ n²) times μ.",
)


def claim(plan: FCLUBPlan) -> PrivacyClaim:
    """Return the claim of one server's users towards everybody else, for a whole run."""
    delta, events = plan.config.delta, (plan.event(),) if plan.release_count else ()
    persons, mu = plan.constants.records_per_person > 0, total_mu(events)
    contents = gaussian.epsilon_of(mu, delta)
    exposed = math.isinf(mu) or (plan.releases == CLUSTERS and bool(events))
    interactive = plan.config.local_view == "released" or not events
    person = None
    if not persons and 0.0 < mu < math.inf:  # a user is a person, and comes again and again
        person = person_cost(plan.rounds / plan.facts.parties, mu, delta)
    same = _COUNTS_OF_A_PERSON if persons else _COUNTS
    return PrivacyClaim(
        unit=USER_PERSON if persons else USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-person" if persons else "replace-one",
        holds_for="nothing" if exposed else "interactive" if interactive else "fixed log",
        epsilon=math.inf if exposed else contents,
        epsilon_contents=contents,
        delta=delta if events else 0.0,
        mu=mu,
        conditional_on=(same, *plan.facts.public, *_conditions(plan, persons)),
        not_protected=_not_protected(plan, persons),
        events=events,
        person=person,
    )


def _conditions(plan: FCLUBPlan, persons: bool) -> tuple[str, ...]:
    if not plan.private:
        return ()
    by_cluster = plan.releases == CLUSTERS
    whose: tuple[str, ...] = (_ONCE, _PARTITION) if by_cluster else (_APART,)
    if persons:
        also = (_WHOLE_CLUSTERS,) if by_cluster else ()
        whose = (first_records(plan.constants.records_per_person), _SUMMED, *also)
    return (ITEMS_BOUNDED, *whose, SECURE_NOISE, NEVER_BACK, ON_A_CLOCK, exact_sums(plan.rounds))


def _not_protected(plan: FCLUBPlan, persons: bool) -> tuple[Limit, ...]:
    limits = [_SELF]
    if plan.release_count and not plan.private:
        limits.append(IN_CLEAR)
    if plan.release_count and plan.releases == CLUSTERS:
        limits.append(_MEMBERSHIP)
    if plan.private:
        limits += [_LATER] if plan.config.local_view == "raw" else []
        limits.append(WHO_COMES if persons else _MANY)
    return tuple(limits)
