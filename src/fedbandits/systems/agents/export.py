"""The final model of a linear agent: what it acts on."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits.learners.kernels.joint import Joint
from fedbandits.privacy.kernels import NONE
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.views import Views
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.exported import Learned, symmetric_inverse


def learned_of(plan: AgentsPlan, pool: Pool, view: Views, joint: Joint, releases: int) -> Learned:
    """What a pool and a view have come to.

    Parameters
    ----------
    plan
        What all parties go by.
    pool
        What the agent knows of others' releases, and of its own.
    view
        What it acts on; with a raw view its own records are in it at once.
    joint
        What it acts on with a joint view: own records, and what others released.
    releases
        The number of the last sum of releases that is in it.
    """
    constants = plan.constants
    rows, clear = constants.models, constants.mechanism == NONE
    if constants.joint_view:
        estimate, gram = joint.estimate, symmetric_inverse(joint.inverse)
    elif constants.raw_view:
        estimate, gram = view.estimate, symmetric_inverse(view.inverse)
    else:
        estimate = np.einsum("mij,mj->mi", pool.inverse, pool.moment)
        gram = pool.gram.copy()
    return Learned(
        names=("all arms",) if rows == 1 else tuple(f"arm {m}" for m in range(rows)),
        estimate=estimate.copy(),
        gram=gram,
        counts=np.full(rows, float(releases)),
        counted="releases",
        contains_own_records=constants.raw_view or constants.joint_view or clear,
    )


def export(plan: AgentsPlan, party: Any) -> Learned:
    """What an agent acts on."""
    state = party.state
    releases = state.pooled if hasattr(state, "pooled") else state.answered
    return learned_of(plan, state.pool, state.view, state.joint, releases)
