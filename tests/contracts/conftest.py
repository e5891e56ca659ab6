"""Contracts are about messages and states, so one pair of keys does for all of a process."""

from __future__ import annotations

import functools

import pytest

from fedbandits.crypto import paillier

_one_of = functools.cache(paillier.generate)


@pytest.fixture(autouse=True)
def keys_are_made_once(monkeypatch):
    """A Paillier key takes a tenth of a second; ``tests/crypto`` makes them anew."""
    monkeypatch.setattr(paillier, "generate", _one_of)
