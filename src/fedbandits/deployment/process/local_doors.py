"""The doors of running parties on this machine: ask for their status."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx
import msgspec

from fedbandits.deployment.process.looking import Running, is_starting, read_running
from fedbandits.errors import DeploymentError

if TYPE_CHECKING:  # a plan is not needed
    from fedbandits.deployment.process.folder import PartyFolder
    from fedbandits.deployment.process.looking import SeenParty

#: A party's folder, as somebody has read it who runs it, or who looks at it.
AnyFolder = TypeVar("AnyFolder", "PartyFolder", "SeenParty")
#: Seconds that an answer may take.
_TIMEOUT = 5.0


class PartyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A party's answer about itself.

    ``url`` is where its door is. ``status`` and ``privacy`` are as :class:`.node.Node` reports
    them. All are empty where it does not run, which it may be ``starting`` to do. ``problem``
    says why it cannot be asked.
    """

    party: str
    role: str
    running: bool
    starting: bool = False
    url: str = ""
    status: dict[str, Any] = {}
    privacy: dict[str, Any] = {}
    problem: str = ""


class LocalDoor(Generic[AnyFolder]):
    """The door of a party that may run on this machine."""

    def __init__(self, folder: AnyFolder) -> None:
        self.folder: AnyFolder = folder

    def ready(self) -> Running | None:
        """Return where the party runs, if it is connected, and can do its work."""
        running = read_running(self.folder.path)
        if running is None:
            return None
        try:
            answers = [self._ask(running, probe) for probe in ("/readyz", "/connectedz")]
        except httpx.TransportError:
            return None
        return running if all(answer.is_success for answer in answers) else None

    def report(self) -> PartyReport:
        """Ask the party for its status and its privacy."""
        member = self.folder.member
        role = self.folder.federation.role_of(member)
        running = read_running(self.folder.path)
        away = PartyReport(
            party=member, role=role, running=False, starting=is_starting(self.folder.path)
        )
        if running is None:
            return away
        try:
            status = self._ask(running, "/v1/status")
            privacy = self._ask(running, "/v1/privacy")
        except httpx.TransportError:  # it was killed
            return away
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
