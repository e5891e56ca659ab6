"""What the tests of the ledger share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import pytest

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import ContinualSum, GaussianRelease
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.continual import calibrated
from fedbandits.privacy.ledger import Ledger

EPSILON, DELTA = 1.0, 1e-5
BUDGET = gaussian.mu_of(EPSILON, DELTA)
CLAIM = PrivacyClaim(
    unit="one record",
    from_whom="the controller",
    relation="replace-one",
    holds_for="interactive",
    epsilon=EPSILON,
    epsilon_contents=EPSILON,
    delta=DELTA,
    mu=BUDGET,
)
#: Python from 3.12 on warns of a fork where a library has threads; these children call none.
forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


class Clock:
    """Tells what it is told to, a second later each time."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@contextlib.contextmanager
def ledger_at(path: object, *parties: str, **settings: object) -> Iterator[Ledger]:
    """A ledger in which the parties have an account of ``EPSILON`` and ``DELTA``."""
    settings = {"clock": Clock()} | settings
    with Ledger.open(path, "hospitals", **settings) as ledger:
        with ledger.begin() as connection:
            for party in parties:
                ledger.open_account(connection, party, CLAIM, EPSILON, DELTA)
        yield ledger


def running_sum(releases: int, mu: float = BUDGET, mechanism: str = "toeplitz") -> ContinualSum:
    """A stream that costs μ when all its releases are made."""
    return ContinualSum(calibrated(mechanism, releases, mu, 2.0), 2.0)


def single(mu: float) -> GaussianRelease:
    """One release that costs μ."""
    return GaussianRelease(mu, 1.0)


def in_child(action: Callable[[], int]) -> int:
    """Run ``action`` in a forked process, whose exit status it returns; gives the process's id."""
    child = os.fork()
    if child:
        return child
    status = 99
    try:
        status = action()
    finally:
        os._exit(status)  # nothing of pytest's may run a second time
