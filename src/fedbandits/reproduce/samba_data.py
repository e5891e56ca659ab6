"""What the figures of Ciucanu et al. (2022) share: algorithms, worlds, axes."""

from __future__ import annotations

import pathlib
from typing import Any

from matplotlib.figure import Figure as Plot

from fedbandits.environments import Bernoulli

MEANS = "../shared/data/arm-means/movielens.txt"
WHAT = "arm means (how many, then one a line) or a file of ratings such as MovieLens's u.data"
ALGORITHMS = ("egreedy", "egreedy-decreasing", "softmax", "pursuit", "ucb", "thompson")


def bernoulli_world(path: str, arms: int) -> Bernoulli:
    """Means as they are, or counted from ratings the way the published means were."""
    if pathlib.Path(path).suffix == ".txt":
        return Bernoulli(means=path, arms=arms)
    # Jester's ratings go from -10 to 10; MovieLens's published means count 4 and 5 stars.
    threshold = 0.0 if "jester" in data_name(path).lower() else 3.0
    return Bernoulli(ratings=path, threshold=threshold, share_of="users", arms=arms)


def data_name(path: str) -> str:
    """What a file of data is called in tables."""
    return pathlib.Path(path).stem


def data_panels(rows: list[dict[str, Any]]) -> tuple[Plot, list[tuple[Any, str]]]:
    """One pair of axes a data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    plot = Plot(figsize=(7.2 * len(names), 4.6), layout="constrained")
    axes = plot.subplots(1, len(names), squeeze=False)[0]
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return plot, list(zip(axes, names, strict=True))
