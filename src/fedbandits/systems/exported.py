"""A party's final model, as a file that somebody outside can begin from.

What it costs: nothing more than what the party has released, where all in it follows from releases.
A party that learns from its own records at once has those in its model without noise; then the
model says so (``contains_own_records``), no claim covers handing it out, and that is for the party
to decide.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import struct
import zipfile
import zlib
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._schema import prepared
from fedbandits._typing import Floats
from fedbandits.errors import DataError, OutputError, OutputExistsError

_FORMAT, _ARRAYS = 1, ("estimate", "gram", "counts")
#: What reading a file that is no model may raise.
_UNREADABLE = (
    OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, RecursionError,
    NotImplementedError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error,
    msgspec.ValidationError,
)  # fmt: skip
#: A larger file is no model.
_MOST_BYTES = 1 << 31


class Learned(NamedTuple):
    """A party's knowledge in the end, a row a model."""

    names: tuple[str, ...]  # what each row is about, such as ``arm 2``, ``user 7``, ``producer 0``
    estimate: Floats  # (rows, d): θ
    #: (rows, d, d): how sure estimates are: V, of which V⁻¹ is the covariance for rewards of
    #: variance 1.
    gram: Floats
    counts: Floats  # (rows,): how much is behind each row, in ``counted``
    counted: str  # what is counted: ``records``, ``releases`` or ``units``
    contains_own_records: bool  # whether records are in it that no noise covers
    offset: float = 0.0  # what was taken off every reward before it was learned from


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A party's final model.

    To begin from it, take ``gram`` as the prior's precision and ``gram @ estimate`` as its moment:
    ridge regression goes on from there as if it had seen the records itself.

    Parameters
    ----------
    system, party
        Whose it is.
    terms
        Digest of the terms that it was learned under, as hexadecimal digits.
    claim
        What was promised under these terms, as plain values; an ε may be infinite.
    learned
        What is known.
    """

    system: str
    party: str
    terms: str
    claim: dict[str, Any]
    learned: Learned

    def __post_init__(self) -> None:
        _check(self.learned)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as an ``.npz`` file that its owner alone can read.

        It has the arrays ``estimate``, ``gram`` and ``counts``, and ``header``: JSON in UTF-8.

        Raises
        ------
        OutputExistsError
            If there is such a file already.
        OutputError
            If its disk is full, or fails. There is no file then.
        """
        known = self.learned
        header = {
            "format": _FORMAT, "system": self.system, "party": self.party, "terms": self.terms,
            "claim": self.claim, "names": known.names, "counted": known.counted,
            "contains_own_records": known.contains_own_records, "offset": known.offset,
        }  # fmt: skip
        text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise OutputExistsError(
                f"{os.fspath(path)}: exists already; choose another file, or remove it"
            ) from None
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, header=text, **{name: getattr(known, name) for name in _ARRAYS})
        except OSError as error:
            os.unlink(path)
            raise OutputError(
                f"{os.fspath(path)}: cannot be written ({error.strerror or error}); free some space"
            ) from None


class _Header(msgspec.Struct, frozen=True):
    format: int
    system: str
    party: str
    terms: str
    claim: dict[str, Any]
    names: tuple[str, ...]
    counted: str
    contains_own_records: bool
    offset: float


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model from the file at ``path``; the file is data, and no code in it is run.

    Raises
    ------
    DataError
        If the file is not a model, or its arrays do not fit together.
    """
    try:
        header, arrays = _read(pathlib.Path(path))
        model = Model(
            system=header.system, party=header.party, terms=header.terms, claim=header.claim,
            learned=Learned(
                header.names, arrays["estimate"], arrays["gram"], arrays["counts"],
                header.counted, header.contains_own_records, header.offset,
            ),
        )  # fmt: skip
    except _UNREADABLE as error:
        why = type(error).__name__
        raise DataError(f"{os.fspath(path)!r}: not a model of this package ({why})") from None
    return model


def _read(path: pathlib.Path) -> tuple[_Header, dict[str, Floats]]:
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("too large")
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        header = msgspec.convert(json.loads(file["header"].tobytes()), prepared(_Header))
        arrays = {name: file[name] for name in _ARRAYS}
    if header.format != _FORMAT:
        raise ValueError(f"format {header.format}")
    if any(array.dtype != np.float64 for array in arrays.values()):
        raise ValueError("other numbers")
    return header, arrays


def _check(known: Learned) -> None:
    """Refuse arrays that are no model."""
    rows = len(known.names)
    if known.estimate.ndim != 2 or len(known.estimate) != rows:
        raise ValueError("estimates")
    d = known.estimate.shape[1]
    if known.gram.shape != (rows, d, d) or known.counts.shape != (rows,):
        raise ValueError("shapes")
    if not all(np.isfinite(array).all() for array in (known.estimate, known.gram, known.counts)):
        raise ValueError("not finite")
    if not math.isfinite(known.offset) or not np.array_equal(known.gram, _mirrored(known.gram)):
        raise ValueError("not symmetric")


def _mirrored(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, 1, 2)


def symmetric_inverse(matrices: Floats) -> Floats:
    """Return inverses of (rows, d, d) symmetric matrices, symmetric to the last bit."""
    inverse: Any = np.linalg.inv(matrices)
    symmetric: Floats = 0.5 * (inverse + _mirrored(inverse))
    return symmetric
