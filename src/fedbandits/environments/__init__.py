"""Where contexts and rewards come from."""

from __future__ import annotations

from fedbandits.environments.base import Environment
from fedbandits.environments.classification import Classification
from fedbandits.environments.linear import Linear
from fedbandits.environments.ratings import RatingData

#: Every environment, told apart in a configuration by ``kind``.
AnyEnvironment = Linear | Classification | RatingData

ENVIRONMENTS: dict[str, type[Environment]] = {
    "linear": Linear,
    "classification": Classification,
    "ratings": RatingData,
}

__all__ = [
    "ENVIRONMENTS",
    "AnyEnvironment",
    "Classification",
    "Environment",
    "Linear",
    "RatingData",
]
