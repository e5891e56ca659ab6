"""Applications of a local server, what each party brings, and what a server learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.fclub.plan import FCLUBPlan
from fedbandits.systems.servers.application import application, supply, user_rows

__all__ = ["application", "export", "supply"]


def export(plan: FCLUBPlan, party: Any) -> Learned:
    """Return what a server knows of each of its users.

    Acting on releases alone, it knows of them what it has released, and what others have.
    """
    models, raw = party.state.models, plan.constants.raw_view
    releases = np.full(len(party.users), float(party.state.phase))
    return Learned(
        names=user_rows(party),
        estimate=models.theta.copy(),
        gram=symmetric_inverse(models.inverse),
        counts=models.records.copy() if raw else releases,
        counted="records" if raw else "releases",
        contains_own_records=raw or not plan.private,
        offset=plan.constants.offset,
    )
