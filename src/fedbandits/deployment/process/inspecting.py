"""Look into a party's store without a change. The party may run meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.deployment.hosting.events import Kind, Received
from fedbandits.deployment.identity.private_files import Path
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.deployment.process.rehearsal import RehearsalSupplies
from fedbandits.deployment.storage.rows import SCHEMA, Header
from fedbandits.deployment.storage.store import JOURNAL, META, SNAPSHOT, Store
from fedbandits.errors import (
    LocalProtocolError,
    RemoteProtocolError,
    StoreError,
    StoreVersionError,
)
from fedbandits.federation.messages import Message
from fedbandits.federation.totals.agreement import unpack_taken
from fedbandits.federation.totals.messages import (
    Check,
    Checked,
    Increment,
    MembersRequest,
    Opened,
    Opening,
    Total,
)
from fedbandits.federation.totals.statements import unpack_members, unpack_places
from fedbandits.privacy.ledger.database import engine_that_reads, named_errors, url_of
from fedbandits.privacy.ledger.files import is_file, path_of
from fedbandits.systems.exported import Model

#: Fields of messages that tell nothing by themselves: masked numbers, masks, tags.
_UNTOLD: dict[type[Message], frozenset[str]] = {
    Increment: frozenset({"statistic", "statements", "public"}),
    Check: frozenset({"statements"}),
    Opening: frozenset({"statements"}),
    Opened: frozenset({"masks", "confirmations", "public"}),
    Total: frozenset({"confirmations", "publics"}),
}


class StoredMessage(NamedTuple):
    """A message whose content is still kept.

    Its ``way`` is ``sent``, and not acknowledged yet; or ``seen``, since the newest saved state.
    ``message`` is None if its bytes were none.
    """

    way: str
    peer: str
    message: Message | None

    def fields(self) -> dict[str, Any]:
        """List what is in it, field by field; statistics as lists of numbers."""
        if self.message is None:
            return {}
        names, message = self.message.__struct_fields__, self.message
        return {name: _shown(message, name) for name in names}


class StoredMessages(NamedTuple):
    """Headers of the newest messages, in order, and the contents that are still kept whole."""

    headers: list[Header]
    contents: list[StoredMessage]


def inspect(party: PartyFolder) -> StoredMessages:
    """Read the messages in a party's store, and decode those that are kept whole.

    Raises StoreError if there is no store yet, or it cannot be read, and StoreVersionError if it
    has another format.
    """
    with _reading(party) as connection, named_errors():
        headers = Store.headers(connection)
        outbox, journal = Store.outbox(connection), _received(connection)
    contents = [
        *(StoredMessage("sent", sent.peer, _message(party, sent.body)) for sent in outbox),
        *(_seen(party, body) for body in journal),
    ]
    return StoredMessages(headers, contents)


def _received(connection: Connection) -> list[bytes]:
    """Return the events in which messages came, in order."""
    received = sa.select(JOURNAL.c.body).where(JOURNAL.c.kind == int(Kind.RECEIVE))
    return list(connection.execute(received.order_by(JOURNAL.c.event)).scalars())


def _seen(party: PartyFolder, body: bytes) -> StoredMessage:
    """Decode an event in which a message came."""
    found = msgspec.msgpack.decode(body, type=Received)
    peer = party.federation.member_of.get(found.sender, "?")
    return StoredMessage("seen", peer, _message(party, found.data))


def _message(party: PartyFolder, data: bytes) -> Message | None:
    try:
        return party.federation.roles.codec.decode(data)
    except RemoteProtocolError:
        return None


def _shown(message: Message, name: str) -> Any:
    """Show a field; what is behind masks, and tags, by their size: they tell nothing."""
    value = getattr(message, name)
    if name in _UNTOLD.get(type(message), ()):
        return f"{len(value)} bytes"
    if name in ("digest", "request", "total_digest"):
        return value.hex()
    if isinstance(message, Checked) and name in ("unfit", "differing"):
        return unpack_places(value).tolist()
    if isinstance(message, Total) and name == "agreed":
        return _agreed(value)
    if isinstance(message, Total) and name == "statistic":
        return np.frombuffer(value, "<i8").tolist()
    if isinstance(message, MembersRequest) and name == "members":
        return _members(value)
    return _plain(value)


def _members(packed: bytes) -> list[dict[str, int | str]] | str:
    """Show the members of a sum, by their places among agents."""
    try:
        members = unpack_members(packed)
    except ValueError:
        return packed.hex()
    names = members.dtype.names or ()
    return [
        {name: _number_or_digest(value) for name, value in zip(names, member, strict=True)}
        for member in members.tolist()
    ]


def _agreed(packed: bytes) -> dict[int, str] | str:
    """Show the digests of totals that most agents have, by the numbers of totals."""
    try:
        return {number: digest.hex() for number, digest in unpack_taken(packed)}
    except RemoteProtocolError:
        return packed.hex()


def _number_or_digest(value: int | bytes) -> int | str:
    return value.hex() if isinstance(value, bytes) else value


def _plain(value: Any) -> Any:
    """Show statistics, which travel as float64 bytes, as numbers; other bytes as digits."""
    if isinstance(value, bytes):
        if value and len(value) % 8 == 0:
            numbers = np.frombuffer(value, "<f8")
            if np.isfinite(numbers).all():
                return numbers.tolist()
        return value.hex()
    return msgspec.to_builtins(value)


@contextlib.contextmanager
def _reading(party: PartyFolder) -> Iterator[Connection]:
    """Connect to a party's store so that nothing can be changed."""
    path = path_of(url_of(party.store))
    if path is not None and not is_file(path):
        raise StoreError(f"{path}: there is no store yet; {party.member} has never run")
    engine = engine_that_reads(path) if path else sa.create_engine(url_of(party.store))
    try:
        with named_errors(), engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(postgresql_readonly=True)
            row = connection.execute(
                sa.select(META.c.value).where(META.c.name == "schema")
            ).scalar()
            if row != str(SCHEMA):
                raise StoreVersionError(
                    f"the store has format {row}, this program reads {SCHEMA}: use the version of "
                    "fedbandits that wrote it"
                )
            yield connection
    finally:
        engine.dispose()


def export_model(party: PartyFolder, out: Path) -> Model:
    """Write a party's model, as of its newest saved state, to a new file.

    A state is saved at each release, and when the party stops. Raises LocalProtocolError if the
    party has no model, OutputExistsError if there is something at ``out``, and StoreError if there
    is no saved state yet.
    """
    federation = party.federation
    system, (role, place) = federation.system, federation.seat_of(party.member)
    if federation.roles.messages_set_pace:
        raise LocalProtocolError(f"{party.member}: a {role.name} of {system.name} has no model")
    with _reading(party) as connection, named_errors():
        body = connection.execute(sa.select(SNAPSHOT.c.body)).scalar()
    if body is None:
        raise StoreError(f"{party.member}: has saved no state yet")
    bring = RehearsalSupplies(federation, {party.member: party.settings.own})
    made = federation.roles.make(role, place, federation.terms, bring(role.name, place))
    made.load(body)
    model = system.export(federation.plan, made)
    model.save(out)
    return model
