"""A federation on this machine, by the command alone."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

from fedbandits import cli
from fedbandits.client import Client
from tests.deployment.one_machine import free_port

TEXT = """
name = "clinics"
rounds = 1000
noise = "{noise}"
message_time = "{message_time}"
[system]
preset = "feducb"
schedule = "every(1)"
epsilon = 1.0
delta = 1e-5
[facts]
parties = 2
dimension = 3
arms = 4
[members]
agent = ["north", "south"]
controller = ["hub"]
[clock]
kind = "live"
start = {start}
every = "{every}"
[transport]
servers = ["tls://127.0.0.1:{port}"]
"""
ACTIONS = [[0.123456789, 0.0, 0.0], [0.0, 0.987654321, 0.0]]
_PATIENCE = 90.0


def clinics_file(folder, noise="secure", every="1 h", start="2999-01-01T00:00:00Z"):
    path = folder / "clinics.toml"
    path.write_text(
        TEXT.format(noise=noise, every=every, start=start, message_time="1 s", port=free_port())
    )
    return path


def fedbandits(*arguments, code=0):
    """Run the command as a user does, in this process; its output, or its error if it fails."""
    out, err, root = io.StringIO(), io.StringIO(), logging.getLogger()
    before = list(root.handlers), root.level, logging.getLogger("fedbandits").level
    shown, argv, sys.argv = warnings.showwarning, sys.argv, ["fedbandits", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _in_time():
            cli.main()
    except SystemExit as ending:
        found = ending.code or 0
    finally:
        logging.captureWarnings(False)
        sys.argv, warnings.showwarning = argv, shown
        root.handlers[:], root.level, logging.getLogger("fedbandits").level = before
    assert found == code, err.getvalue()
    if code:
        lines = [line for line in err.getvalue().splitlines() if line.startswith("fedbandits: ")]
        assert len(lines) == 1, err.getvalue()
    return out.getvalue() if code == 0 else err.getvalue()


@contextlib.contextmanager
def _in_time():
    """Whatever hangs is ended."""

    def end(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(int(_PATIENCE))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def until(look, what):
    """Wait until something is there; what it is."""
    end = time.monotonic() + _PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
    return found


class Started:
    """A command that runs until it is told to end."""

    def __init__(self, *arguments, **surroundings):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fedbandits", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **surroundings},
        )
        self.said, self.logged = [], []
        self._threads = [
            threading.Thread(target=self._read, args=args, daemon=True)
            for args in ((self.process.stdout, self.said), (self.process.stderr, self.logged))
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def _read(self, stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def until_said(self, text):
        return until(
            lambda: any(text in line for line in [*self.said, *self.logged]),
            f"{text} in {self.said} {self.logged}",
        )

    def end(self, number=signal.SIGINT):
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(_PATIENCE)
        for thread in self._threads:
            thread.join()
        return code


class Machine:
    """A federation's folder, with all its parties."""

    def __init__(self, folder: pathlib.Path, **file):
        self.folder = folder / "clinics"
        self.config = clinics_file(folder, **file)
        self.said = fedbandits(
            "federation", "init", self.config, "--out", self.folder, "--local", "--first-port", 0
        )

    def up(self, *arguments):
        # Rounds of a test are so short that a process that is started again has missed many.
        return Started("federation", "up", self.folder, "--catch-up", *arguments)

    def running(self, name):
        path = self.folder / name / "running.json"
        return json.loads(path.read_text()) if path.exists() else None

    def client(self, name, token):
        return Client(self.running(name)["url"], token)

    def processes(self):
        """Processes that work in this folder, by what they are."""
        found = []
        for each in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                told = (each / "cmdline").read_bytes().decode(errors="replace")
                where = os.readlink(each / "cwd")
            except OSError:
                continue
            if str(self.folder) in told or where.startswith(str(self.folder)):
                found.append(told.replace("\0", " "))
        return found


def told(folder):
    """What running parties tell of themselves, by name."""
    return {
        each["party"]: each
        for each in json.loads(fedbandits("federation", "status", folder, "--json"))
    }


def asked(machine, name):
    """The same of one party, by its door: quickly, for a test that waits."""
    running = machine.running(name)
    if running is None:
        return {}
    with Client(running["url"], running["token"]) as client:
        return client.status() | client.privacy()
