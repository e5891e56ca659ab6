"""Exit codes of the command: one for every error that a supervisor treats differently."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits import errors
from fedbandits.errors import FedbanditsError


class Ending(NamedTuple):
    """An exit code, the error that it stands for, and its meaning."""

    code: int
    error: type[FedbanditsError]
    means: str


#: The first that fits counts. All other errors of this package end with 2.
ENDINGS = (
    Ending(10, errors.IdentityError, "keys, certificate or admission missing, expired or revoked"),
    Ending(11, errors.StoreBusyError, "another process runs this party"),
    Ending(12, errors.StoreMismatchError, "the store is another party's, or of other terms"),
    Ending(12, errors.LedgerMismatchError, "the store is another federation's"),
    Ending(13, errors.StoreVersionError, "the store was written by another version"),
    Ending(13, errors.LedgerVersionError, "the store was written by another version"),
    Ending(14, errors.StaleStoreError, "an old backup was put back: this party must not go on"),
    Ending(15, errors.LedgerFileError, "the store is a copy; see party run --moved"),
    Ending(16, errors.SnapshotError, "the saved state is damaged, or another party's"),
    Ending(17, errors.StoreFullError, "the disk is full"),
    Ending(18, errors.StoreError, "the store cannot be used"),
    Ending(19, errors.TransportError, "the broker cannot be reached, or does not start"),
    Ending(20, errors.DeploymentError, "the party cannot run like this: its port is in use, …"),
)
#: What ``party status`` and ``federation status`` end with where no party runs, as for systemd.
NOT_RUNNING = 3
#: After these it is no use to start again: somebody must do something first.
FINAL = frozenset({2, 10, 12, 13, 14, 15, 16})


def code_of(error: FedbanditsError) -> int:
    """Return the exit code of an error."""
    return next((ending.code for ending in ENDINGS if isinstance(error, ending.error)), 2)


def meanings() -> dict[int, str]:
    """Return the meaning of every exit code."""
    found = {
        0: "ended as told",
        1: "the machine refuses: a full disk, a folder gone",
        2: "a wrong configuration or argument",
        NOT_RUNNING: "of party status and federation status: no party runs",
    }
    for ending in ENDINGS:
        found.setdefault(ending.code, ending.means)
    return found


def table() -> str:
    """List the codes, for help."""
    lines = [f"{code}: {text}" for code, text in meanings().items()]
    lines.append("130, 143: ended at once, by a second signal")
    return "Exit codes:\n\n\b\n" + "\n".join(lines)
