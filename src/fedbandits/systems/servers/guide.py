"""Guides of servers that serve users: words that both forms of FCLUB share."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fedbandits.systems.guide import Acts
from fedbandits.systems.servers.system import ServersPlan

ACTS = Acts("recommends item {}", "observes the reward {}")
_NOISE = {"noise": "Sums leave a server under noise: a single record does not show in them."}


def protections(plan: ServersPlan) -> Mapping[str, str]:
    """Return what a run may be shown without."""
    return _NOISE if plan.private else {}


def noise_of(plan: ServersPlan, off: Collection[str]) -> str:
    """Say whether what leaves a server is under noise."""
    return "under noise" if plan.private and "noise" not in off else "without noise"
