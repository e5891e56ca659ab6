"""Applications of a local server, what each party brings, and what a server learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.fclub_published.kernels.models import refresh
from fedbandits.systems.fclub_published.kernels.state import Local
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.fclub_published.state import new_scratch, row_of
from fedbandits.systems.servers.application import application, supply, user_rows

__all__ = ["application", "export", "supply"]


def export(plan: PublishedFCLUBPlan, party: Any) -> Learned:
    """Return what a server recommends by to each of its users: the model of the user's cluster.

    Clusters were found in raw records, and a model may have the newest ones in it: the model says
    so, whatever noise there is.
    """
    local: Local = party.state.local
    scratch = new_scratch(plan, len(party.users))
    theta, inverse, records = [], [], []
    for row in local.model_of.tolist():
        known, at = local, row
        if local.stale[row]:
            known, at = row_of(local, row), 0
            refresh(plan.constants, known, 0, scratch)
        models = known.models if plan.constants.buffered else known.acting
        theta.append(models.theta[at].copy())
        inverse.append(models.inverse[at].copy())
        records.append(float(models.records[at]))
    return Learned(
        names=user_rows(party),
        estimate=np.array(theta),
        gram=symmetric_inverse(np.array(inverse)),
        counts=np.array(records),
        counted="records",
        contains_own_records=True,
    )
