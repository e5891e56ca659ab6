"""Ask running parties on this machine for their status, at their doors."""

from __future__ import annotations

import ssl
from typing import Any

import httpx
import msgspec

from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.deployment.process.running import Running, read_running
from fedbandits.errors import DeploymentError

#: Seconds that an answer may take.
_TIMEOUT = 5.0


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a party tells of itself.

    Parameters
    ----------
    party, role
        Who it is.
    running
        Whether its process answers.
    url
        Where its door is; empty where it does not run.
    status, privacy
        See :func:`.reports.status_of` and :func:`.reports.privacy_of`; empty where it does not run.
    problem
        Why it cannot be asked.
    """

    party: str
    role: str
    running: bool
    url: str = ""
    status: dict[str, Any] = {}
    privacy: dict[str, Any] = {}
    problem: str = ""


class Asking:
    """Asks the party of a folder.

    Parameters
    ----------
    folder
        The party's.
    """

    def __init__(self, folder: PartyFolder) -> None:
        self.folder = folder

    def ready(self) -> Running | None:
        """Where it runs, if it is ready: connected, and able to decide."""
        running = read_running(self.folder.path)
        if running is None:
            return None
        try:
            return running if self._get(running, "/readyz").is_success else None
        except httpx.TransportError:
            return None

    def told(self) -> Told:
        """What it tells of itself."""
        member = self.folder.member
        role = self.folder.federation.seat_of(member).role.name
        running = read_running(self.folder.path)
        if running is None:
            return Told(party=member, role=role, running=False)
        try:
            status = self._get(running, "/v1/status")
            privacy = self._get(running, "/v1/privacy")
        except httpx.TransportError:  # it was killed
            return Told(party=member, role=role, running=False)
        problem = "" if status.is_success else f"its door answers {status.status_code}"
        return Told(
            party=member,
            role=role,
            running=True,
            url=running.url,
            status=status.json() if status.is_success else {},
            privacy=privacy.json() if privacy.is_success else {},
            problem=problem,
        )

    def order(self) -> dict[str, Any]:
        """Have a running customer read how its run has ended; its status.

        Raises
        ------
        DeploymentError
            If it does not run, or refuses.
        """
        running = read_running(self.folder.path)
        if running is None:
            raise DeploymentError(f"{self.folder.member}: does not run")
        try:
            answer = self._request("POST", running, "/v1/orders")
        except httpx.TransportError as error:
            raise DeploymentError(
                f"{self.folder.member}: its door does not answer ({type(error).__name__})"
            ) from None
        told: dict[str, Any] = answer.json()
        if not answer.is_success:
            raise DeploymentError(f"{told.get('title')}: {told.get('detail')}")
        return told

    def _get(self, running: Running, path: str) -> httpx.Response:
        return self._request("GET", running, path)

    def _request(self, method: str, running: Running, path: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {running.token}"}
        with httpx.Client(verify=self._verify(), timeout=_TIMEOUT, trust_env=False) as client:
            return client.request(method, running.url + path, headers=headers)

    def _verify(self) -> ssl.SSLContext | bool:
        """The door's own certificate is the one to be trusted, whatever it is for."""
        certificate = self.folder.settings.door.certificate
        if certificate is None:
            return False  # no TLS at all
        context = ssl.create_default_context(cafile=self.folder.path / certificate)
        context.check_hostname = False
        return context
