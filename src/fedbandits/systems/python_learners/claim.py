"""Claim of a learner in plain Python: nothing leaves, it leaves in clear, or under noise."""

from __future__ import annotations

import math

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import (
    AGENT_INTERACTION,
    IN_CLEAR,
    NEVER_BACK,
    ON_A_CLOCK,
    OWN_RECORDS,
    SECURE_NOISE,
    a_person,
    at_several_agents,
    exact_sums,
)
from fedbandits.systems.agents.claim import per_person
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.secure_claim import claim_sums

_PUBLIC = (
    "These are public: who takes part, how many rounds each plays, and record_bound.",
    "The rounds at whose end agents release are fixed in advance and public.",
)
_RECORD = (
    "The learner's record follows from its arguments alone, on a learner that has learned nothing. "
    "It may not change the learner, its class or its module. What its code keeps elsewhere, nobody "
    "can check."
)
_DECIDE = (
    "The learner's decide follows from its arguments and from what it has received. It may not "
    "change the learner, its class or its module. What its code keeps elsewhere, nobody can check."
)
_REFUSAL = "Every record of both neighbours keeps record_bound. If one does not, the run stops."
_LATER = Limit(
    "the effect of a record on later decisions of its own agent",
    "The agent learns from its own records at once. The guarantee is for a fixed log, whose other "
    "records stay as they are.",
)


def claim(plan: LearnerPlan) -> PrivacyClaim:
    """Return the claim of one agent for a whole run."""
    shares, in_clear = plan.release.releases > 0, plan.release.mechanism == "none"
    private = shares and not in_clear
    raw = private and plan.learner.sees_own_records()
    events = (plan.event(),) if shares else ()
    mu, delta = total_mu(events), plan.config.delta if private else 0.0
    epsilon = gaussian.epsilon_of(mu, delta) if private else mu
    one_noise = plan.secure is not None
    person = per_person(plan.facts, plan.rounds, mu, delta, one_noise) if private else None
    claimed = PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="everybody but the agent itself",
        relation="replace-one",
        holds_for="nothing" if math.isinf(mu) else "fixed log" if raw else "interactive",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=delta,
        mu=mu,
        conditional_on=_conditions(plan, raw) if private else plan.facts.public,
        not_protected=(
            OWN_RECORDS,
            *((IN_CLEAR,) if shares and in_clear else ()),
            *((_LATER,) if raw else ()),
            *((_several(one_noise) if person is None else a_person(one_noise),) if private else ()),
        ),
        events=events,
        person=person,
        one_noise=one_noise,
    )
    if plan.secure is None:
        return claimed
    return claim_sums(claimed, plan.secure, plan.facts.parties, "agents")


def _several(one_noise: bool) -> Limit:
    return Limit(
        "a person with several interactions",
        f"The guarantee is for one interaction. {at_several_agents(one_noise)}",
    )


def _conditions(plan: LearnerPlan, raw: bool) -> tuple[str, ...]:
    decide = () if raw else (_DECIDE,)
    refusal = (_REFUSAL,) if plan.config.out_of_bounds == "refuse" else ()
    return (
        *_PUBLIC, *plan.facts.public, _RECORD, *decide, *refusal, SECURE_NOISE, NEVER_BACK,
        exact_sums(plan.rounds), ON_A_CLOCK,
    )  # fmt: skip
