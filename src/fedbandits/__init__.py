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
    StoppedError,
    UnknownEventError,
)

if TYPE_CHECKING:
    from fedbandits import environments
    from fedbandits.client import AsyncClient, Client
    from fedbandits.experiments import events
    from fedbandits.experiments.run import run
    from fedbandits.experiments.stop import Stop
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
    "OutputExistsError",
    "PrivacyClaim",
    "ReleaseRefusedError",
    "Stop",
    "StoppedError",
    "System",
    "UnknownEventError",
    "Variant",
    "__version__",
    "environments",
    "events",
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
    "PrivacyClaim": "fedbandits.privacy.claims",
    "Stop": "fedbandits.experiments.stop",
    "System": "fedbandits.systems",
    "Variant": "fedbandits.settings.experiment",
    "load": "fedbandits.settings.experiment",
    "load_model": "fedbandits.systems.exported",
    "register": "fedbandits.systems",
    "run": "fedbandits.experiments.run",
    "system": "fedbandits.settings.experiment",
}
#: Modules that are imported when they are first asked for.
_MODULES = {"events": "fedbandits.experiments.events"}
#: Rooms that are there without an import of their own, as ``fb.environments``.
_ROOMS = {"environments", "experiments", "federation", "learners", "privacy", "random", "systems"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"fedbandits.{name}")
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
