"""The systems for private federated bandits; each has one folder."""

from __future__ import annotations

from fedbandits._checked import Checked
from fedbandits.systems.base import Plan, Preset, Simulation, System
from fedbandits.systems.registry import (
    find_preset,
    find_system,
    preset_names,
    register,
    systems,
)

__all__ = [
    "Checked",
    "Plan",
    "Preset",
    "Simulation",
    "System",
    "find_preset",
    "find_system",
    "preset_names",
    "register",
    "systems",
]
