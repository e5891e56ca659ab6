"""Who saw what in a run of SAMBA's parties: the paper's Figure 7, made from transcripts.

For every participant, everything that reached it is opened with every key that can be found in
it, and what comes out is compared with the truth. Nothing is taken from what messages are meant
to hide: a party that was handed a key too many, a mask of 1 or a permutation that stands still
shows in the table.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    examined = {name: Examination(run, name) for name in PARTICIPANTS}
    return {
        REWARD: {name: eye.cumulative_reward() for name, eye in examined.items()},
        OWN: {name: eye.statistics([0]) for name, eye in examined.items()},
        OTHERS: {
            name: eye.statistics(range(1, len(run.of("owner")))) for name, eye in examined.items()
        },
        PULLED: {name: eye.pulls() for name, eye in examined.items()},
        SINGLE: {name: eye.single_rewards() for name, eye in examined.items()},
    }


def security_markdown(table: Mapping[str, Mapping[str, Sight]]) -> str:
    """The table as Markdown."""
    lines = ["| | " + " | ".join(PARTICIPANTS.values()) + " |", "| --- |" + " --- |" * 5]
    for datum, row in table.items():
        lines.append(f"| {datum} | " + " | ".join(row[name].text for name in PARTICIPANTS) + " |")
    return "\n".join(lines)
