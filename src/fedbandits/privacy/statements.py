"""Sentences that the claims of several systems share, for a privacy officer.

Sentences are short, the conclusion first. Tests check the sentences of every claim.
"""

from __future__ import annotations

from fedbandits.privacy.claims import Limit

#: A condition on the noise of a source that covers values.
SECURE_NOISE = (
    "The noise is unpredictable, exact on a grid, and drawn before its release is due. In a "
    "deployment, secure noise is all of this. In a simulation it is not: noise is floating point "
    "and comes from the seed, systems of one experiment share its draws, and it protects nobody."
)
#: A condition: no release is repeated with other noise.
NEVER_BACK = (
    "No machine is restored as a whole to a state older than its last message. A store that is "
    "restored alone is refused, or pays once more for all messages that may have left."
)
#: The meaning of message times in claims.
MESSAGE_TIMES = (
    "message times included (which messages exist, and at the end of which round each leaves)"
)
#: A condition where releases leave at the ends of rounds that are fixed in advance.
ON_A_CLOCK = (
    "A public clock tells a party that a round is over, after all its computing of that round. "
    "The message then leaves at once, so its time shows the round and no more: the arithmetic "
    "that is left takes equally long for all data."
)
#: Not protected, where data decide about the times of messages.
COMPUTING_SHOWS = "How long a party computes before it sends depends on raw data too."
#: A condition like SECURE_NOISE, for sums on no grid and unprotected times; see UNROUNDED_SUMS.
UNPREDICTABLE_NOISE = (
    "The noise is unpredictable and exact on a grid. In a deployment, secure noise is both. In a "
    "simulation it is not: noise is floating point and comes from the seed, systems of one "
    "experiment share its draws, and it protects nobody."
)
#: Not protected by noise with a paper's constant.
UNROUNDED_SUMS = Limit(
    "the effect of rounding on a record",
    "The sums are on no grid, so rounding can enlarge the effect of one record. "
    "Noise with a paper's constant has no room for that.",
)

#: Not protected without noise.
IN_CLEAR = Limit("anything that is sent", "Statistics leave in clear, without noise.")

#: Not protected in any system of agents.
OWN_RECORDS = Limit(
    "an agent's own records, from that agent",
    "The agent sees them. The person for whom a decision is made sees that decision.",
)

#: Units of privacy.
AGENT_INTERACTION = "one interaction (the chosen action, its context and its reward) of one agent"
#: The unit where persons are protected.
AGENT_PERSON = "a person: all records of that person at one agent"
USER_INTERACTION = (
    "one interaction (the recommended item x and its reward y) of one user in one round"
)
#: The unit where users of servers are protected.
USER_PERSON = "a user: all records of that user"
#: Not protected, where the unit is a person.
WHO_COMES = Limit(
    "that a person comes, and when",
    "Only the content of a person's records is protected.",
)
#: The attacker, where users belong to servers.
OUTSIDE_THE_SERVER = (
    "everybody outside the user's server: the other servers and the global server together"
)
#: A condition, where users belong to servers.
ITEMS_BOUNDED = "‖x‖ ≤ 1 and 0 ≤ y ≤ 1. The environment makes sure of this."
#: A condition, where users arrive.
SAME_ARRIVALS = (
    "Neighbours differ only in one recommended item and its reward: the same users arrive, and "
    "rewards come, at the same times."
)


def at_several_agents(one_noise: bool) -> str:
    """Return the price of one person's records, with one noise or with independent noise."""
    if one_noise:
        return "k records cost k times μ, wherever they are: one noise covers all of them."
    return (
        "k records at one agent cost k times μ, and n at each of several agents √(Σ n²) times μ: "
        "their noise is independent."
    )


def a_person(one_noise: bool) -> Limit:
    """Return the limit of claims about one visit, where persons have several records."""
    return Limit(
        "a person rather than a visit",
        f"The guarantee is for one visit. {at_several_agents(one_noise)} The price per person "
        "is stated.",
    )


def several_agents(one_noise: bool) -> Limit:
    """Return the limit for claims that protect persons at each agent by itself."""
    price = (
        "One noise covers all of them: records at j agents cost up to j times μ."
        if one_noise
        else "Their noise is independent: records at j agents cost up to √j times μ."
    )
    return Limit(
        "a person who is served by several agents, as one",
        f"Agents do not share names of persons, so each counts for itself. {price}",
    )


def first_visits(most: int) -> str:
    """Return the sentence that releases hold the first ``most`` visits of each person."""
    records = "first visit" if most == 1 else f"first {most:,} visits"
    return (
        f"Releases hold the records of a person's {records} to an agent, and no others. Persons "
        "and times are public. A visit counts from its decision on, whether or not its reward "
        "ever comes."
    )


def first_records(most: int) -> str:
    """Return the sentence that releases hold the first ``most`` records of each user."""
    records = "first record" if most == 1 else f"first {most:,} records"
    return (
        f"Releases hold a user's {records}, and no others. Users and times are public. A record "
        "counts from its recommendation on, whether or not its reward ever comes."
    )


def exact_sums(records: int) -> str:
    """Return the number of records for which calibrated noise has room, in a sentence."""
    return (
        f"A released sum holds at most {records:,} records, one a round. Sums of that many are "
        "exact, and the noise has room for all other rounding."
    )
