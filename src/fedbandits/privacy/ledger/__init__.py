"""A durable privacy ledger: budgets of parties, their charges, and the charged releases."""

from __future__ import annotations

from fedbandits.errors import MissingExtraError

try:
    import sqlalchemy as _  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "a privacy ledger needs SQLAlchemy: install the extra 'federation' as docs/install.md says"
    ) from error

from fedbandits.privacy.ledger.accounts import whole_budget
from fedbandits.privacy.ledger.book import Ledger
from fedbandits.privacy.ledger.noise import LedgeredNoise
from fedbandits.privacy.ledger.statement import Statement, StreamStatement, Total, add_up

__all__ = [
    "Ledger",
    "LedgeredNoise",
    "Statement",
    "StreamStatement",
    "Total",
    "add_up",
    "whole_budget",
]
