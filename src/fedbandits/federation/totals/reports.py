"""Reports of the controller and the agents of secure sums to their own operators.

They say who took part and who is waited for. No number that anybody has released is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbandits._typing import Bools

if TYPE_CHECKING:  # they call what is here
    from fedbandits.federation.totals.controller_state import ControllerState
    from fedbandits.federation.totals.sender import Sending

#: So many names of agents are told at most.
_MOST_NAMED = 20


def of_controller(
    state: ControllerState, agents: Sequence[str], helpers: Sequence[str]
) -> dict[str, Any]:
    """Report the sums that were told, who was left out of the last one, and helpers awaited.

    A sum that nobody was in counts, too. Names are those of parties. ``unbelieved`` says whose
    message for the last sum which helper would not open: one of the two is at fault, or was put
    back. ``differing`` says who of the others has taken another total than most: this controller
    told different ones, or the agent lies. ``refused_by`` are helpers that would open nothing, as
    more had other totals than may lie. ``retired_agents`` have said that they send nothing more.
    ``helpers_asked`` says how often helpers were asked about the sum that is under way, 0 if none
    is.
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


def _named(of_each: Bools, helpers: Sequence[str], agents: Sequence[str]) -> dict[str, list[str]]:
    """Name the agents that each helper has something to say of, (helpers, agents)."""
    return {
        name: [agents[place] for place in np.flatnonzero(found)[:_MOST_NAMED]]
        for name, found in zip(helpers, of_each, strict=True)
        if found.any()
    }


def of_agent(sending: Sending, unused: int, controller: str) -> dict[str, Any]:
    """Report the last sum that was heard of, the agent's newest release in one, and if it retired.

    ``unused`` totals made no estimate, or came after a false one. Totals of ``missed_sums``, with
    somebody in them, did not come. ``other_total`` is the newest that the controller gave this
    agent otherwise than most others; ``disputed_total`` the newest of its own that it gave more
    agents otherwise than may lie. ``acts_on_totals`` is false until
    others confirm a later one. Numbers are 0 where there is none. ``told_otherwise_by`` names the
    ``controller`` once one of both has come; a dispute rests on the word of one helper, too.
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
