"""Members whose rounds end by themselves, each at its own pace."""

from __future__ import annotations

import asyncio
from typing import Any

from fedbandits.environments.base import Environment
from fedbandits.testing.deployed import DeployedFederation, Play


async def play_by_themselves(
    deployed: DeployedFederation, environment: Environment, seed: int, rounds: int
) -> list[tuple[int, int, Any]]:
    """Every player plays so many rounds at its own pace, where rounds end by themselves.

    Returns
    -------
    list
        (round, place, action) of every decision.
    """
    games = [Play(deployed, environment, seed) for _ in Play(deployed, environment, seed).players]

    async def alone(place: int, game: Play) -> None:
        for round_ in range(1, rounds + 1):
            if place in game.stage.acting(round_):
                await game.act(place, round_)

    await asyncio.gather(*(alone(place, game) for place, game in enumerate(games)))
    return [action for game in games for action in game.actions]
