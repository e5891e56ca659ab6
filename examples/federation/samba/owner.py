"""The application of a data owner: answers its party's pulls until the order is done.

    python owner.py books --url http://127.0.0.1:8420 --mean 0.3

The token is read from the standard input, so that it is seen in no list of processes. The offer is
shown whenever the party asks for it; whether it is clicked is made up here.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time

import numpy as np

from fedbandits.client import (
    Client,
    DuplicateError,
    LateError,
    RefusedError,
    UnavailableError,
    UnreachableError,
)

#: Seconds to wait for a pull in one request, and after one that had no answer.
WAIT, PAUSE = 2.0, 0.2


def main() -> None:
    """Answer pulls; write down how many there were, and what they earned in truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--url", required=True)
    parser.add_argument("--mean", type=float, required=True, help="how likely a click is")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--truth", type=pathlib.Path, help="where the truth is written")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    pulls = clicks = 0
    with Client(given.url, sys.stdin.readline().strip()) as client:
        while not _is_done(client):
            pull = _next_pull(client)
            if pull is not None:
                clicked = int(rng.random() < given.mean)
                if _told(client, pull, clicked):
                    pulls, clicks = pulls + 1, clicks + clicked
    print(f"{given.name}: shown {pulls} times, clicked {clicks} times", flush=True)
    if given.truth is not None:
        given.truth.write_text(json.dumps({"pulls": pulls, "clicks": clicks}), encoding="utf-8")


def _is_done(client: Client) -> bool:
    try:
        return bool(client.status()["stage"] in ("done", "ended"))
    except (UnreachableError, UnavailableError):
        time.sleep(PAUSE)
        return False


def _next_pull(client: Client) -> str | None:
    """The pull that is due; None if none is for a while."""
    try:
        return client.next_pull(wait=WAIT)
    except (UnreachableError, UnavailableError):
        time.sleep(PAUSE)
        return None


def _told(client: Client, pull: str, clicked: int) -> bool:
    """Tell of a pull, again where there was no answer: it counts once."""
    while True:
        try:
            client.pull(pull, clicked)
        except UnreachableError:
            time.sleep(PAUSE)
        except (DuplicateError, LateError):  # it had arrived; the answer was lost
            return True
        except (UnavailableError, RefusedError):  # it is not due any more
            return False
        else:
            return True


if __name__ == "__main__":
    main()
