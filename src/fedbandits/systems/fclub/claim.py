"""What a variant promises, derived from its parts."""

from __future__ import annotations

import math
from typing import Literal

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, total_mu
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import (
    IN_CLEAR,
    ITEMS_BOUNDED,
    ON_A_CLOCK,
    OUTSIDE_THE_SERVER,
    SECURE_NOISE,
    USER_INTERACTION,
    exact_sums,
)
from fedbandits.systems.fclub.plan import CLUSTERS, FCLUBPlan

_COUNTS = (
    "the rounds of releases are public and depend on no data; neighbours differ in what was "
    "recommended and its reward alone: the same users come when they came"
)
_APART = "a record is in its own user's sums alone, so users' releases do not add up"
_ONCE = "a record is in one phase's sum of one cluster alone, so releases do not add up"
_PARTITION = "the contents alone: that clusters stay as they are when the record changes"
_SELF = (
    "a user's interactions from that user's own server, which sees them in clear, and, as far as "
    "they show in what that server recommends, from its other users"
)
_LATER = (
    "the effect of a record on later recommendations on its server, which acts on its own raw "
    "records: the guarantee is for a log whose other records stay as they are"
)
_MEMBERSHIP = (
    "how many clusters a server has and whose records are in which: found in the raw data of "
    "earlier phases, and one record can move a user"
)
_MANY = "all of a user's records together: k records in one phase cost k times μ"


def claim(plan: FCLUBPlan) -> PrivacyClaim:
    """The claim of one server's users towards everybody else, for a whole run."""
    delta, events = plan.config.delta, _events(plan)
    mu = total_mu(events)
    contents = gaussian.epsilon_of(mu, delta)
    exposed = math.isinf(mu) or (plan.releases == CLUSTERS and bool(events))
    return PrivacyClaim(
        unit=USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-one",
        holds_for="nothing" if exposed else _reach(plan, events),
        epsilon=math.inf if exposed else contents,
        epsilon_contents=contents,
        delta=delta if events else 0.0,
        mu=mu,
        conditional_on=(_COUNTS, *plan.facts.public, *_conditions(plan)),
        not_protected=_not_protected(plan),
        events=events,
    )


def _reach(
    plan: FCLUBPlan, events: tuple[Event, ...]
) -> Literal["interactive", "fixed log", "nothing"]:
    """Whoever acts on releases alone, or releases nothing, is safe from reactions."""
    return "interactive" if plan.config.local_view == "released" or not events else "fixed log"


def _events(plan: FCLUBPlan) -> tuple[Event, ...]:
    """What one record is charged for."""
    return (plan.event(),) if plan.release_count else ()


def _conditions(plan: FCLUBPlan) -> tuple[str, ...]:
    if not plan.private:
        return ()
    if plan.releases == CLUSTERS:
        return (ITEMS_BOUNDED, _ONCE, _PARTITION, SECURE_NOISE, ON_A_CLOCK, exact_sums(plan.rounds))
    return (ITEMS_BOUNDED, _APART, SECURE_NOISE, ON_A_CLOCK, exact_sums(plan.rounds))


def _not_protected(plan: FCLUBPlan) -> tuple[str, ...]:
    limits = [_SELF]
    if plan.release_count and not plan.private:
        limits.append(IN_CLEAR)
    if plan.release_count and plan.releases == CLUSTERS:
        limits.append(_MEMBERSHIP)
    if plan.private:
        limits += [_LATER] if plan.config.local_view == "raw" else []
        limits.append(_MANY)
    return tuple(limits)
