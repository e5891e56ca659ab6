"""Private federated bandits: simulate it, deploy it, prove it, with the same code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits import errors
from fedbandits._lazy import lazily
from fedbandits._version import __version__
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
    "Limit",
    "OutputExistsError",
    "PrivacyClaim",
    "PrivateLearner",
    "ReleaseRefusedError",
    "Stop",
    "StoppedError",
    "System",
    "UnknownEventError",
    "Variant",
    "__version__",
    "advise",
    "answer",
    "audit",
    "compare_runs",
    "environments",
    "errors",
    "events",
    "find_runs",
    "learners",
    "ledger",
    "load",
    "load_model",
    "offline",
    "parties",
    "plot",
    "presets",
    "privacy",
    "register",
    "run",
    "sweep",
    "system",
    "systems",
    "with_alone",
    "with_opponents",
]

if TYPE_CHECKING:
    from fedbandits import (
        environments,
        learners,
        ledger,
        offline,
        parties,
        plot,
        presets,
        privacy,
        systems,
    )
    from fedbandits.client import AsyncClient, Client
    from fedbandits.experiments import events
    from fedbandits.experiments.answers.advise import advise
    from fedbandits.experiments.answers.answer import answer
    from fedbandits.experiments.audits.audit import audit
    from fedbandits.experiments.best_alone import with_alone
    from fedbandits.experiments.folder import compare_runs, find_runs
    from fedbandits.experiments.opponents import with_opponents
    from fedbandits.experiments.run import run, sweep
    from fedbandits.experiments.signals import Stop
    from fedbandits.learners.learner import Learner
    from fedbandits.learners.private_learner import PrivateLearner
    from fedbandits.privacy.claims import Limit, PrivacyClaim
    from fedbandits.settings.experiment import Experiment, Variant, load, system
    from fedbandits.systems import System, register
    from fedbandits.systems.exported import load_model
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
