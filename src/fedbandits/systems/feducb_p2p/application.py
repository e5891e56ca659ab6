"""Applications of peers: as of all linear agents, but a peer has several estimators."""

from __future__ import annotations

from typing import Any

from fedbandits.systems.agents.application import application, learned_of, supply
from fedbandits.systems.exported import Learned
from fedbandits.systems.feducb_p2p.plan import PeerPlan

__all__ = ["application", "export", "supply"]


def export(plan: PeerPlan, party: Any) -> Learned:
    """Return what an agent makes of heard releases; of several estimators, the surest."""
    estimators = party.state.estimators
    surest = max(range(len(estimators)), key=lambda g: float(estimators[g].view.log_det.sum()))
    now = estimators[surest]
    pool = now.pool if plan.constants.raw_view else party.pool(surest)
    return learned_of(plan, pool, now.view, now.pooled)
