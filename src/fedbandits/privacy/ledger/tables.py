"""The tables of a privacy ledger, with the encoding, the sums and the chain of its rows.

Σ μ² is kept as a whole number of 2⁻¹²⁸, in decimal digits. So it does not depend on the order of
the charges, and nothing is lost by any number of charges. A running total must equal a total that
is computed anew, to the last digit.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from typing import Any, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits._schema import prepared
from fedbandits._typing import Floats
from fedbandits.errors import ClaimError, LedgerCorruptError, LedgerError, UnknownEventError
from fedbandits.privacy import accounting
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger.database import Compiled

#: Version of the tables; a ledger of another version is refused.
SCHEMA = 1

METADATA = sa.MetaData()
#: ``schema`` and ``federation``, and notes of the latest opening.
META = sa.Table(
    "ledger_meta",
    METADATA,
    sa.Column("name", sa.String(50), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
#: One row for each party; the columns below ``opened`` change with every charge.
ACCOUNTS = sa.Table(
    "ledger_accounts",
    METADATA,
    sa.Column("party", sa.String(200), primary_key=True),
    sa.Column("claim", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("mu", sa.Double, nullable=False),  # the budget
    sa.Column("opened", sa.Double, nullable=False),
    sa.Column("charges", sa.Integer, nullable=False),
    sa.Column("spent", sa.Text, nullable=False),  # Σ μ², see above
    sa.Column("time", sa.Double, nullable=False, index=True),  # of the last charge
    sa.Column("head", sa.String(64), nullable=False),  # hash of the last charge
)
#: One row for each charge, never changed.
CHARGES = sa.Table(
    "ledger_charges",
    METADATA,
    sa.Column("party", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # from 1
    sa.Column("stream", sa.String(200), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),  # from 1
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("mu", sa.Double, nullable=False),  # of the stream, this release included
    sa.Column("added", sa.Double, nullable=False),  # to Σ μ²
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("digest", sa.String(64)),  # of the draw, if one is kept
    sa.Column("hash", sa.String(64), nullable=False),
    sa.UniqueConstraint("party", "stream", "step"),
)
#: One row for each draw, never changed, and secret: a draw reveals the data of its release.
NOISE = sa.Table(
    "ledger_noise",
    METADATA,
    sa.Column("party", sa.String(200), primary_key=True),
    sa.Column("stream", sa.String(200), primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("shape", sa.Text, nullable=False),
    sa.Column("draw", sa.LargeBinary, nullable=False),  # float64, little-endian
)

_FRACTION = 128
#: Largest number of digits of Σ μ²: more than floats need, and few enough for Python.
_DIGITS = 1000
#: Errors of numbers beyond all bounds, wrong types, lone surrogates, and endless nesting.
_UNWRITABLE = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Charge(NamedTuple):
    """A row of :data:`CHARGES` without its hash."""

    party: str
    number: int
    stream: str
    step: int
    event: str
    mu: float
    added: float
    time: float
    digest: str | None


def write_meta(connection: Connection, name: str, value: str) -> None:
    """Write a row of :data:`META`, over an older one."""
    connection.execute(sa.delete(META).where(META.c.name == name))
    connection.execute(sa.insert(META).values(name=name, value=value))


def squared(mu: float) -> int:
    """Return μ² in units of 2⁻¹²⁸, exact or rounded up; μ must be finite."""
    numerator, denominator = mu.as_integer_ratio()  # the denominator is a power of two
    excess = 2 * (denominator.bit_length() - 1) - _FRACTION
    square = numerator * numerator
    return -(-square >> excess) if excess > 0 else square << -excess


def root(total: int) -> float:
    """Return μ of a Σ μ² in units of 2⁻¹²⁸, to the nearest float; inverts :func:`squared`.

    The result is infinite where Σ μ² is beyond the range of floats.
    """
    try:
        return math.sqrt(total / (1 << _FRACTION))
    except OverflowError:
        return math.inf


def digits(text: str, owner: str) -> int:
    """Read a stored Σ μ²; raises LedgerCorruptError if the text is not a number."""
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise LedgerCorruptError(f"party {owner!r}: the total is not a number")
    return int(text)


def link(previous: str, charge: Charge) -> str:
    """Hash a charge and the hash before it; returns 64 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode((previous, *charge))).hexdigest()


def genesis(federation: str, account: tuple[str, str, float, float, float, float]) -> str:
    """Hash the start of a party's chain: federation, party, claim, ε, δ, μ, time of opening."""
    return hashlib.sha256(msgspec.json.encode((federation, *account))).hexdigest()


def encode_event(event: Event) -> str:
    """Encode an event as JSON.

    Raises UnknownEventError if the decoded event would differ, as with an infinite deviation.
    """
    try:
        text = msgspec.json.encode(event, enc_hook=_plain).decode()
        if _decoded(text) == event:
            return text
    except _UNWRITABLE as error:
        raise UnknownEventError(f"{type(event).__name__} cannot be written down") from error
    raise UnknownEventError(f"{type(event).__name__} cannot be written down")


def decode_event(text: str, place: str) -> Event:
    """Decode an event; raises LedgerCorruptError for an invalid text."""
    try:
        return _decoded(text)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise LedgerCorruptError(f"{place}: the event cannot be read") from error


@functools.lru_cache(maxsize=64)  # the next charge decodes the same event again
def _decoded(text: str) -> Event:
    return _DECODER.decode(text)


