"""The errors of this package. Each message names the place and the remedy."""

from __future__ import annotations


class FedbanditsError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigWarning(UserWarning):
    """A configuration that can be run, but hardly makes sense."""


class LongRunWarning(ConfigWarning):
    """A run that takes long. It can be interrupted, and resumed where it has an output folder."""


class ResumeWarning(ConfigWarning):
    """``resume`` where there is nothing to resume, or where the run is complete already."""


class CacheWarning(UserWarning):
    """Compiled kernels that cannot be kept safely; every run compiles them anew."""


class ConfigError(FedbanditsError, ValueError):
    """A configuration that cannot be run: unknown key, wrong type, impossible value."""

    #: The same without the place, for whoever knows a better one: the key in a file.
    reason: str | None = None


class DataError(FedbanditsError):
    """A data set that is missing or malformed."""


class BoundExceededError(FedbanditsError):
    """A context or reward outside the bounds that the privacy guarantee rests on."""


class ReleaseRefusedError(FedbanditsError):
    """A private release beyond what the mechanism was calibrated for."""


class UnknownEventError(FedbanditsError):
    """An event that no accountant here can price."""


class ClaimError(FedbanditsError, ValueError):
    """A privacy claim or budget that says nothing: no unit, no ε above 0, no δ between 0 and 1."""


class BudgetExceededError(ReleaseRefusedError):
    """A private release that would cost more than is left. Nothing was spent."""


class NoiseReuseError(ReleaseRefusedError):
    """Noise asked for a second time. A redraw spends twice; the old draw on other data tells."""


class LedgerError(FedbanditsError):
    """A privacy ledger that cannot be used, or not like this. Nothing was spent."""


class LedgerMismatchError(LedgerError):
    """A ledger of another federation, or an account that was opened with other values."""


class LedgerVersionError(LedgerError):
    """A ledger written in an older or a newer format."""


class LedgerCorruptError(LedgerError):
    """A ledger that is damaged, was changed by hand, or is none."""


class LedgerFileError(LedgerError):
    """A ledger's file with two names, without its log, or another one than was opened: a copy."""


class LedgerBusyError(LedgerError):
    """Another process was writing to the ledger. Roll back and try again."""


class UnknownPartyError(LedgerError):
    """A party without an account."""


class StepError(LedgerError):
    """A charge that does not continue its stream of releases."""


class ClockError(LedgerError):
    """A clock that runs backwards."""


class ResourceError(FedbanditsError):
    """An experiment that needs more memory than there is. Nothing was run."""


class MissingExtraError(FedbanditsError, ImportError):
    """A part of this package whose libraries are not installed."""


class StoppedError(FedbanditsError):
    """A run or an audit that a ``Stop`` ended before anything was finished. It has no result."""


class OutputExistsError(FedbanditsError):
    """An output folder that holds the results of another configuration."""


class OutputBusyError(FedbanditsError):
    """An output folder that another process is writing."""


class OutputError(FedbanditsError):
    """Results or checkpoints that cannot be written: the disk is full, or fails."""


class SnapshotError(FedbanditsError):
    """A party's saved state that is damaged, or belongs to another party or other terms."""


class DeploymentError(FedbanditsError):
    """A party that cannot run between machines, or not like this."""


class StoreError(DeploymentError):
    """A party's store that cannot be used. What was not committed was not answered."""


class StoreFullError(StoreError):
    """A store whose disk is full. Nothing was changed; free some space and ask again."""


class StoreBusyError(StoreError):
    """A store that another process uses."""


class StoreVersionError(StoreError):
    """A store written in another format."""


class StoreMismatchError(StoreError):
    """A store of another party, of another federation, or of other terms."""


class StaleStoreError(StoreError):
    """A store that is older than what its peers have seen of it: a backup was put back."""


class TransportError(DeploymentError):
    """Peers that cannot be reached, or a broker that refuses."""


class NotReadyError(DeploymentError):
    """A party that cannot do this yet: it waits for its peers."""


class IdentityError(DeploymentError):
    """A key, certificate or list of members that is missing, damaged, expired or not signed."""


class RemoteProtocolError(FedbanditsError):
    """A peer misbehaved: a message that does not belong here. The receiver has not changed."""


class SealError(RemoteProtocolError):
    """A sealed frame that is not from whom it says, was altered, or is not for this party."""


class CheckpointError(FedbanditsError):
    """A checkpoint that is damaged, or belongs to another configuration or version."""


class BackendError(FedbanditsError):
    """A cluster that cannot be reached, cannot play this experiment, or was lost."""


class LocalProtocolError(FedbanditsError):
    """The caller misused a party: an event that is not legal in its state."""


class UnknownDecisionError(LocalProtocolError):
    """A reward for a decision that was never made here."""


class DuplicateRewardError(LocalProtocolError):
    """A second reward for one decision; the first one counts."""


class LateRewardError(LocalProtocolError):
    """A reward that comes when its decision counts already, without it or with a default."""


class WrongTypeError(LocalProtocolError, TypeError):
    """Something that is no message, or holds what its type forbids. The receiver has not changed.

    No peer can cause it: what a codec has decoded has the right types.
    """


class LearnerError(FedbanditsError):
    """A learner in plain Python that returned, or keeps, what cannot be used."""


class NoiseError(LocalProtocolError):
    """A source of noise that gave something else. Nothing was released."""
