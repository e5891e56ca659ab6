"""Environments: sources of an experiment's contexts and rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = [
    "Bernoulli",
    "Change",
    "Classification",
    "Clustered",
    "ContextualEnvironment",
    "Environment",
    "FixedDelay",
    "GeometricDelay",
    "Linear",
    "Procurement",
    "PythonEnvironment",
    "RatingData",
    "Skewed",
    "Table",
    "UniformDelay",
    "Walk",
    "environments",
    "find_environment",
    "kind_of",
    "table",
]

if TYPE_CHECKING:
    from fedbandits.environments.base import ContextualEnvironment, Environment
    from fedbandits.environments.bernoulli import Bernoulli
    from fedbandits.environments.classification import Classification
    from fedbandits.environments.clustered import Clustered
    from fedbandits.environments.data_table import Table, table
    from fedbandits.environments.delay import FixedDelay, GeometricDelay, UniformDelay
    from fedbandits.environments.drift import Change, Walk
    from fedbandits.environments.linear import Linear
    from fedbandits.environments.procurement import Procurement
    from fedbandits.environments.python import PythonEnvironment
    from fedbandits.environments.ratings import RatingData
    from fedbandits.environments.registry import environments, find_environment, kind_of
    from fedbandits.environments.shards import Skewed
else:  # a federation's file names no world
    __getattr__, __dir__ = lazily(__name__, __all__)