def price(event: Event) -> float:
    """Return μ of an event, a number ≥ 0 or infinite; raises UnknownEventError without a price."""
    return float(accounting.mu(event)) + 0.0  # -0.0 would come back from a database as 0.0


def require_names(**names: object) -> None:
    """Refuse, by LedgerError, names that a database might change."""
    for what, name in names.items():
        if type(name) is not str or not name.isprintable():
            raise LedgerError(f"{what}: given a {type(name).__name__}, allowed: printable text")


def encode_claim(claim: PrivacyClaim) -> str:
    """Encode a claim as JSON, in which an ε may be ``Infinity``.

    Raises ClaimError if the decoded claim would differ.
    """
    try:
        text = json.dumps(msgspec.to_builtins(claim, enc_hook=_plain), ensure_ascii=False)
        text.encode()
        if msgspec.convert(json.loads(text), prepared(PrivacyClaim)) == claim:
            return text
    except (*_UNWRITABLE, UnknownEventError) as error:
        raise ClaimError("the claim cannot be written down") from error
    raise ClaimError("the claim cannot be written down")


def decode_claim(text: str, party: str) -> PrivacyClaim:
    """Decode a claim; raises LedgerCorruptError for an invalid text."""
    try:
        return msgspec.convert(_as_now(json.loads(text)), prepared(PrivacyClaim))
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise LedgerCorruptError(f"party {party!r}: the claim cannot be read") from error


def _as_now(claim: Any) -> Any:
    """Convert claims of earlier releases to the present form.

    Limits were sentences. ``one_noise`` was missing: claims of secure sums share one noise, and
    only these claims had views.
    """
    if not isinstance(claim, dict):
        return claim
    if "one_noise" not in claim and claim.get("views"):
        claim = claim | {"one_noise": True}
    if isinstance(claim.get("not_protected"), list):
        limits = [
            {"what": _first_clause(limit), "why": limit} if isinstance(limit, str) else limit
            for limit in claim["not_protected"]
        ]
        return claim | {"not_protected": limits}
    return claim


def _first_clause(sentence: str) -> str:
    """Return the first clause of a sentence, short enough for a table."""
    return re.split(r"[,:;(]", sentence, maxsplit=1)[0].strip()[:90] or "what follows"


def encode_draw(draw: Floats) -> tuple[str, bytes, str]:
    """Encode a draw: its shape, its bytes and their digest."""
    shape, data = json.dumps(draw.shape), draw.astype("<f8").tobytes()
    return shape, data, _digest(shape, data)


def decode_draw(shape: Any, data: Any, digest: str | None, place: str) -> Floats:
    """Decode a draw; raises LedgerCorruptError if it differs from the charged draw."""
    written = isinstance(shape, str) and isinstance(data, bytes | memoryview)
    if not written or _digest(shape, bytes(data)) != digest:
        raise LedgerCorruptError(f"{place}: the draw is not the one that was charged")
    return np.frombuffer(data, "<f8").astype(np.float64).reshape(json.loads(shape))


def _digest(shape: str, data: bytes) -> str:
    return hashlib.sha256(shape.encode() + data).hexdigest()


def _plain(value: Any) -> Any:
    """Convert numbers of numpy to Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise UnknownEventError(f"{type(value).__name__} cannot be written down")


class DrawTable:
    """The table of draws, which is secret: it is neither logged nor shown."""

    def __init__(self, dialect: sa.Dialect) -> None:
        self._insert = Compiled(sa.insert(NOISE), dialect, [c.name for c in NOISE.columns])
        of_charge = _of(NOISE) & (CHARGES.c.party == NOISE.c.party)
        same = (CHARGES.c.stream == NOISE.c.stream) & (CHARGES.c.step == NOISE.c.step)
        kept = sa.select(NOISE.c.step, NOISE.c.shape, NOISE.c.draw, CHARGES.c.digest)
        joined = kept.select_from(NOISE.join(CHARGES, same)).where(of_charge)
        self._select = Compiled(joined.order_by(NOISE.c.step), dialect)
        at = NOISE.c.step == sa.bindparam("at")
        self._one = Compiled(sa.select(NOISE.c.shape, NOISE.c.draw).where(_of(NOISE), at), dialect)

    def keep(
        self, connection: Connection, party: str, stream: str, step: int, written: tuple[str, bytes]
    ) -> None:
        """Store a draw, given as shape and bytes."""
        shape, data = written
        values = {"party": party, "stream": stream, "step": step, "shape": shape, "draw": data}
        self._insert.run(connection, values)

    def every(self, connection: Connection, party: str, stream: str) -> list[Floats]:
        """Read all draws of a stream, in order, each checked against its charge."""
        rows = self._select.every(connection, {"payer": party, "name": stream})
        place = f"party {party!r}, {stream!r}"
        return [
            decode_draw(shape, data, digest, f"{place}, step {step}")
            for step, shape, data, digest in rows
        ]

    def check(self, connection: Connection, charge: Charge, place: str) -> None:
        """Refuse a charge whose draw is missing or differs."""
        where = {"payer": charge.party, "name": charge.stream, "at": charge.step}
        if charge.digest is not None:
            shape, data = self._one.first(connection, where) or (None, None)
            decode_draw(shape, data, charge.digest, place)


def _of(table: sa.Table) -> Any:
    party, stream = sa.bindparam("payer", type_=sa.Text), sa.bindparam("name", type_=sa.Text)
    return (table.c.party == party) & (table.c.stream == stream)
