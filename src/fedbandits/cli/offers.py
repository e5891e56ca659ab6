"""What installed packages offer, read from their metadata: none of their code is run for that."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fedbandits.errors import ConfigError
from fedbandits.learners.learner import Learner
from fedbandits.systems.python_learners import LearnerSystem

#: What packages offer, by the names of their entry points.
_GROUPS = {
    "system": "fedbandits.systems",
    "environment": "fedbandits.environments",
    "learner": "fedbandits.learners",
}


def offers() -> list[tuple[str, str, str]]:
    """Everything that is offered: what it is, its name, and the package that offers it."""
    return [
        (what, point.name, _package(point))
        for what, group in _GROUPS.items()
        for point in entry_points(group=group)
    ]


def load_offered(name: str) -> Any:
    """The system or environment that is offered by that name; None if nothing is.

    The code of its package is run. A learner comes as the system that plays it.

    Raises
    ------
    ConfigError
        If the package cannot be imported.
    """
    points = [point for group in _GROUPS.values() for point in entry_points(group=group, name=name)]
    if not points:
        return None
    try:
        found = points[0].load()
        if isinstance(found, type) and issubclass(found, Learner):
            return LearnerSystem(found)
    except Exception as error:  # it is another package's code, which may raise whatever it likes
        raise ConfigError(
            f"list: {name} is offered by {_package(points[0])}, which fails when it is imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
