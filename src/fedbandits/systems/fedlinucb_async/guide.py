"""The guide of asynchronous FedLinUCB: agents and a server, in clear.

Source of the lines: He et al. 2022, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Collection

from fedbandits.systems.agents.guide import ACTS, EVERY_ROUND, sums_in
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.guide import Guide, Passage, line

_AGENT = (
    *EVERY_ROUND,
    line("  if det(Σ + Σ_local) > (1 + α) det Σ: send the sums since the last exchange",
         "* Observe", sends="Upload"),
    line("  take over the server's sums; V and θ follow from them", "* Download"),
    line("  if no answer comes: go on; the next exchange has these sums again", "waiting Deadline"),
)  # fmt: skip
_SERVER = (
    line("add an agent's sums to those of all", "serving Upload"),
    line("answer that agent alone with the sums of all", "serving Upload", sends="Download"),
)


def guide(plan: AsyncPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan; nothing is protected here."""
    return Guide(
        pseudocode={"agent": _AGENT, "server": _SERVER},
        passages={
            "Upload": Passage("new sums", sums_in(plan, off, "New sums of {}"), releases=True),
            "Download": Passage("the sums of all", sums_in(plan, off, "The sums of all")),
        },
        acts=ACTS,
    )
