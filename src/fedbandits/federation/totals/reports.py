"""Reports of the controller and the agents of secure sums to their own operators.

They name the parties that took part and that are waited for. They contain no released number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbandits._typing import Bools

if TYPE_CHECKING:  # controller and sender call this module
    from fedbandits.federation.totals.controller_state import ControllerState
    from fedbandits.federation.totals.sender import Sending

#: Largest number of named agents.
_MOST_NAMED = 20


def of_controller(
    state: ControllerState, agents: Sequence[str], helpers: Sequence[str]
) -> dict[str, Any]:
    """Report the number of sums, the agents left out of the last sum, and awaited helpers.

    An empty sum counts, too. Names are those of parties. ``unbelieved`` names, for each helper, the
    agents whose message for the last sum it would not open: helper or agent is at fault, or was
    restored from an old store. ``differing`` names agents with another total than most: this
    controller sent different totals, or the agent lies. ``refused_by`` are helpers that would open
    nothing: too many members had other totals. ``retired_agents`` send nothing more.
    ``helpers_asked`` is the number of requests to helpers about the sum that is under way, 0 if
    none is.
    """
    last = (state.opened == state.newest) & (state.newest > 0)
    checked = state.checked_sum == state.newest
    out = np.flatnonzero(~last) if state.newest else ()
    return {
        "sums": state.newest,
        "members_of_last_sum": int(np.count_nonzero(last)),
        "left_out": [agents[place] for place in out[:_MOST_NAMED]],
        "retired_agents": [agents[place] for place in np.flatnonzero(state.retired)[:_MOST_NAMED]],
        "unbelieved": _named(state.unfit & ~state.differing & checked, helpers, agents),
        "differing": _named(state.differing & checked, helpers, agents),
        "refused_by": [
            helpers[place] for place in np.flatnonzero(state.refused & checked).tolist()
        ],
        "helpers_awaited": [
            name
            for name, answered in zip(helpers, state.answered, strict=True)
            if state.opening and not answered
        ],
        "helpers_asked": state.asked,
    }


def _named(marked: Bools, helpers: Sequence[str], agents: Sequence[str]) -> dict[str, list[str]]:
    """Name the agents that each helper has marked, (helpers, agents)."""
    return {
        name: [agents[place] for place in np.flatnonzero(marked_by_helper)[:_MOST_NAMED]]
        for name, marked_by_helper in zip(helpers, marked, strict=True)
        if marked_by_helper.any()
    }


def of_agent(sending: Sending, unused: int, controller: str) -> dict[str, Any]:
    """Report the last received sum, the agent's newest release in a sum, and its retirement.

    ``unused`` totals gave no estimate, or came after a false total. ``missed_sums`` is the number
    of sums with members whose totals did not arrive. ``other_total`` is the newest total of which
    this agent received another version than most others; ``disputed_total`` is the newest of its
    totals of which more than ``colluding`` agents received another version. ``acts_on_totals`` is
    false until others confirm a later total. Numbers are 0 where there is none.
    ``told_otherwise_by`` names the ``controller`` after an ``other_total`` or a ``disputed_total``,
    though a dispute rests on the word of one helper.
    """
    return {
        "sums": sending.newest,
        "newest_release_in_a_sum": sending.base,
        "release_on_its_way": sending.pending,
        "unused_sums": unused,
        "missed_sums": sending.missed,
        "retired": sending.retired,
        "other_total": sending.other_total,
        "disputed_total": sending.disputed_total,
        "told_otherwise_by": [controller] * bool(sending.other_total or sending.disputed_total),
        "acts_on_totals": not sending.misled,
    }
