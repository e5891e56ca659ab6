"""A configuration for a file of ratings of the user's own."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Sequence

import numpy as np

from fedbandits.environments.rating_files import is_published, names_ratings, read_ratings
from fedbandits.environments.tables.reading import Reading
from fedbandits.environments.tables.sources import read_table
from fedbandits.errors import ConfigError, DataError
from fedbandits.settings.reference.keys import in_toml
from fedbandits.settings.reference.templates import comment, in_shell
from fedbandits.settings.toml_files import NAME

FOUND = (
    "It holds ratings: a user comes, some items are offered, and the rating is the reward. To "
    "treat it as a table with a class to name, give --target"
)
_AGENTS, _MOST_ARMS, _MOST_FACTORS = 4, 20, 10


def are_ratings(data: str, reading: Reading) -> bool:
    """Tell whether a file holds ratings, by its name or the names of its columns."""
    if is_published(data):
        return True
    try:
        return names_ratings([*read_table(data, reading, "").columns])
    except DataError:
        return False


def rating_lines(data: str, path: str | pathlib.Path, how: Sequence[str], reading: Reading) -> str:
    """Write the configuration but for its systems; ``how`` are the lines on how it is read.

    Raises ConfigError if there are too few ratings.
    """
    users, items, _ = read_ratings(data, reading)
    pairs = np.unique(np.stack([users, items]), axis=1)
    each = np.sort(np.bincount(pairs[0]))[::-1]  # ratings of a user, most first
    arms = min(_MOST_ARMS, int(each[_AGENTS - 1]) if len(each) >= _AGENTS else 0)
    factors = min(_MOST_FACTORS, len(each) - 1, int(items.max()))
    if arms < 2 or factors < 2:
        raise ConfigError(
            f"init --data: {data} has too few ratings: {_AGENTS} users with two ratings each are "
            "needed, and three items"
        )
    name = pathlib.Path(path).stem
    head = comment(
        [f"Run it:                 fedbandits run {in_shell(path)}",
         f"See what it promises:   fedbandits privacy {in_shell(path)}",
         "", f"{data}: {len(users):,} ratings by {len(each):,} users. {FOUND}."]
    )  # fmt: skip
    return "\n".join(
        [
            *head,
            "",
            *([f"name = {in_toml(name)}"] if re.match(NAME, name) else []),
            "rounds = 500",
            "replicates = 4",
            "seed = 0",
            "",
            "[environment]",
            'kind = "ratings"',
            f"path = {in_toml(data)}",
            *how,
            *comment(["Users are dealt to so many agents. Who rated fewer items is left out."]),
            f"agents = {_AGENTS}",
            f"arms = {arms}",
            f"dim = {factors}",
        ]
    )
