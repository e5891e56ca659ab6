"""Logs that nobody can flood."""

from __future__ import annotations

import io
import logging

import pytest

from fedbandits.deployment.process import party_process
from fedbandits.deployment.process.party_process import (
    MOST_ALIKE,
    WINDOW,
    JsonLines,
    LimitedHandler,
)

FULL, BAD = "%s: the store is full: %d", "%s: a list of members is forged"


@pytest.fixture
def log():
    """A function that logs at a time, and the lines that are written."""
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))

    def say(at, text, *values, level=logging.WARNING):
        line = [FULL, BAD].index(text) if text in (FULL, BAD) else 7
        record = logging.LogRecord("fedbandits", level, "store.py", line, text, values, None)
        record.created = at
        handler.handle(record)

    say.lines = lambda: stream.getvalue().splitlines()
    say.handler = handler
    return say


def test_a_full_disk_writes_few_lines_and_says_how_many_more_there_were(log):
    for i in range(1231):
        log(0.04 * i, FULL, "north", i)
    log(WINDOW, FULL, "north", 9999)
    lines = log.lines()
    assert lines[:MOST_ALIKE] == [
        f"WARNING north: the store is full: {i}" for i in range(MOST_ALIKE)
    ]
    assert lines[MOST_ALIKE:] == [
        f"WARNING {1231 - MOST_ALIKE:,} more lines like this one were left out: "
        "north: the store is full: 1230",
        "WARNING north: the store is full: 9999",
    ]


def test_other_lines_are_written_and_tell_what_was_left_out(log):
    for i in range(15):
        log(1.0, FULL, "north", i)
    log(2.0, BAD, "north")
    log(WINDOW + 2.0, "a request", level=logging.INFO)
    assert log.lines()[MOST_ALIKE:] == [
        "WARNING north: a list of members is forged",
        "WARNING 5 more lines like this one were left out: north: the store is full: 14",
        "INFO a request",
    ]


def test_requests_are_never_left_out(log):
    for _ in range(5 * MOST_ALIKE):
        log(1.0, "a request", level=logging.INFO)
    assert len(log.lines()) == 5 * MOST_ALIKE


def test_what_was_left_out_is_said_at_the_end(log):
    for i in range(MOST_ALIKE + 2):
        log(1.0, FULL, "north", i)
    log.handler.close()
    assert log.lines()[-1].startswith("WARNING 2 more lines like this one were left out")


def test_as_many_kinds_as_there_may_be_take_no_more_memory(log, monkeypatch):
    monkeypatch.setattr(party_process, "_MOST_KINDS", 2)
    for text in (FULL, BAD) * 20:
        log(1.0, text, *(("north", 1) if text == FULL else ("north",)))
    assert len(log.handler._kinds) <= 2


def test_a_count_is_one_json_object_as_other_lines_are():
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(JsonLines("north"))
    for _ in range(MOST_ALIKE + 1):
        handler.handle(
            logging.LogRecord("fedbandits", 40, "app.py", 1, '{"problem":"internal"}', (), None)
        )
    handler.close()
    assert '"message":"1 more lines like this one were left out' in stream.getvalue()
