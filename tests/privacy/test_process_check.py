"""Noise of one process tells nothing of another's: mistakes that no run in one process shows."""

from __future__ import annotations

import os
import pathlib

import pytest

import fedbandits
from fedbandits.errors import BackendError
from fedbandits.privacy import protocol_check
from fedbandits.privacy.auditing import unheard
from fedbandits.privacy.protocol_check import check_protocol

#: Where the package lies.
SOURCES = pathlib.Path(fedbandits.__file__).parents[1]


@pytest.fixture(autouse=True)
def compared_anew():
    protocol_check._compared.cache_clear()
    yield
    protocol_check._compared.cache_clear()


def found():
    return check_protocol(protocol_check.process_check(), unheard)


def test_processes_share_no_noise():
    sound = found()
    assert sound.right
    assert sound.found == "10 sources of processes draw no number twice"


@pytest.mark.parametrize(
    ("generator", "said"),
    [
        ("random.Random(7)", "a new process and a new process draw the same noise"),
        ("random.Random()", "a forked process and a forked process draw the same noise"),
    ],
)
def test_one_generator_a_process_is_found(generator, said, tmp_path, monkeypatch):
    """Seeded by a constant, or by the system once: in one process no two runs are alike."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import random, secrets\nsecrets.token_bytes = {generator}.randbytes\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert said in found().wrong


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (
            "seed, begin = secrets.token_bytes(8), SecureNoise.__init__\n"
            "def seeded(r): return lambda n: [round(r.gauss(0, 2**40)) for _ in range(n)]\n"
            "SecureNoise.__init__ = lambda s, _=0: begin(s, seeded(random.Random(seed)))\n",
            "another source of it",
        ),
        ("del SecureNoise.__reduce__\n", "a copy of its source"),
    ],
)
def test_two_sources_of_one_process_that_draw_alike_are_found(mistake, said, tmp_path, monkeypatch):
    """Each with a generator of its own, seeded once a process; or a copy with what is drawn."""
    (tmp_path / "sitecustomize.py").write_text(
        "import random, secrets\n"
        f"from fedbandits.privacy.secure_noise import SecureNoise\n{mistake}"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{SOURCES}")
    assert f"a new process and {said} draw the same noise" in found().wrong


def test_a_number_that_is_drawn_twice_is_found(monkeypatch):
    drawn = [("a new process", frozenset("abc")), ("another", frozenset("defghijk"))]
    monkeypatch.setattr(protocol_check, "_of_new_process", lambda: drawn)
    assert "a new process draws a number twice" in found().wrong


def test_a_process_that_cannot_begin_is_an_error_of_its_own(monkeypatch):
    monkeypatch.setattr(protocol_check.sys, "executable", "/nowhere/python")
    with pytest.raises(BackendError, match="no new process could draw noise"):
        found()
