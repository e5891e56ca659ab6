"""The doors of running parties on this machine: ask for their status, and order runs."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from fedbandits.deployment.door import new_loop
from fedbandits.deployment.identity.identity import Path
from fedbandits.deployment.process.folder import LogSettings, PartyFolder, load_party
from fedbandits.deployment.process.party_process import log_to_stderr
from fedbandits.deployment.process.running import (
    CUSTOMER,
    CustomerNode,
    Running,
    RunningParty,
    read_running,
)
from fedbandits.errors import ConfigError, DeploymentError

#: Seconds that an answer may take.
_TIMEOUT = 5.0


class PartyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A party's answer about itself.

    ``url`` is where its door is. ``status`` and ``privacy`` are as :class:`.node.Node` reports
    them. All are empty where it does not run. ``problem`` says why it cannot be asked.
    """

    party: str
    role: str
    running: bool
    url: str = ""
    status: dict[str, Any] = {}
    privacy: dict[str, Any] = {}
    problem: str = ""


class LocalDoor:
    """The door of a party that may run on this machine."""

    def __init__(self, folder: PartyFolder) -> None:
        self.folder = folder

    def ready(self) -> Running | None:
        """Return where it runs, if it is ready: connected, and able to decide."""
        running = read_running(self.folder.path)
        if running is None:
            return None
        try:
            return running if self._ask(running, "/readyz").is_success else None
        except httpx.TransportError:
            return None

    def report(self) -> PartyReport:
        """Ask the party for its status and its privacy."""
        member = self.folder.member
        role = self.folder.federation.seat_of(member).role.name
        running = read_running(self.folder.path)
        if running is None:
            return PartyReport(party=member, role=role, running=False)
        try:
            status = self._ask(running, "/v1/status")
            privacy = self._ask(running, "/v1/privacy")
        except httpx.TransportError:  # it was killed
            return PartyReport(party=member, role=role, running=False)
        problem = "" if status.is_success else f"its door answers {status.status_code}"
        return PartyReport(
            party=member,
            role=role,
            running=True,
            url=running.url,
            status=status.json() if status.is_success else {},
            privacy=privacy.json() if privacy.is_success else {},
            problem=problem,
        )

    def order(self) -> dict[str, Any]:
        """Have a running customer read how its run has ended; return its status.

        Raises DeploymentError if it does not run, or refuses.
        """
        running = read_running(self.folder.path)
        if running is None:
            raise DeploymentError(f"{self.folder.member}: does not run")
        try:
            answer = self._ask(running, "/v1/orders", "POST")
        except httpx.TransportError as error:
            raise DeploymentError(
                f"{self.folder.member}: its door does not answer ({type(error).__name__})"
            ) from None
        told: dict[str, Any] = answer.json()
        if not answer.is_success:
            raise DeploymentError(f"{told.get('title')}: {told.get('detail')}")
        return told

    def _ask(self, running: Running, path: str, method: str = "GET") -> httpx.Response:
        headers = {"authorization": f"Bearer {running.token}"}
        with httpx.Client(verify=self._verify(), timeout=_TIMEOUT, trust_env=False) as client:
            return client.request(method, running.url + path, headers=headers)

    def _verify(self) -> ssl.SSLContext | bool:
        """Trust the door's own certificate alone, whatever it is for."""
        certificate = self.folder.settings.door.certificate
        if certificate is None:
            return False  # no TLS at all
        context = ssl.create_default_context(cafile=self.folder.path / certificate)
        context.check_hostname = False
        return context


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


def _asked(door: LocalDoor, say: Say) -> int:
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
