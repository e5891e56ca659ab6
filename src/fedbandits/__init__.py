"""Private federated bandits: simulate it, deploy it, prove it, with the same code."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from fedbandits import environments
    from fedbandits.client import AsyncClient, Client
    from fedbandits.experiments.run import run
    from fedbandits.learners.learner import Learner
    from fedbandits.learners.private_learner import PrivateLearner
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.settings.experiment import Experiment, Variant, load, system
    from fedbandits.systems import System, register
    from fedbandits.systems.exported import load_model

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "BackendError",
    "BoundExceededError",
    "CheckpointError",
    "Client",
    "ConfigError",
    "DataError",
    "Experiment",
    "FedbanditsError",
    "Learner",
    "OutputExistsError",
    "PrivacyClaim",
    "PrivateLearner",
    "ReleaseRefusedError",
    "System",
    "UnknownEventError",
    "Variant",
    "__version__",
    "environments",
    "load",
    "load_model",
    "register",
    "run",
    "system",
]

#: Where names are that are imported when they are first asked for: some need much.
_HOMES = {
    "AsyncClient": "fedbandits.client",
    "Client": "fedbandits.client",
    "Experiment": "fedbandits.settings.experiment",
    "Learner": "fedbandits.learners.learner",
    "PrivacyClaim": "fedbandits.privacy.claims",
    "PrivateLearner": "fedbandits.learners.private_learner",
    "System": "fedbandits.systems",
    "Variant": "fedbandits.settings.experiment",
    "load": "fedbandits.settings.experiment",
    "load_model": "fedbandits.systems.exported",
    "register": "fedbandits.systems",
    "run": "fedbandits.experiments.run",
    "system": "fedbandits.settings.experiment",
}
#: Rooms that are there without an import of their own, as ``fb.environments``.
_ROOMS = {"environments", "experiments", "federation", "learners", "privacy", "random", "systems"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"fedbandits.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
