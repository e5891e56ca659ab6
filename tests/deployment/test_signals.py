"""Signals to end: of a supervisor, of a user, and of a terminal; and what a supervisor is told."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from fedbandits._compile.cache import _root
from fedbandits.deployment.process import party_process, rehearsal
from fedbandits.deployment.process.federation_folder import init_federation
from fedbandits.deployment.process.folder import load_party
from fedbandits.deployment.process.party_process import told_to_end
from tests.deployment.machines import clinics_file, fedbandits


async def _told(number):
    told, again = asyncio.Event(), asyncio.Event()
    with told_to_end(told, lambda _: again.set()):
        for event in (told, again):
            os.kill(os.getpid(), number)
            await asyncio.wait_for(event.wait(), 10.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_every_signal_to_end_is_heard_twice(number):
    before = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it
    try:
        asyncio.run(_told(number))
    finally:
        signal.signal(number, before)


def test_what_was_started_to_outlive_its_terminal_does(monkeypatch):
    """``nohup`` has the signal ignored, and it stays so."""

    async def stays():
        told = asyncio.Event()
        with told_to_end(told):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        return told.is_set()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert asyncio.run(stays()) is False
    finally:
        signal.signal(signal.SIGHUP, before)


def test_who_compiles_says_so_at_once_and_asks_for_time(tmp_path, monkeypatch, caplog):
    init_federation(clinics_file(tmp_path), tmp_path / "clinics", local=True)
    party, told = load_party(tmp_path / "clinics" / "north"), []
    monkeypatch.setattr(party_process, "notify", told.append)

    def warm(federation, own, on_first):
        on_first()
        assert told == ["STATUS=compiling\nEXTEND_TIMEOUT_USEC=600000000"]
        assert "north: compiles what it needs; that takes up to a minute" in caplog.text
        return 3

    monkeypatch.setattr(party_process, "warm", warm)
    for kept, said in ((True, "which are kept"), (False, "which are not kept: the next start")):
        told.clear()
        monkeypatch.setattr("fedbandits._compile.cache.are_kept", lambda kept=kept: kept)
        with caplog.at_level(logging.INFO, "fedbandits"):
            party_process._compile(party)
        assert f"compiled 3 kernels, {said}" in caplog.text


STARTS = """
import pathlib, sys, time
from fedbandits.cli.main import main
from fedbandits.deployment.process import party_process
def compiles(party):
    print("compiling", flush=True)
    time.sleep(100)
party_process._compile = compiles
sys.argv = ["fedbandits", "party", "run", sys.argv[1]]
main()
"""


@pytest.mark.parametrize("first", [False, True], ids=["a process", "the first of a container"])
def test_a_signal_to_end_is_heard_while_a_party_starts(tmp_path, first):
    """A process with the number 1 has no default: what it does not handle is lost."""
    init_federation(clinics_file(tmp_path), tmp_path / "clinics", local=True)
    north = tmp_path / "clinics" / "north"
    command = [sys.executable, "-c", STARTS, str(north)]
    if first:
        command = ["unshare", "--pid", "--fork", *command]
        if not shutil.which("unshare") or subprocess.run([*command[:3], "true"]).returncode:
            pytest.skip("no process may have the number 1 here")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "compiling\n"
        number = process.pid
        if first:
            children = pathlib.Path(f"/proc/{number}/task/{number}/children").read_text()
            number = int(children.split()[0])
        try:
            os.kill(number, signal.SIGTERM)
            logged = process.communicate(timeout=60)[1]
        finally:
            process.kill()
            if process.returncode is None:
                os.kill(number, signal.SIGKILL)
    assert process.returncode == 0
    last = json.loads(logged.splitlines()[-1])
    assert last["message"] == "north: ends before it runs, by SIGTERM"
    assert not (north / "starting.json").exists()


def test_a_log_says_why_a_party_has_ended(tmp_path):
    init_federation(clinics_file(tmp_path), tmp_path / "clinics", local=True)
    north = tmp_path / "clinics" / "north"
    (north / "admission.json").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "fedbandits", "party", "run", str(north)],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 10
    told = json.loads(done.stderr.splitlines()[0])
    assert told["level"] == "critical"
    assert told["party"] == "north"
    assert told["message"].startswith("north: ends with exit code 10: IdentityError: ")


def test_a_service_keeps_kernels_in_its_cache_directory(monkeypatch):
    """Its user may have no home, and nothing would be kept there."""
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("CACHE_DIRECTORY", "/var/cache/fedbandits:/var/cache/other")
    assert _root("") == "/var/cache/fedbandits/numba"
    assert _root("/chosen") == "/chosen"
    monkeypatch.delenv("CACHE_DIRECTORY")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert _root("") == "/var/cache/fedbandits/numba"


def test_what_a_party_needs_is_compiled_ahead(tmp_path, monkeypatch):
    """Of a party, or of a federation, as where an image is built."""
    asked = []
    monkeypatch.setattr(rehearsal, "warm", lambda federation, own: asked.append(own) or len(asked))
    file = clinics_file(tmp_path)
    assert fedbandits("party", "warm", file).startswith("Compiled 1 kernel; all are kept in /")
    init_federation(file, tmp_path / "clinics", local=True)
    assert "Compiled 2 kernels" in fedbandits("party", "warm", tmp_path / "clinics" / "north")
    assert asked == [{}, {"north": {}}]
    monkeypatch.setattr("fedbandits._compile.cache.are_kept", lambda: False)
    assert "is not kept" in fedbandits("party", "warm", file, code=2)
