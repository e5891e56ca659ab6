"""Tables of who saw what in a run of SAMBA's parties, such as the paper's Figure 7.

For every participant, everything that reached it is opened with every key that can be found in
it, and what comes out is compared with the truth. Nothing is taken from what messages are meant
to hide: a party that was handed a key too many, a mask of 1 or a permutation that stands still
shows in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedbandits.learners.kernels.index_rules import DecreasingEpsilonGreedy, EpsilonGreedy, Pursuit
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.adversary import (
    OBSERVER,
    ONE_OWNER,
    Adversary,
    Exposure,
    PublishedAdversary,
)
from fedbandits.systems.samba.audit.silent_adversary import SilentAdversary
from fedbandits.systems.samba.keys import COMP, CONTROLLER, CUSTOMER, DEALER, SimulatedSecrets

#: Columns of the table, and what they are called; a silent run has a dealer, too.
PARTICIPANTS = {
    ONE_OWNER: "data owner i",
    CUSTOMER: "customer",
    COMP: "Comp",
    CONTROLLER: "Controller",
    OBSERVER: "external observer",
}
SILENT_PARTICIPANTS = {**PARTICIPANTS, DEALER: "dealer"}
#: Those who might pool what they see, and what they are called.
COALITIONS = {
    (CONTROLLER, ONE_OWNER): "Controller and data owner i",
    (COMP, ONE_OWNER): "Comp and data owner i",
    (COMP, CONTROLLER): "Comp and Controller",
}
SILENT_COALITIONS = {
    **COALITIONS,
    (DEALER, CONTROLLER): "dealer and Controller",
    (DEALER, COMP): "dealer and Comp",
}
#: Everybody as one who hears all messages too: what is not meant for it must not open.
LISTENERS: dict[tuple[str, ...], str] = {
    (name, OBSERVER): name for name in SILENT_PARTICIPANTS if name != OBSERVER
}
REWARD, OWN, OTHERS, PULLED, SINGLE = (
    "cumulative reward",
    "sum of rewards and pulls of owner i",
    "the same of other owners",
    "arm pulled at step t",
    "reward at step t",
)
_CLEAR, _ENCRYPTED, _NOT_SEEN = Exposure.CLEAR, Exposure.ENCRYPTED, Exposure.NOT_SEEN
_OUTSIDE = {CONTROLLER: _ENCRYPTED, OBSERVER: _ENCRYPTED}
#: The paper's Figure 7: how each datum may be seen; by all others not at all.
FIGURE_7: dict[str, dict[str, Exposure]] = {
    REWARD: {CUSTOMER: _CLEAR, **_OUTSIDE},
    OWN: {ONE_OWNER: _CLEAR, COMP: Exposure.MASKED_PERMUTED, **_OUTSIDE},
    OTHERS: {COMP: Exposure.MASKED_PERMUTED, **_OUTSIDE},
    PULLED: {ONE_OWNER: _CLEAR, COMP: Exposure.PERMUTED, **_OUTSIDE},
    SINGLE: {ONE_OWNER: _CLEAR},
}
#: The same of a silent run.
ALLOWED: dict[str, dict[str, Exposure]] = {
    REWARD: {CUSTOMER: _CLEAR, OBSERVER: _ENCRYPTED},
    OWN: {ONE_OWNER: _CLEAR, OBSERVER: _ENCRYPTED},
    OTHERS: {OBSERVER: _ENCRYPTED},
    PULLED: {ONE_OWNER: _CLEAR, OBSERVER: _ENCRYPTED},
    SINGLE: {ONE_OWNER: _CLEAR},
}
#: Rules whose scores may be zero, which no mask hides (stated in the claim).
_MAY_BE_ZERO = (EpsilonGreedy, DecreasingEpsilonGreedy, Pursuit)

#: Datum by participant.
Table = Mapping[str, Mapping[str, Exposure]]


def security_table(run: PartiesReplicate) -> dict[str, dict[str, Exposure]]:
    """Make the table of a published run from its transcript: datum by participant.

    Rows are data, columns participants (keys of :data:`PARTICIPANTS`).
    """
    return _table(run, {name: PublishedAdversary(run, name) for name in PARTICIPANTS})


def coalition_table(run: PartiesReplicate) -> dict[str, dict[str, Exposure]]:
    """Make the table of those who pool what they see; columns are texts of :data:`COALITIONS`."""
    return _table(
        run, {text: PublishedAdversary(run, *names) for names, text in COALITIONS.items()}
    )


def silent_table(
    run: PartiesReplicate,
    secrets: SimulatedSecrets,
    who: Mapping[tuple[str, ...], str] | None = None,
) -> dict[str, dict[str, Exposure]]:
    """Make the table of a silent run from its transcript: datum by participant.

    Parameters
    ----------
    run
        A silent run of SAMBA's parties, played to its end.
    secrets
        All of its secrets.
    who
        Those who pool what they see, as :data:`SILENT_COALITIONS`; by default everybody alone.
    """
    alone = {(name,): name for name in SILENT_PARTICIPANTS}
    named = (who or alone).items()
    return _table(run, {text: SilentAdversary(run, secrets, *names) for names, text in named})


def _table(
    run: PartiesReplicate, adversaries: Mapping[str, Adversary]
) -> dict[str, dict[str, Exposure]]:
    others = range(1, len(run.of("owner")))
    return {
        REWARD: {name: each.cumulative_reward() for name, each in adversaries.items()},
        OWN: {name: each.statistics([0]) for name, each in adversaries.items()},
        OTHERS: {name: each.statistics(others) for name, each in adversaries.items()},
        PULLED: {name: each.pulls() for name, each in adversaries.items()},
        SINGLE: {name: each.single_rewards() for name, each in adversaries.items()},
    }


def excess(table: Table, rule: Any) -> Iterator[tuple[str, str, Exposure]]:
    """List the cells in which somebody sees more than the paper's figure allows.

    Yields
    ------
    str, str, Exposure
        Datum, participant, and how it is seen.
    """
    for datum, participant, seen in _cells(table):
        allowed = FIGURE_7[datum].get(participant, _NOT_SEEN)
        if allowed is Exposure.MASKED_PERMUTED and isinstance(rule, _MAY_BE_ZERO):
            allowed = Exposure.PERMUTED
        if seen > allowed:
            yield datum, participant, seen


def silent_excess(
    table: Table, total: str, hears: bool = False
) -> Iterator[tuple[str, str, Exposure]]:
    """List the cells in which somebody sees more than the claim says: datum, participant, how.

    Parameters
    ----------
    table
        A table of :func:`silent_table`, everybody alone.
    total
        How the customer gets the total: Paillier's ciphertexts pass through the Controller.
    hears
        Whether everybody hears all messages, as :data:`LISTENERS`: then it has the packets that
        were not for it, sealed.
    """
    least = _ENCRYPTED if hears else _NOT_SEEN
    for datum, participant, seen in _cells(table):
        allowed = max(ALLOWED[datum].get(participant, _NOT_SEEN), least)
        if total == "paillier" and participant in (CONTROLLER, CUSTOMER, ONE_OWNER):
            allowed = max(allowed, _ENCRYPTED)
        if seen > allowed:
            yield datum, participant, seen


def _cells(table: Table) -> Iterator[tuple[str, str, Exposure]]:
    for datum, row in table.items():
        for participant, seen in row.items():
            yield datum, participant, seen


def security_markdown(table: Table, columns: Mapping[str, str] = PARTICIPANTS) -> str:
    """Return the table as Markdown."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "| --- |" + " --- |" * len(columns)]
    for datum, row in table.items():
        lines.append(f"| {datum} | " + " | ".join(row[name].text for name in columns) + " |")
    return "\n".join(lines)
