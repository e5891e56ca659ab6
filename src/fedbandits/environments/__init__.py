"""Where contexts and rewards come from."""

from __future__ import annotations

from fedbandits.environments.base import Environment
from fedbandits.environments.classification import Classification
from fedbandits.environments.linear import Linear

#: Every environment, told apart in a configuration by ``kind``.
AnyEnvironment = Linear | Classification

ENVIRONMENTS: dict[str, type[Environment]] = {
    "linear": Linear,
    "classification": Classification,
}

__all__ = ["ENVIRONMENTS", "AnyEnvironment", "Classification", "Environment", "Linear"]
