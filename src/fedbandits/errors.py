"""The errors of this package. Each message names the place and the remedy."""

from __future__ import annotations


class FedbanditsError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigWarning(UserWarning):
    """A configuration that can be run, but hardly makes sense."""


class ConfigError(FedbanditsError):
    """A configuration that cannot be run: unknown key, wrong type, impossible value."""


class DataError(FedbanditsError):
    """A data set that is missing or malformed."""


class BoundExceededError(FedbanditsError):
    """A context or reward outside the bounds that the privacy guarantee rests on."""


class ReleaseRefusedError(FedbanditsError):
    """A private release beyond what the mechanism was calibrated for."""


class MissingExtraError(FedbanditsError):
    """A part of this package that needs an extra which is not installed."""


class ClaimError(FedbanditsError, ValueError):
    """A privacy claim that does not say what it protects."""


class UnknownEventError(FedbanditsError):
    """An event that no accountant here can price."""


class OutputExistsError(FedbanditsError):
    """An output folder that holds the results of another configuration."""


class CheckpointError(FedbanditsError):
    """A checkpoint that is damaged, or belongs to another configuration or version."""


class BackendError(FedbanditsError):
    """A cluster that cannot be reached, cannot play this experiment, or was lost."""


class LocalProtocolError(FedbanditsError):
    """The caller misused a party: an event that is not legal in its state."""


class NoiseError(LocalProtocolError):
    """A source of noise that gave something else. Nothing was released."""


class RemoteProtocolError(FedbanditsError):
    """A peer misbehaved: a message that does not belong here. The receiver has not changed."""
