"""The errors and warnings of this package.

Each message names the place, what was given, what is allowed, and the remedy.
"""

from __future__ import annotations

import re

#: The form of a message about one key.
_CONFIG_MESSAGE = re.compile(
    r"(?P<path>[A-Za-z_][\w-]*(?:\.[\w*-]+|\[[^\]]*\])*): "
    r"(?:given (?P<given>.*?)(?=, allowed: |; |\Z))?"
    r".*?(?:allowed: (?P<allowed>.*))?\Z",
    re.DOTALL,
)


class FedbanditsError(Exception):
    """Base class of all errors that this package raises on purpose."""


class ConfigWarning(UserWarning):
    """A configuration can be run, but its results may mean little."""


class LongRunWarning(ConfigWarning):
    """A run will take a long time.

    It can be interrupted. With an output folder it can also be resumed.
    """


class ResumeWarning(ConfigWarning):
    """``resume`` where there is nothing to resume, or where the run is complete already."""


class CacheWarning(UserWarning):
    """Compiled code cannot be stored safely, so every run compiles it again."""


class ConfigError(FedbanditsError, ValueError):
    """A configuration is refused: it has an unknown key, a wrong type or an impossible value.

    Most messages are of the form ``PATH: given VALUE, allowed: WORDS``. Programs read these parts
    as :attr:`path`, :attr:`given` and :attr:`allowed`.
    """

    #: The message without the place, for a caller that knows the key's place in a file.
    reason: str | None = None

    @property
    def path(self) -> str | None:
        """The refused key, such as ``systems[0].epsilon``; None if several keys are refused."""
        return self._part("path")

    @property
    def given(self) -> str | None:
        """The given value, as the message shows it; None if the message shows no value."""
        return self._part("given")

    @property
    def allowed(self) -> str | None:
        """The allowed values, in words; None if the message names none."""
        return self._part("allowed")

    def _part(self, name: str) -> str | None:
        match = _CONFIG_MESSAGE.match(str(self))
        return match[name] if match else None


class DataError(FedbanditsError):
    """A data set is missing or malformed."""


class BoundExceededError(FedbanditsError):
    """A context or a reward is outside the bounds on which the privacy guarantee depends."""


class ReleaseRefusedError(FedbanditsError):
    """A mechanism was asked for more releases than its noise was calibrated for."""


class UnknownEventError(FedbanditsError):
    """The accountant does not know the privacy cost of this event."""


class ClaimError(FedbanditsError, ValueError):
    """A privacy claim or a budget is incomplete: its unit, ε or δ is missing or impossible.

    ε must be above 0, and δ between 0 and 1.
    """


class BudgetExceededError(ReleaseRefusedError):
    """A private release would cost more than the rest of the budget; nothing was spent."""


class NoiseReuseError(ReleaseRefusedError):
    """The noise of one release was asked for a second time.

    New noise for the same data would spend the privacy budget twice. The old noise on other data
    would reveal how the data differ.
    """


class LedgerError(FedbanditsError):
    """A privacy ledger refuses an operation, or cannot be used; nothing was spent."""

    #: Whether the error leaves a transaction of the ledger's database unusable.
    FAILS_TRANSACTION = True


class LedgerMismatchError(LedgerError):
    """The ledger belongs to another federation, or the account was opened with other values."""


class LedgerVersionError(LedgerError):
    """The ledger was written in an older or a newer format."""


class LedgerCorruptError(LedgerError):
    """The file is a damaged ledger, a ledger that was changed by hand, or not a ledger."""


class LedgerFileError(LedgerError):
    """The ledger's file is, or may be, a copy.

    The file has two names, or its log is missing, or another file lies at its path.
    """


class LedgerBusyError(LedgerError):
    """The ledger was locked: another process was writing to it; roll back and try again."""


class UnknownPartyError(LedgerError):
    """The party has no account in the ledger."""


class StepError(LedgerError):
    """A charge does not continue its stream of releases."""


class ClockError(LedgerError):
    """The clock runs backwards."""

    FAILS_TRANSACTION = False


class ResourceError(FedbanditsError):
    """The experiment needs more memory than this machine has; nothing was run."""


class MissingExtraError(FedbanditsError, ImportError):
    """A part of this package needs libraries that are not installed."""


class StoppedError(FedbanditsError):
    """A ``Stop`` ended a run or an audit before it had any result."""


class OutputExistsError(FedbanditsError):
    """The output exists already, such as a folder with the results of another configuration."""


class OutputBusyError(FedbanditsError):
    """The output folder is locked: another process is writing to it."""


class OutputError(FedbanditsError):
    """Results or checkpoints cannot be written: the disk is full or fails."""


class SnapshotError(FedbanditsError):
    """A party's saved state is damaged, or belongs to another party or to other terms."""


class DeploymentError(FedbanditsError):
    """The party cannot run between machines, or not with these settings."""


class StoreError(DeploymentError):
    """A party's store cannot be used.

    The party answers a request only after its changes are committed, so no answer is lost. If a
    step after the commit fails, the error says so: the request counts, though it has no answer.
    """


class StoreFullError(StoreError):
    """The store's disk is full; nothing was changed.

    Free some space and ask again.
    """


class StoreBusyError(StoreError):
    """The store is locked: another process is using it."""


class StoreVersionError(StoreError):
    """The store was written in another format."""


class StoreMismatchError(StoreError):
    """The store belongs to another party, to another federation or to other terms."""


class StaleStoreError(StoreError):
    """The store is older than messages that its party has sent: a backup was restored."""


class TransportError(DeploymentError):
    """The peers cannot be reached, or the broker refuses the connection."""


class NotReadyError(DeploymentError):
    """The party cannot do this yet: it is waiting for its peers."""


class IdentityError(DeploymentError):
    """A key, a certificate or a list of members is missing, damaged, expired or not signed."""


class RemoteProtocolError(FedbanditsError):
    """A peer sent a message that is not allowed; the receiver's state has not changed."""


class SealError(RemoteProtocolError):
    """A sealed frame was altered, is for another party, or is not from its stated sender."""


class NotListedError(SealError):
    """A peer is in no list of members that this party has; a newer list may name the peer."""


class CheckpointError(FedbanditsError):
    """A checkpoint is damaged, or belongs to another configuration or version."""


class BackendError(FedbanditsError):
    """The cluster cannot be reached, cannot run this experiment, or was lost."""


class LocalProtocolError(FedbanditsError):
    """The caller gave a party an event that its state does not allow."""


class UnknownDecisionError(LocalProtocolError):
    """A reward was given for a decision that this party never made."""


class DuplicateRewardError(LocalProtocolError):
    """A decision was given a second reward; the first one counts."""


class LateRewardError(LocalProtocolError):
    """A reward came too late: its decision was already counted without it or with a default."""


class WrongTypeError(LocalProtocolError, TypeError):
    """A value is not a message, or a field has a wrong type; the receiver's state has not changed.

    No peer can cause this error, because decoded messages always have the right types.
    """


class LearnerError(FedbanditsError):
    """A learner in plain Python returned a value, or holds a state, that cannot be used."""


class NoiseError(LocalProtocolError):
    """A source of noise returned values that are not noise; nothing was released."""
