"""What an FCLUB variant promises, derived from its parts."""

from __future__ import annotations

import math

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import (
    COMPUTING_SHOWS,
    IN_CLEAR,
    ITEMS_BOUNDED,
    OUTSIDE_THE_SERVER,
    UNPREDICTABLE_NOISE,
    UNROUNDED_SUMS,
    USER_INTERACTION,
)
from fedbandits.systems.fclub_published.config import Never, Phased, PublishedFCLUB
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

_COUNTS = "neighbours differ in what was recommended and its reward alone: the same users come when"
_PARTITION = (
    "the contents alone: that every partition into clusters, and when each upload happens, stay "
    "as they are when the record changes"
)
_SELF = "a user's interactions from that user's own server, which sees them in clear"
_TIMING = (
    "when messages are sent, and how many: the determinant triggers read raw data, so one record "
    f"can make a message exist; {COMPUTING_SHOWS}"
)
_MEMBERSHIP = (
    "who is in a cluster with whom: servers split clusters by raw data and report the members, and "
    "one record can move a user"
)
_LATER = (
    "the effect of a record on later recommendations, and so on later records: a server acts on "
    "raw data that it has not uploaded yet"
)
_TREES = (
    "a user whose cluster was split at what the paper states: it counts one tree, while every "
    "split begins a fresh one and the totals pass through it again; and a report may leave out "
    "records that the release before it has"
)


def claim(plan: PublishedFCLUBPlan) -> PrivacyClaim:
    """The claim of one server's users towards everybody else, for a whole run."""
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
            _COUNTS,
            *plan.facts.public,
            *((ITEMS_BOUNDED, _PARTITION, UNPREDICTABLE_NOISE) if private else ()),
        ),
        not_protected=_not_protected(config),
        paper_claims=(config.epsilon, config.delta) if private else None,
        events=plan.events,
    )


def _not_protected(config: PublishedFCLUB) -> tuple[str, ...]:
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
