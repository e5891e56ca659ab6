"""Sentences that the claims of several systems share.

A sentence about what is *not* protected names it in its first clause, before any comma, colon or
bracket: tables show that clause alone (:attr:`.claims.PrivacyClaim.limits`).
"""

from __future__ import annotations

#: A condition of noise that a party takes from a source that covers values.
SECURE_NOISE = (
    "the noise is unpredictable, exact on a grid and drawn ahead of its release, as secure noise "
    "is in a deployment; in a simulation it is floating point and comes from the seed, which "
    "protects nobody, and systems of one experiment share its draws"
)
#: What claims mean by message times.
MESSAGE_TIMES = (
    "message times included: which messages there are, and the round at whose end each leaves"
)
#: A condition where releases leave at the ends of rounds that are fixed in advance.
ON_A_CLOCK = (
    "a public clock tells a party that a round is over, after all its computing of that round; the "
    "message then leaves at once: times are rounds, and within one a clock on the wire shows no "
    "more than arithmetic that takes as long whatever the data"
)
#: Not protected, where data decide when messages are sent.
COMPUTING_SHOWS = "how long a party computes before it sends depends on raw data too"
#: The same where sums are on no grid, and times are not protected; see UNROUNDED_SUMS.
UNPREDICTABLE_NOISE = (
    "the noise is unpredictable and exact on a grid, as secure noise is in a deployment; in a "
    "simulation it is floating point and comes from the seed, which protects nobody, and systems "
    "of one experiment share its draws"
)
#: Not protected then.
UNROUNDED_SUMS = (
    "what rounding adds to a record in sums that are on no grid: noise of a paper's constant has "
    "no room for it"
)

#: Not protected where there is no noise.
IN_CLEAR = "anything that is sent: statistics leave in clear"

#: Units.
AGENT_INTERACTION = "one interaction (the chosen action, its context and its reward) of one agent"
USER_INTERACTION = (
    "one interaction (x, y): the recommended item and its reward, in one round of one user"
)
#: From whom, where users belong to servers.
OUTSIDE_THE_SERVER = (
    "everybody outside the user's server: the other servers and the global server together"
)
#: A condition, where users belong to servers.
ITEMS_BOUNDED = "‖x‖ ≤ 1 and 0 ≤ y ≤ 1, as the environment sees to"


def exact_sums(records: int) -> str:
    """A condition of calibrated noise: sums hold no more records than rounding has room for."""
    return (
        f"a released sum holds at most {records:,} records, one a round: sums of so many are "
        "exact, and the noise has room for all other rounding"
    )
