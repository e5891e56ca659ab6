"""Claim of a learner in plain Python: nothing leaves, it leaves in clear, or under noise."""

from __future__ import annotations

import math

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import (
    A_PERSON,
    AGENT_INTERACTION,
    IN_CLEAR,
    ON_A_CLOCK,
    OWN_RECORDS,
    SECURE_NOISE,
    exact_sums,
)
from fedbandits.systems.agents.claim import per_person
from fedbandits.systems.python_learners.plan import LearnerPlan

_EVERYBODY = "everybody but the agent itself"
_PUBLIC = (
    "These are public: who takes part, how many rounds each plays, and record_bound.",
    "The rounds at whose end agents release are fixed in advance and public.",
)
_RECORD = (
    "The learner's record follows from its arguments alone. It is called on a learner that has "
    "learned nothing, and may not change it. What its code keeps elsewhere, nobody can check."
)
_DECIDE = (
    "The learner's decide follows from its arguments and from what it has received. It may not "
    "change the learner. What its code keeps elsewhere, nobody can check."
)
_REFUSAL = "Every record of both neighbours keeps record_bound. If one does not, the run stops."
_LATER = Limit(
    "the effect of a record on later decisions of its own agent",
    "The agent learns from its own records at once. The guarantee is for a fixed log, whose other "
    "records stay as they are.",
)
_SEVERAL = Limit(
    "a person with several interactions",
    "The guarantee is for one interaction. Each of a person's counts: k of them cost k times μ.",
)


def claim(plan: LearnerPlan) -> PrivacyClaim:
    """Return the claim of one agent for a whole run."""
    if not plan.release.releases:
        return _nothing_leaves(plan)
    return _in_clear(plan) if plan.release.mechanism == "none" else _under_noise(plan)


def _nothing_leaves(plan: LearnerPlan) -> PrivacyClaim:
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=_EVERYBODY,
        relation="replace-one",
        holds_for="interactive",
        epsilon=0.0,
        epsilon_contents=0.0,
        delta=0.0,
        mu=0.0,
        conditional_on=plan.facts.public,
        not_protected=(OWN_RECORDS,),
    )


def _in_clear(plan: LearnerPlan) -> PrivacyClaim:
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=_EVERYBODY,
        relation="replace-one",
        holds_for="nothing",
        epsilon=math.inf,
        epsilon_contents=math.inf,
        delta=0.0,
        mu=math.inf,
        conditional_on=plan.facts.public,
        not_protected=(OWN_RECORDS, IN_CLEAR),
        events=(Clear(),),
    )


def _under_noise(plan: LearnerPlan) -> PrivacyClaim:
    events, raw = (plan.event(),), plan.learner.sees_own_records()
    mu, delta = total_mu(events), plan.config.delta
    epsilon = gaussian.epsilon_of(mu, delta)
    person = per_person(plan.facts, plan.rounds, mu, delta)
    persons = _SEVERAL if person is None else A_PERSON
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom=_EVERYBODY,
        relation="replace-one",
        holds_for="fixed log" if raw else "interactive",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=delta,
        mu=mu,
        conditional_on=_conditions(plan, raw),
        not_protected=(OWN_RECORDS, _LATER, persons) if raw else (OWN_RECORDS, persons),
        events=events,
        person=person,
    )


def _conditions(plan: LearnerPlan, raw: bool) -> tuple[str, ...]:
    decide = () if raw else (_DECIDE,)
    refusal = (_REFUSAL,) if plan.config.out_of_bounds == "refuse" else ()
    return (
        *_PUBLIC, *plan.facts.public, _RECORD, *decide, *refusal, SECURE_NOISE,
        exact_sums(plan.rounds), ON_A_CLOCK,
    )  # fmt: skip
