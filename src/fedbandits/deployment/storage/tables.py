"""Tables of a party's store. The tables of its ledger are in the same database."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()
#: A number that rows are found by. SQLite keeps them by it, without an index, only if it is called
#: so; it has 64 bits there, too.
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

#: What the store is: its format, whose it is, and small numbers that change.
META = sa.Table(
    "host_meta",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
#: The newest saved state of the party, and the last event that is in it. One row.
SNAPSHOT = sa.Table(
    "host_snapshot",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("event", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: Events since that state, to be carried out again. They hold contexts and rewards.
JOURNAL = sa.Table(
    "host_journal",
    METADATA,
    sa.Column("event", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: Messages that their receivers have not acknowledged.
OUTBOX = sa.Table(
    "host_outbox",
    METADATA,
    sa.Column("peer", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: For every peer how many messages it has acknowledged, and their mark: see frames.Hello.
MARKS = sa.Table(
    "host_marks",
    METADATA,
    sa.Column("peer", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("mark", sa.LargeBinary, nullable=False),
)
#: Headers of messages sent and seen; the oldest are deleted.
HEADERS = sa.Table(
    "host_headers",
    METADATA,
    sa.Column("id", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("way", sa.Text, nullable=False),
    sa.Column("peer", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
)
#: When open decisions were asked for, where rewards that do not come have a default. Of requests
#: with a key also what names them (a digest of key and request), and what they were answered.
ASKED = sa.Table(
    "host_asked",
    METADATA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("request", sa.LargeBinary, unique=True),
    sa.Column("answer", sa.LargeBinary),
)
#: Decisions whose reward did not come in time.
EXPIRED = sa.Table(
    "host_expired",
    METADATA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
)
#: The party's own secrets, and those that others gave it. Never logged, never shown.
SECRETS = sa.Table(
    "host_secrets",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
