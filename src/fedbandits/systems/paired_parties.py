"""Whole parties in two neighbouring worlds with the same noise."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import decoder
from fedbandits.privacy.sensitivity_check import PairedRuns
from fedbandits.systems.base import System
from fedbandits.systems.party_games import MessagesGame, ReleasesRun


def paired_runs(system: System[Any], game: Game) -> PairedRuns | None:
    """A game of whole parties, with the same noise in both worlds.

    None if its parties have the noise of a deployment, which is never the same twice, or if it is
    not known what noise its releases have.
    """
    if not isinstance(game, MessagesGame) or game.covariance is None:
        return None
    known, begun = game.covariance, cast(ReleasesRun, game.begin(0))

    def play(world: int, number: int) -> dict[int, Floats]:
        run = cast(ReleasesRun, game.begin(number))
        for round_ in range(1, game.rounds + 1):
            run.play_round(world, round_)
        released: dict[int, Floats] = {}
        for _, message in run.network.transcript.deliveries:
            if message.sender == run.audited and (found := run.released(message)) is not None:
                released.setdefault(found.number, found.values)
        return released

    claim = system.claim(begun.run.plan)
    looks_at = f"{game.looks_at}, with the same noise"
    return PairedRuns(game.neighbours, looks_at, known, claim, play)


def covariance_of(plan: ContinualPlan) -> Floats:
    """Covariance of the noise in all releases of one number, in that of one draw, (n, n)."""
    mixing = decoder(plan, np.arange(1, plan.releases + 1))
    return np.asarray(mixing @ mixing.T, dtype=np.float64)
