"""Claim of a published FCLUB variant, derived from its parts."""

from __future__ import annotations

import math

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import (
    COMPUTING_SHOWS,
    IN_CLEAR,
    ITEMS_BOUNDED,
    OUTSIDE_THE_SERVER,
    SAME_ARRIVALS,
    UNPREDICTABLE_NOISE,
    UNROUNDED_SUMS,
    USER_INTERACTION,
)
from fedbandits.systems.fclub_published.config import Never, Phased, PublishedFCLUB
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

_PARTITION = (
    "For the contents alone: every partition into clusters, and the time of each upload, stay as "
    "they are when the record changes."
)
_SELF = Limit(
    "a user's interactions, from that user's own server", "The server sees them in clear."
)
_TIMING = Limit(
    "when messages are sent, and how many",
    "The determinant triggers read raw data, so one record can make a message exist. "
    f"{COMPUTING_SHOWS}",
)
_MEMBERSHIP = Limit(
    "who is in a cluster with whom",
    "Servers split clusters by raw data and report the members. One record can move a user.",
)
_LATER = Limit(
    "the effect of a record on later recommendations, and so on later records",
    "A server acts on raw data that it has not uploaded yet.",
)
_TREES = Limit(
    "a user whose cluster was split, at the ε that the paper states",
    "The paper counts one tree. But every split begins a fresh tree, and the totals pass through "
    "it again. Also, a report may leave out records that the release before it has.",
)


def claim(plan: PublishedFCLUBPlan) -> PrivacyClaim:
    """Return the claim of one server's users towards everybody else, for a whole run."""
    config: PublishedFCLUB = plan.config
    silent, private = isinstance(config.sharing, Never), config.is_private
    mu = total_mu(plan.events)
    return PrivacyClaim(
        unit=USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-one",
        holds_for="interactive" if silent else "nothing",
        epsilon=0.0 if silent else math.inf,
        epsilon_contents=gaussian.epsilon_of(mu, config.delta) if private or silent else math.inf,
        delta=config.delta if private else 0.0,
        mu=mu,
        conditional_on=(
            SAME_ARRIVALS,
            *plan.facts.public,
            *((ITEMS_BOUNDED, _PARTITION, UNPREDICTABLE_NOISE) if private else ()),
        ),
        not_protected=_not_protected(config),
        paper_claims=(config.epsilon, config.delta) if private else None,
        events=plan.events,
    )


def _not_protected(config: PublishedFCLUB) -> tuple[Limit, ...]:
    if isinstance(config.sharing, Never):
        return (_SELF,)
    limits = [_SELF]
    if not config.is_private:
        limits.append(IN_CLEAR)
    limits.append(_TIMING)
    if isinstance(config.clustering, Phased):
        limits.append(_MEMBERSHIP)
    if config.is_private:
        limits.append(_TREES)
        if config.acts_on == "buffered":
            limits.append(_LATER)
        limits.append(UNROUNDED_SUMS)
    return tuple(limits)
