"""What is promised, to whom, and what is not."""

from __future__ import annotations

import math

from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import (
    AGENT_INTERACTION,
    IN_CLEAR,
    ON_A_CLOCK,
    OWN_RECORDS,
    SECURE_NOISE,
    exact_sums,
)

from .plan import GreedyPlan

_PUBLIC = "Who takes part, how many rounds each plays and the range of rewards are public."
_PERSON = Limit(
    "a person who is served several times",
    "Each interaction counts. k interactions of one person cost k times μ.",
)


def claim(plan: GreedyPlan) -> PrivacyClaim:
    """The claim of one agent towards everybody else, for a whole run."""
    event = plan.event(len(plan.ends))
    epsilon, mu = plan.epsilon_of(len(plan.ends)), total_mu([event])
    private = math.isfinite(epsilon)
    conditions = (_PUBLIC, SECURE_NOISE, exact_sums(plan.rounds), ON_A_CLOCK)
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="the adder and all other agents together, from all messages ever sent",
        relation="replace-one",
        holds_for="interactive" if private else "nothing",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=plan.config.delta,
        mu=mu,
        conditional_on=(*(conditions if private else ()), *plan.facts.public),
        not_protected=(OWN_RECORDS, _PERSON if private else IN_CLEAR),
        events=(event,),
    )
