"""What a learner in plain Python promises: nothing leaves, or it leaves in clear."""

from __future__ import annotations

import math

from fedbandits.privacy.accounting import Clear
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import AGENT_INTERACTION, IN_CLEAR, OWN_RECORDS
from fedbandits.systems.python_learners.plan import LearnerPlan


def claim(plan: LearnerPlan) -> PrivacyClaim:
    """The claim of one agent for a whole run."""
    shares = plan.size > 0
    epsilon = math.inf if shares else 0.0
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="everybody but the agent itself",
        relation="replace-one",
        holds_for="nothing" if shares else "interactive",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=0.0,
        mu=epsilon,
        conditional_on=plan.facts.public,
        not_protected=(OWN_RECORDS, IN_CLEAR) if shares else (OWN_RECORDS,),
        events=(Clear(),) if shares else (),
    )
