"""Who saw what in a run of SAMBA's parties: the paper's Figure 7, made from transcripts.

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
from fedbandits.systems.samba.audit.sight import OBSERVER, OWNER, Examination, Sight
from fedbandits.systems.samba.roles import COMP, CONTROLLER, CUSTOMER

#: Columns of the table, and what they are called.
PARTICIPANTS = {
    OWNER: "data owner i",
    CUSTOMER: "customer",
    COMP: "Comp",
    CONTROLLER: "Controller",
    OBSERVER: "external observer",
}
REWARD, OWN, OTHERS, PULLED, SINGLE = (
    "cumulative reward",
    "sum of rewards and pulls of owner i",
    "the same of other owners",
    "arm pulled at step t",
    "reward at step t",
)
#: Those who might pool what they see, and what they are called.
COALITIONS = {
    (CONTROLLER, OWNER): "Controller and data owner i",
    (COMP, OWNER): "Comp and data owner i",
    (COMP, CONTROLLER): "Comp and Controller",
}
#: The paper's Figure 7: how each datum may be seen; by all others not at all.
FIGURE_7: dict[str, dict[str, Sight]] = {
    REWARD: {CUSTOMER: Sight.CLEAR, CONTROLLER: Sight.ENCRYPTED, OBSERVER: Sight.ENCRYPTED},
    OWN: {
        OWNER: Sight.CLEAR, COMP: Sight.MASKED_PERMUTED, CONTROLLER: Sight.ENCRYPTED,
        OBSERVER: Sight.ENCRYPTED,
    },
    OTHERS: {
        COMP: Sight.MASKED_PERMUTED, CONTROLLER: Sight.ENCRYPTED, OBSERVER: Sight.ENCRYPTED,
    },
    PULLED: {
        OWNER: Sight.CLEAR, COMP: Sight.PERMUTED, CONTROLLER: Sight.ENCRYPTED,
        OBSERVER: Sight.ENCRYPTED,
    },
    SINGLE: {OWNER: Sight.CLEAR},
}  # fmt: skip
#: Rules whose scores may be zero, which no mask hides (stated in the claim).
_MAY_BE_ZERO = (EpsilonGreedy, DecreasingEpsilonGreedy, Pursuit)

#: Datum by participant.
Table = Mapping[str, Mapping[str, Sight]]


def security_table(run: PartiesReplicate) -> dict[str, dict[str, Sight]]:
    """Datum by participant, from the transcript of a run.

    Parameters
    ----------
    run
        SAMBA's parties, played to the end.

    Returns
    -------
    dict
        Rows by datum, columns by participant (keys of :data:`PARTICIPANTS`).
    """
    return _table(run, {name: Examination(run, name) for name in PARTICIPANTS})


def coalition_table(run: PartiesReplicate) -> dict[str, dict[str, Sight]]:
    """The same for those who pool what they see: columns are the texts of :data:`COALITIONS`."""
    return _table(run, {text: Examination(run, *names) for names, text in COALITIONS.items()})


def _table(
    run: PartiesReplicate, examined: Mapping[str, Examination]
) -> dict[str, dict[str, Sight]]:
    others = range(1, len(run.of("owner")))
    return {
        REWARD: {name: eye.cumulative_reward() for name, eye in examined.items()},
        OWN: {name: eye.statistics([0]) for name, eye in examined.items()},
        OTHERS: {name: eye.statistics(others) for name, eye in examined.items()},
        PULLED: {name: eye.pulls() for name, eye in examined.items()},
        SINGLE: {name: eye.single_rewards() for name, eye in examined.items()},
    }


def excess(table: Table, rule: Any) -> Iterator[tuple[str, str, Sight]]:
    """Cells in which somebody sees more than the paper's figure allows.

    Yields
    ------
    str, str, Sight
        Datum, participant, and how it is seen.
    """
    for datum, row in table.items():
        for participant, sight in row.items():
            allowed = FIGURE_7[datum].get(participant, Sight.NOT_SEEN)
            if allowed is Sight.MASKED_PERMUTED and isinstance(rule, _MAY_BE_ZERO):
                allowed = Sight.PERMUTED
            if sight > allowed:
                yield datum, participant, sight


def security_markdown(table: Table, columns: Mapping[str, str] = PARTICIPANTS) -> str:
    """The table as Markdown."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "| --- |" + " --- |" * len(columns)]
    for datum, row in table.items():
        lines.append(f"| {datum} | " + " | ".join(row[name].text for name in columns) + " |")
    return "\n".join(lines)
