"""How applications ask an agent for decisions, what each party brings, and what it learns."""

from __future__ import annotations

from typing import Any

from fedbandits.systems.agents.application import application, learned_of, supply
from fedbandits.systems.exported import Learned
from fedbandits.systems.feducb_p2p.plan import PeerPlan

__all__ = ["application", "export", "supply"]


def export(plan: PeerPlan, party: Any) -> Learned:
    """What an agent makes of the releases that it has heard; of several estimators, the surest."""
    estimators = party.state.estimators
    surest = max(range(len(estimators)), key=lambda g: float(estimators[g].view.log_det.sum()))
    now = estimators[surest]
    pool = now.pool if plan.constants.raw_view else party.pool(surest)
    return learned_of(plan, pool, now.view, party.joint(surest), now.pooled)
