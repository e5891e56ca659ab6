"""SAMBA's guide: the paper's protocol as pseudocode, and what participants make of a run."""

from __future__ import annotations

from collections.abc import Collection

from fedbandits.systems.guide import Acts, Guide
from fedbandits.systems.samba.guide.findings import find
from fedbandits.systems.samba.guide.passages import passages
from fedbandits.systems.samba.guide.pseudocode import pseudocode
from fedbandits.systems.samba.guide.weakened import protections, without
from fedbandits.systems.samba.plan import SambaPlan

_ACTS = Acts("is told to pull its arm", "pulls its arm, and earns {}")


def guide(plan: SambaPlan, off: Collection[str] = ()) -> Guide | None:
    """Return what is told of the parties of a plan; None in a plain run."""
    config = plan.config
    if config.execution == "plain":
        return None
    return Guide(
        pseudocode=pseudocode(config),
        passages=passages(config, off),
        acts=_ACTS,
        protections=protections(config),
        without=without,
        find=find,
    )
