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
    __getattr__, __dir__ = lazily(
        __name__,
        __all__,
        {
            "AsyncClient": "fedbandits.client:AsyncClient",
            "Client": "fedbandits.client:Client",
            "Experiment": "fedbandits.settings.experiment:Experiment",
            "Learner": "fedbandits.learners.learner:Learner",
            "Limit": "fedbandits.privacy.claims:Limit",
            "PrivacyClaim": "fedbandits.privacy.claims:PrivacyClaim",
            "PrivateLearner": "fedbandits.learners.private_learner:PrivateLearner",
            "Stop": "fedbandits.experiments.signals:Stop",
            "System": "fedbandits.systems:System",
            "Variant": "fedbandits.settings.experiment:Variant",
            "advise": "fedbandits.experiments.answers.advise:advise",
            "answer": "fedbandits.experiments.answers.answer:answer",
            "audit": "fedbandits.experiments.audits.audit:audit",
            "compare_runs": "fedbandits.experiments.folder:compare_runs",
            "events": "fedbandits.experiments.events",
            "find_runs": "fedbandits.experiments.folder:find_runs",
            "load": "fedbandits.settings.experiment:load",
            "load_model": "fedbandits.systems.exported:load_model",
            "register": "fedbandits.systems:register",
            "run": "fedbandits.experiments.run:run",
            "sweep": "fedbandits.experiments.run:sweep",
            "system": "fedbandits.settings.experiment:system",
            "with_alone": "fedbandits.experiments.best_alone:with_alone",
            "with_opponents": "fedbandits.experiments.opponents:with_opponents",
        },
    )
