"""A PostgreSQL server of one's own, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator

import sqlalchemy as sa

#: Where Debian keeps programs that are not on the path.
_DEBIAN = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def program(name: str) -> str | None:
    """Where one of PostgreSQL's programs is, or None."""
    found = shutil.which(name)
    return found or next((str(b / name) for b in _DEBIAN if (b / name).exists()), None)


def missing() -> str:
    """Why there can be no server; empty if there can."""
    absent = [name for name in ("initdb", "postgres") if program(name) is None]
    return f"PostgreSQL is not installed: no {', '.join(absent)}" if absent else ""


def _servant() -> str | None:
    """Who runs it: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    """A port of the loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start a server; yields the address of its first database, and stops it."""
    folder, user = tempfile.mkdtemp(prefix="postgres-"), _servant()
    if user is not None:
        shutil.chown(folder, user)
    data, port = os.path.join(folder, "data"), free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(
        [program("initdb"), "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True, user=user, **quiet,
    )  # fmt: skip
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", folder]
    running = subprocess.Popen(
        [program("postgres"), "-D", data, "-p", str(port), *options], user=user, **quiet
    )
    address = f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
    try:
        _wait(address, running)
        yield address
    finally:
        running.send_signal(signal.SIGINT)  # ends all sessions
        running.wait(30)
        shutil.rmtree(folder)


def _wait(address: str, running: subprocess.Popen[bytes]) -> None:
    engine, end = sa.create_engine(address), time.monotonic() + 60
    try:
        while True:
            try:
                engine.connect().close()
            except sa.exc.OperationalError:
                assert running.poll() is None, "the server has ended"
                assert time.monotonic() < end, "the server does not answer"
                time.sleep(0.05)
            else:
                return
    finally:
        engine.dispose()


def database(address: str, name: str) -> str:
    """Make a database; returns its address."""
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return address.rpartition("/")[0] + f"/{name}"


def copy(now: str, older: str) -> None:
    """Make a database what another one is at this moment, as a backup would."""
    (server, _, name), (_, _, to) = now.rpartition("/"), older.rpartition("/")
    engine = sa.create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f'DROP DATABASE "{to}"'))
        connection.execute(sa.text(f'CREATE DATABASE "{to}" TEMPLATE "{name}"'))
    engine.dispose()
