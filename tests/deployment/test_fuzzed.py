"""Mutated frames and messages through real hosts: refused by name, nothing changed, all alive."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

from tests.deployment.fuzzed import Fuzzed


@pytest.mark.parametrize(
    ("preset", "counts"),
    [
        ("feducb", (30, 15)), ("fclub", (60, 30)), ("pfcb", (20, 10)), ("samba-ucb", (3, 2)),
        ("samba-silent-ucb", (1, 1)),
    ],
)  # fmt: skip
def test_whatever_is_not_taken_changes_nothing(preset, counts, tmp_path):
    found = Counter()
    logging.getLogger("fedbandits.deployment").setLevel(logging.CRITICAL)
    try:
        asyncio.run(Fuzzed(preset, tmp_path, counts, found).run())
    finally:
        logging.getLogger("fedbandits.deployment").setLevel(logging.NOTSET)
    assert found.total() > 300
    assert found["frame: SealError"] > 100
    assert sum(count for kind, count in found.items() if kind.endswith("Error")) > 250
