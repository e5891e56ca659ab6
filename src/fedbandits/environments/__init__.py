"""Environments: they draw the contexts and rewards of an experiment."""

from __future__ import annotations

from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.environments.classification import Classification
from fedbandits.environments.clustered import Clustered
from fedbandits.environments.delay import FixedDelay, GeometricDelay, UniformDelay
from fedbandits.environments.drift import Change, Walk
from fedbandits.environments.linear import Linear
from fedbandits.environments.procurement import Procurement
from fedbandits.environments.python import PythonEnvironment
from fedbandits.environments.ratings import RatingData
from fedbandits.environments.registry import environments, find_environment, kind_of
from fedbandits.environments.table import Table, table

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
    "Table",
    "UniformDelay",
    "Walk",
    "environments",
    "find_environment",
    "kind_of",
    "table",
]
