"""Parts of an audit in processes of their own."""

from __future__ import annotations

import os

import pytest

from fedbandits.errors import BackendError
from fedbandits.experiments.audits.audit import play_parts
from fedbandits.experiments.audits.parts import AuditPart, Part


class Heard:
    """Keeps what parts came to."""

    def __init__(self):
        self.found = {}

    def begin(self, place):
        pass

    def advance(self, place, share):
        pass

    def finish(self, place, found):
        self.found[place] = found

    def leave_if_stopped(self):
        pass


def part(played):
    return AuditPart(Part("system", "contents", "releases"), played)


def test_what_parts_come_to_is_kept_by_their_places():
    heard = Heard()
    play_parts([part(lambda _, place=place: place) for place in range(5)], heard, 2)
    assert heard.found == {place: place for place in range(5)}


def test_a_process_that_dies_is_told_of():
    with pytest.raises(BackendError, match="the process that played releases of system died"):
        play_parts([part(lambda _: os._exit(9)), part(lambda _: None)], Heard(), 2)
