"""Algorithms that the figures of Ciucanu et al. (2022) share, and the arms that they play."""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import numpy as np

from fedbandits.environments import Bernoulli
from fedbandits.random import Key, Purpose, uniforms
from fedbandits.reproduce.context import Context

ALGORITHMS = ("egreedy", "egreedy-decreasing", "softmax", "pursuit", "ucb", "thompson")
#: How a system is named in tables: its algorithm, and how it is played.
WAYS = {"samba": "secure", "distributed": "distributed in clear", "plain": "plain"}
STREAM = "secure, stream cipher"
#: The variant in which no server learns anything, with packets and with streams.
SILENT, SILENT_STREAM = "silent", "silent, stream cipher"
STAND_IN = "stand-in (drawn means)"
_MEANS = 100


class Source(NamedTuple):
    """A source of arm means.

    Parameters
    ----------
    name
        What it is called in tables and above axes.
    path
        A file; None for the stand-in.
    """

    name: str
    path: str | None = None

    def world(self, arms: int) -> Bernoulli:
        """Make a world of the K largest means; ratings are counted as the published means were."""
        if self.path is None:
            return Bernoulli(means=drawn_means(), arms=arms)
        if pathlib.Path(self.path).suffix == ".txt":
            return Bernoulli(means=self.path, arms=arms)
        # Jester's ratings go from -10 to 10; MovieLens's published means count 4 and 5 stars.
        threshold = 0.0 if "jester" in self.name.lower() else 3.0
        return Bernoulli(ratings=self.path, threshold=threshold, share_of="users", arms=arms)


def sources(context: Context) -> list[Source]:
    """Return the files that were given, or the stand-in."""
    if not context.data:
        return [Source(STAND_IN)]
    return [Source(pathlib.Path(path).stem, path) for path in context.data]


def drawn_means() -> tuple[float, ...]:
    """Draw the stand-in: means that fall about as MovieLens's do, the same every time."""
    units = uniforms(_MEANS, Key(2022, 8), 0, 0, Purpose.WORLD)
    return tuple((1.0 - np.power(1.0 - units, 1.0 / 6.0)).tolist())


def what_was_played(found: list[Source]) -> str:
    """Say where the means came from."""
    if found[0].path is None:
        return (
            f"No data was given: {_MEANS} means drawn once from Beta(1, 6) STAND IN for MovieLens "
            "and Jester. Give the published means with --data."
        )
    return f"Means of the arms: {', '.join(source.name for source in found)}."
