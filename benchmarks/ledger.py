"""Charges a second of a privacy ledger by how many share a transaction, with and without a draw.

    python benchmarks/ledger.py [FOLDER]

The ledger lies in FOLDER, by default the temporary one: a commit is as fast as that folder's disk.
Medians over repetitions, each with an account of its own in one ledger.
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from sqlalchemy.engine import Connection

from fedbandits.privacy.accounting import ContinualSum, Event, GaussianRelease
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.continual import calibrated
from fedbandits.privacy.ledger import Ledger

EPSILON, DELTA = 1e5, 1e-5  # speed does not depend on them
REPETITIONS = 5
CLAIM = PrivacyClaim(
    unit="one record",
    from_whom="everybody",
    relation="replace-one",
    holds_for="interactive",
    epsilon=EPSILON,
    epsilon_contents=EPSILON,
    delta=DELTA,
    mu=1.0,
)
PLAN = calibrated("toeplitz", 2000, 1.0, 2.0)
#: A packed statistic of d = 10 is as long.
DRAW = np.zeros(65)


def running_sum(k: int) -> tuple[str, int, Event]:
    return "sum", k, ContinualSum(PLAN, 2.0, k)


def single(k: int) -> tuple[str, int, Event]:
    return f"release {k}", 1, GaussianRelease(1.0, 2.0)


def charged(ledger: Ledger, connection: Connection, party: str, release: tuple) -> None:
    ledger.charge(connection, party, *release)


def drawn(ledger: Ledger, connection: Connection, party: str, release: tuple) -> None:
    ledger.draw(connection, party, *release, lambda: DRAW)


def speed(
    ledger: Ledger,
    pay: Callable[..., None],
    release: Callable[[int], tuple],
    charges: int,
    together: int,
) -> float:
    """Median charges a second, ``together`` in each transaction."""
    speeds = []
    for repetition in range(REPETITIONS + 1):
        party = f"{pay.__name__} {release.__name__} {together} {repetition}"
        with ledger.begin() as connection:
            ledger.open_account(connection, party, CLAIM, EPSILON, DELTA)
        began = time.perf_counter()
        for first in range(1, charges + 1, together):
            with ledger.begin() as connection:
                for k in range(first, first + together):
                    pay(ledger, connection, party, release(k))
        speeds.append(charges / (time.perf_counter() - began))
    return statistics.median(speeds[1:])


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        path = pathlib.Path(folder) / "ledger.db"
        with Ledger.open(path, "benchmark") as ledger:
            print(f"per second, medians of {REPETITIONS}: {'charges':>30s}{'with a draw':>14s}")
            for title, charges, together in (
                ("one commit each, durable", 500, 1),
                ("20 in a transaction", 2000, 20),
                ("2,000 in a transaction", 2000, 2000),
            ):
                for release in (running_sum, single):
                    both = [speed(ledger, p, release, charges, together) for p in (charged, drawn)]
                    name = f"{title}, {release.__name__.replace('_', ' ')}"
                    print(f"  {name:42s}{both[0]:12,.0f}{both[1]:14,.0f}", flush=True)
            began = time.perf_counter()
            with ledger.read() as connection:
                ledger.verify(connection)
                rows = sum(
                    ledger.statement(connection, p).charges for p in ledger.parties(connection)
                )
            print(f"every row verified, {rows:,} charges: {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        with Ledger.open(path, "benchmark"):
            print(
                f"opened: {time.perf_counter() - began:.2f} s, {path.stat().st_size / 1e6:.0f} MB"
            )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
