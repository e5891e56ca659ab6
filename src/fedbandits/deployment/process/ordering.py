"""Orders of runs, by a customer on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from fedbandits.deployment.door import new_loop
from fedbandits.deployment.identity.names import Path
from fedbandits.deployment.process.folder import PartyFolder, load_party
from fedbandits.deployment.process.local_doors import LocalDoor
from fedbandits.deployment.process.own_settings import LogSettings
from fedbandits.deployment.process.party_process import log_to_stderr
from fedbandits.deployment.process.running import CUSTOMER, CustomerNode, RunningParty
from fedbandits.errors import ConfigError, DeploymentError

#: Seconds between two looks.
_LOOK = 0.5
Say = Callable[[str], None]


def order(folder: Path, say: Say) -> int:
    """Order a run, and wait for its total; ``say`` is told how it goes on.

    Raises ConfigError if the folder is no customer's, DeploymentError if the run has ended without
    a total, and FedbanditsError if the customer cannot run.
    """
    party = load_party(folder)
    door = LocalDoor(party)
    role = party.federation.seat_of(party.member).role.name
    if role != CUSTOMER:
        raise ConfigError(f"{folder}: is of {party.member}, whose role is {role}")
    if door.report().running:
        return _asked(door, say)
    log_to_stderr(party.member, LogSettings(format="plain", level="warning"))
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_run(party, say))


def _asked(door: LocalDoor[PartyFolder], say: Say) -> int:
    """Order a run of the customer that runs."""
    progress = _Progress(say)
    while (total := progress.look(door.order())) is None:
        time.sleep(_LOOK)
    return total


async def _run(folder: PartyFolder, say: Say) -> int:
    """Run the customer as long as that takes."""
    party, progress = RunningParty(folder), _Progress(say)
    await party.start()
    try:
        while True:
            if party.failure is not None:
                raise party.failure
            if isinstance(party.node, CustomerNode):
                await party.node.order()
            total = progress.look(party.node.status())
            if total is not None:
                return total
            await asyncio.sleep(_LOOK)
    finally:
        await party.stop()


class _Progress:
    """Says what has changed."""

    def __init__(self, say: Say) -> None:
        self._say, self._said, self._began = say, "", time.monotonic()

    def look(self, status: dict[str, Any]) -> int | None:
        """Return the total, once it is there; raises DeploymentError if the run ended without."""
        stage, total = status["stage"], status.get("total")
        if stage == "ended":
            raise DeploymentError(
                f"{status['party']}: the run has ended without a total; see federation status, and "
                "the log of the controller"
            )
        connected = "connected" if status["connected"] else "not connected to the broker"
        problems = "".join(f"; {who}: {what}" for who, what in status["problems"].items())
        line = f"{connected}, {stage or 'begins'}{problems}"
        if line != self._said:
            self._said = line
            self._say(f"{time.monotonic() - self._began:6.1f} s  {line}")
        return total
