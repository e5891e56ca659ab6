"""Private federated bandits: simulate it, deploy it, prove it, with the same code."""

from __future__ import annotations

from fedbandits import environments
from fedbandits.errors import (
    BackendError,
    BoundExceededError,
    CheckpointError,
    ConfigError,
    DataError,
    FedbanditsError,
    OutputExistsError,
    ReleaseRefusedError,
    UnknownEventError,
)
from fedbandits.experiments.run import run
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.experiment import Experiment, Variant, load, system
from fedbandits.systems import System, register

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "BoundExceededError",
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Experiment",
    "FedbanditsError",
    "OutputExistsError",
    "PrivacyClaim",
    "ReleaseRefusedError",
    "System",
    "UnknownEventError",
    "Variant",
    "__version__",
    "environments",
    "load",
    "register",
    "run",
    "system",
]
