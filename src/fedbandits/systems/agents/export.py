"""The final model of a linear agent: what it acts on."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits.privacy.continual import NONE
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.views import Pool, Views
from fedbandits.systems.exported import Learned, symmetric_inverse


def learned_of(plan: AgentsPlan, pool: Pool, view: Views, releases: int) -> Learned:
    """What a pool and a view have come to.

    Parameters
    ----------
    plan
        What all parties go by.
    pool
        What the agent knows of others' releases, and of its own.
    view
        What it acts on; with a raw view its own records are in it at once.
    releases
        The number of the last sum of releases that is in it.
    """
    constants, raw = plan.constants, plan.constants.raw_view
    rows = constants.models
    estimate = view.estimate if raw else np.einsum("mij,mj->mi", pool.inverse, pool.moment)
    return Learned(
        names=("all arms",) if rows == 1 else tuple(f"arm {m}" for m in range(rows)),
        estimate=estimate.copy(),
        gram=symmetric_inverse(view.inverse) if raw else pool.gram.copy(),
        counts=np.full(rows, float(releases)),
        counted="releases",
        contains_own_records=raw or constants.mechanism == NONE,
    )


def export(plan: AgentsPlan, party: Any) -> Learned:
    """What an agent acts on."""
    state = party.state
    releases = state.pooled if hasattr(state, "pooled") else state.answered
    return learned_of(plan, state.pool, state.view, releases)
