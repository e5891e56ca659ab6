"""Databases for tests: one suite for every kind of store."""

from __future__ import annotations

import itertools

import pytest

from tests.deployment import postgres

_count = itertools.count()


@pytest.fixture(scope="session")
def postgres_server():
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request, tmp_path):
    """Makes addresses of new databases, by name."""
    if request.param == "sqlite":
        return lambda name: str(tmp_path / f"{name}.db")
    address = request.getfixturevalue("postgres_server")
    number = next(_count)
    return lambda name: postgres.database(address, f"{name}-{number}")


@pytest.fixture
def lingers_briefly(monkeypatch):
    """A door waits a moment, and no second, behind a refusal: for clients that send no more."""
    for module in ("app", "connections"):
        monkeypatch.setattr(f"fedbandits.deployment.door.{module}.LINGER", 0.05)
