"""Noise and ties of parties in a simulation, from the seed: they protect nobody."""

from __future__ import annotations

from fedbandits._typing import Floats
from fedbandits.random import Key, Purpose, integer, normals


def simulated_noise(size: int, key: Key, agent: int, name: int) -> Floats:
    """Draw noise from the seed: it protects nobody."""
    return normals(size, key, agent, name, Purpose.PRIVACY_NOISE)


def simulated_tie(arms: int, key: Key, agent: int, round_: int) -> int:
    """Draw the arm where an agent begins to look among equally good ones."""
    return int(integer(arms, key, agent, round_, int(Purpose.TIE), 0))
