"""A federation on this machine, by the commands that you would type; they are printed.

The examples beside it share this. It makes the folder, starts ``fedbandits federation up``, and
stops it again whatever happens.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fedbandits.client import Client, DoorError

#: Seconds that a party may take to start, or to end.
PATIENCE = 120.0


class Machine:
    """A federation's folder on this machine.

    Parameters
    ----------
    source
        The federation's file. Its clock is set to begin soon, and its broker to a free port.
    folder
        Where everything is made; what an earlier run has left there is removed.
    begins
        Seconds from now until the clock begins; by default how long this machine may need to start.
        What is due by the clock before the parties have begun would be released without records.
    every
        Another length of a round, if given.
    rounds
        Another number of rounds, if given.
    """

    def __init__(
        self,
        source: pathlib.Path,
        folder: pathlib.Path,
        begins: float | None = None,
        every: str | None = None,
        rounds: int | None = None,
    ) -> None:
        self.folder = folder
        _remove(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if begins is None:
            begins = min(40.0, 6.0 + 10.0 * _compile(source))
        broker, door = free_ports(1), free_ports(12)
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=begins)
        self.start = start.timestamp()
        changes = {
            r"^start = .*$": f"start = {start.isoformat(timespec='milliseconds')}",
            r"127\.0\.0\.1:\d+": f"127.0.0.1:{broker}",
        }
        if every is not None:
            changes[r"^every = .*$"] = f'every = "{every}"'
        if rounds is not None:
            changes[r"^rounds = \d+"] = f"rounds = {rounds}"
        text = source.read_text(encoding="utf-8")
        for pattern, new in changes.items():
            text = re.sub(pattern, new, text, flags=re.MULTILINE)
        config = folder.with_suffix(".toml")
        config.write_text(text, encoding="utf-8")
        self.command("federation", "init", config, "--out", folder, "--local", "--first-port", door)

    def command(self, *arguments: object, secret: bool = False) -> str:
        """Run a command to its end; what it has printed, which is shown unless it is secret."""
        say_command(*arguments)
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "fedbandits", *map(str, arguments)],
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"that has failed, with exit code {done.returncode}")
        if not secret:
            print(done.stdout, end="", flush=True)
        return done.stdout

    @contextlib.contextmanager
    def up(self, *options: str) -> Iterator[None]:
        """Run the broker and all parties; they have ended when the block has, whatever happens."""
        arguments = ["federation", "up", str(self.folder), *options]
        say_command(*arguments)
        # A session of its own: Ctrl-C is for this program, which then stops the others in order.
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "fedbandits", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        ready = threading.Event()
        shows = threading.Thread(target=_show, args=(process.stdout, ready), daemon=True)
        shows.start()
        try:
            _wait(process, ready)
            yield
        finally:
            _end(process)
            shows.join()

    def wait_for_start(self) -> None:
        """Wait until the clock begins."""
        if (left := self.start - time.time()) > 0.0:
            print(f"the clock begins in {left:.0f} s", flush=True)
            time.sleep(left)

    def running(self, name: str) -> Mapping[str, Any]:
        """What a running party leaves in its folder: its process, and where its door is."""
        found: Mapping[str, Any] = json.loads((self.folder / name / "running.json").read_text())
        return found

    def token(self, name: str, whose: str) -> str:
        """A token for an application."""
        return self.command(
            "party", "token", self.folder / name, "--name", whose, secret=True
        ).strip()

    def client(self, name: str, token: str) -> Client:
        """A client of a party's door."""
        return Client(self.running(name)["url"], token)

    def kill(self, name: str) -> None:
        """End a party's process at once: it cannot save anything."""
        pid = self.running(name)["pid"]
        print(f"$ kill -9 {pid}    # the process of {name}", flush=True)
        os.kill(pid, signal.SIGKILL)


def _show(lines: Iterable[str], ready: threading.Event) -> None:
    """Show what a command says, and notice when all are ready."""
    for line in lines:
        print(f"  | {line}", end="", flush=True)
        if line.startswith("ready: "):
            ready.set()


def _wait(process: subprocess.Popen[str], ready: threading.Event) -> None:
    end = time.monotonic() + PATIENCE
    while not ready.wait(0.1):
        if process.poll() is not None:
            raise SystemExit("federation up has ended; its last lines say why")
        if time.monotonic() > end:
            raise SystemExit("the parties are not ready; see the lines above")


def _end(process: subprocess.Popen[str]) -> None:
    """End it in order; at once, if that takes too long."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # the second signal ends them at once
        process.wait()


def say_command(*arguments: object) -> None:
    """Show a command as it would be typed."""
    print("$ fedbandits " + " ".join(map(str, arguments)), flush=True)


def stop_at_sigterm() -> None:
    """End in order at SIGTERM, too: as at Ctrl-C."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def until_answers(client: Client) -> None:
    """Wait until a door answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            client.status()
        except DoorError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


def free_ports(count: int) -> int:
    """The first of so many ports of this machine, one after the other, that are free now."""
    while True:
        with contextlib.ExitStack() as opened:
            first = opened.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            if first + count > 65_535:
                continue
            try:
                for port in range(first + 1, first + count):
                    opened.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return int(first)


def _compile(source: pathlib.Path) -> float:
    """Compile what the parties need before the clock is set; seconds that a party needs to start.

    Compiling takes a minute, once.
    """
    prepare = (
        "import sys; from fedbandits.deployment.process.rehearsal import warm;"
        "from fedbandits.settings.federation import load_federation;"
        "say = lambda: print('Compiling what the parties need: once, it takes a minute.');"
        "sys.exit(10 * bool(warm(load_federation(sys.argv[1]), {}, say)))"
    )
    for _ in range(2):  # the second time shows how long it takes from then on
        began = time.monotonic()
        command = [sys.executable, "-c", prepare, str(source)]
        done = subprocess.run(command, check=False)  # noqa: S603 - our own command
        if done.returncode == 0:
            break
    return time.monotonic() - began


def _remove(folder: pathlib.Path) -> None:
    """Remove what an earlier run has left; nothing else."""
    if folder.exists():
        if not (folder / "authority").is_dir():
            raise SystemExit(f"{folder}: is there, and no example has made it; name another --out")
        shutil.rmtree(folder)
