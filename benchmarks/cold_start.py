"""Seconds from a federation's file to its first decision, by the commands a newcomer types.

Three agents and a controller, a process each, and a broker with TLS; the first decision is durable
and answered over HTTP. Once with an empty cache of compiled kernels, as after an installation, and
once more with what that has left. The clock on the wall, one run each: other work on the machine
shows. Processor seconds, of all processes until all have ended, show less of it.

    python benchmarks/cold_start.py [PRESET]      feducb by default
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

from fedbandits.client import Client

REQUESTS = {
    "actions": {"actions": [[0.1, 0.0, 0.0, 0.0], [0.0, 0.1, 0.0, 0.0]]},
    "fclub": {"user": 0, "items": [[0.1, 0.0, 0.0, 0.0], [0.0, 0.1, 0.0, 0.0]]},
    "pfcb": {},
}


def main() -> None:
    preset = sys.argv[1] if len(sys.argv) > 1 else "feducb"
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        surroundings = {**os.environ, "XDG_CACHE_HOME": str(here / "cache")}
        surroundings.pop("NUMBA_CACHE_DIR", None)
        for title in ("empty cache", "warm cache"):
            out = here / title.replace(" ", "-")
            before = processor_seconds()
            laps = begin(preset, out, surroundings)
            spent = processor_seconds() - before
            total = sum(laps.values())
            shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in laps.items())
            print(
                f"{preset}, {title:12} {total:6.1f} s: {shown}; processor {spent:.1f}", flush=True
            )


def begin(preset: str, out: pathlib.Path, surroundings: dict[str, str]) -> dict[str, float]:
    """Seconds of each step."""
    command = [sys.executable, "-m", "fedbandits", "federation"]
    config = out.with_suffix(".toml")
    text = subprocess.run(  # noqa: S603 - our own command
        [*command, "example", preset, "--port", str(free_port())],
        env=surroundings, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    config.write_text(text, encoding="utf-8")
    laps, began = {}, time.monotonic()
    subprocess.run(  # noqa: S603
        [*command, "init", str(config), "--out", str(out), "--local", "--first-port", "0"],
        env=surroundings, check=True, capture_output=True,
    )  # fmt: skip
    laps["init"], began = time.monotonic() - began, time.monotonic()
    with subprocess.Popen(  # noqa: S603
        [*command, "up", str(out)], env=surroundings, stdout=subprocess.PIPE, text=True
    ) as up:
        try:
            assert up.stdout is not None
            for line in up.stdout:
                if line.startswith("ready"):
                    break
            laps["up"], began = time.monotonic() - began, time.monotonic()
            running = json.loads((out / "north" / "running.json").read_text())
            request = REQUESTS.get(preset.partition("-")[0], REQUESTS["actions"])
            with Client(running["url"], running["token"]) as client:
                client.decide(**request)
            laps["first decision"] = time.monotonic() - began
        finally:
            up.send_signal(signal.SIGINT)
    return laps


def processor_seconds() -> float:
    """User and system time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
