"""Noise of trees as configured, run after run, for an audit. Compiled."""

from __future__ import annotations

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.fclub_published.kernels.exchange import add_noise
from fedbandits.systems.fclub_published.kernels.state import Constants

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def play_trees(
    constants: Constants, steps: Ints, draws: Floats, key: Key, first: int, values: Floats
) -> None:
    """Draw noise of releases ``steps`` (runs, n), in every tree anew, into (runs, trees, n, p)."""
    runs, trees, places, _ = values.shape
    for run in range(runs):
        for tree in range(trees):
            done = 0
            for place in range(places):
                release = steps[run, place]
                at = release
                while at > done:  # the blocks that a release is made of
                    slot, name = draw_slot(TREE, at), (first + run) * trees + tree
                    fill_normal(draws[slot], key, at, name, _NOISE)
                    at &= at - 1
                add_noise(constants, draws, release, values[run, tree, place])
                done = release
