"""Privacy claim of asynchronous FedLinUCB: nothing is promised, and it says so."""

from __future__ import annotations

import math

from fedbandits.privacy.accounting import Clear
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.statements import AGENT_INTERACTION, COMPUTING_SHOWS
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan


def claim(plan: AsyncPlan) -> PrivacyClaim:
    """Return the claim of one agent towards everyone else, for a whole run."""
    return PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="nobody: agents exchange sums of their records in clear",
        relation="replace-one",
        holds_for="nothing",
        epsilon=math.inf,
        epsilon_contents=math.inf,
        delta=0.0,
        mu=math.inf,
        conditional_on=plan.facts.public,
        not_protected=(
            Limit(
                "anything, from the server",
                "An agent uploads the exact sum of its few newest records, often of a single one.",
            ),
            Limit("other agents' sums, from an agent", "An agent downloads the exact total."),
            Limit(
                "when messages are sent",
                f"The determinant trigger reads raw data. {COMPUTING_SHOWS}",
            ),
        ),
        events=(Clear(),),
    )
