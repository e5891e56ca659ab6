"""Asynchronous FedLinUCB claims nothing, so there is nothing to attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbandits.privacy.auditing import Game
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.base import System


def games(system: System[Any], plan: AgentsPlan) -> Sequence[Game]:
    """None."""
    del system, plan
    return ()
