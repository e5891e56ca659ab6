"""Signals to end: of a supervisor, of a user, and of a terminal that is closed."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from fedbandits.deployment.process.party_process import told_to_end


async def _told(number):
    told, again = asyncio.Event(), asyncio.Event()
    with told_to_end(told, lambda _: again.set()):
        for event in (told, again):
            os.kill(os.getpid(), number)
            await asyncio.wait_for(event.wait(), 10.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_every_signal_to_end_is_heard_twice(number):
    asyncio.run(_told(number))


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
