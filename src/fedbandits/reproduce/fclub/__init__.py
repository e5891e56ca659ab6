"""Figures of Liu et al. (2022), FCLUB: the common worlds and numbers."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import draw_arrival, draw_items
from fedbandits.errors import ConfigError
from fedbandits.random import replicate_key
from fedbandits.reproduce.engine import Context, Measured
from fedbandits.settings.experiment import Experiment, Variant

#: Systems without collaboration, which collaboration must beat.
ALONE, LOCAL = "linucb-per-user", "fclub-local"
#: CDP-FCLUB-DC with its noise, and as the authors' code runs it, without.
PUBLISHED, AS_RUN = "fclub-published", "fclub-authors"
#: The paper's ε and δ, and a small δ for a meaningful promise.
EPSILON, DELTA, SMALL_DELTA = 1.0, 0.1, 1e-5
BUDGET: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
#: Look of points with bars in plots.
POINTS: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 3}
#: d of drawn users, m and L of the paper.
DIMENSION, CLUSTERS, SERVERS = 10, 5, 5


class Scale(NamedTuple):
    """The scale of the figures."""

    replicates: int
    rounds: int

    @classmethod
    def of(cls, context: Context, quick: int = 3) -> Scale:
        """Choose the scale; T is the end of a phase, the first one after 100,000 rounds."""
        return cls(10 if context.full else quick, 131_071)


def drawn_world(
    placement: Literal["together", "spread"] = "together", users: int = 40
) -> Clustered:
    """Make a world of clusters of the same size; every replicate draws its own."""
    return Clustered(
        users=users, clusters=CLUSTERS, dim=DIMENSION, servers=SERVERS, placement=placement
    )


def given_path(context: Context) -> str | None:
    """Return the file of users of a figure, if one is given."""
    if len(context.data) > 1:
        raise ConfigError("--data: this figure takes one file of users; give one")
    return context.data[0] if context.data else None


def given_world(path: str, whole: bool) -> Clustered:
    """Make a world of the first 40 users of a file, or of the ``whole`` file (of ratings 1,000).

    The file has vectors (.npy) or ratings.
    """
    if pathlib.Path(path).suffix == ".npy":
        world = Clustered(preferences=path, servers=SERVERS)
        few = whole or world.parties <= 40
        return world if few else Clustered(preferences=path, users=40, servers=SERVERS)
    users, clusters = (1000, 10) if whole else (40, CLUSTERS)
    return Clustered(ratings=path, users=users, clusters=clusters, dim=DIMENSION, servers=SERVERS)


def experiment_of(
    world: Clustered, systems: Sequence[Variant], scale: Scale, checkpoints: int = 60
) -> Experiment:
    """Make an experiment of that scale."""
    return Experiment(
        name="regret",
        rounds=scale.rounds,
        environment=world,
        systems=tuple(systems),
        replicates=scale.replicates,
        checkpoints=checkpoints,
    )


def total_regret(result: xr.Dataset, label: str) -> xr.DataArray:
    """Return the regret of all users of a system, (replicate, round)."""
    regret: xr.DataArray = result.regret.sel(system=label).sum("party")
    return regret


def at_end(result: xr.Dataset, label: str) -> Measured:
    """Measure the regret of all users of a system after the last round."""
    return Measured.of(total_regret(result, label).isel(round=-1))


def random_regret(world: Clustered, rounds: int = 2000) -> float:
    """Estimate the regret of a random item in a round, as the mean of ``rounds`` rounds."""
    key = replicate_key(0, 0)
    drawn, lost = world.world(key), 0.0
    items = np.zeros((world.dimension, world.items), np.float32)
    for round_ in range(1, rounds + 1):
        draw_items(drawn, key, round_, items)
        means = np.clip(drawn.theta[draw_arrival(drawn, key, round_)] @ items, 0.0, 1.0)
        lost += float(means.max() - means.mean())
    return lost / rounds
