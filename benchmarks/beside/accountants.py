"""The same releases priced by dp-accounting and here: seconds, and the ε that each says."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from beside.table import number, ratio, table
from beside.turns import ratios, take_turns

DELTA = 1e-5
TURNS = 5


def compare(quick: bool) -> str:
    """A row for each stream of releases and each of the peer's accountants."""
    try:
        cases = _cases()
    except ImportError as error:
        return f"Nothing is compared: {error}\n"
    rows = []
    for name, (ours, peers) in cases.items():
        jobs = {"ours": ours, **peers}
        epsilons = {each: job() for each, job in jobs.items()}
        found = take_turns({each: _timed(job) for each, job in jobs.items()}, 3 if quick else TURNS)
        rows += [
            [
                name if each == "ours" else "", each, f"{epsilons[each]:.4f}",
                number(1e3 * median(found[each])), ratio(ratios(found[each], found["ours"])),
            ]
            for each in jobs
        ]  # fmt: skip
    head = ("releases", "accountant", f"ε at δ = {DELTA:g}", "milliseconds", "time, ours = 1")
    return table(head, rows)


def _timed(job: Callable[[], float]) -> Callable[[], float]:
    """Seconds of one call; short ones are repeated for a hundredth of a second."""

    def seconds() -> float:
        spent = calls = 0.0
        while spent < 0.01:
            began = time.process_time()
            job()
            spent += time.process_time() - began
            calls += 1
        return spent / calls

    return seconds


def _cases() -> dict[str, tuple[Callable[[], float], dict[str, Callable[[], float]]]]:
    """For each stream of releases: our price, and the peer's by its accountants."""
    from dp_accounting import dp_event as peer
    from dp_accounting.pld import pld_privacy_accountant
    from dp_accounting.privacy_accountant import NeighboringRelation
    from dp_accounting.rdp import rdp_privacy_accountant

    from fedbandits.privacy import accounting
    from fedbandits.privacy.accounting import ContinualSum, GaussianRelease, LaplaceRelease
    from fedbandits.privacy.continual import ContinualPlan

    def renyi(event: Any, **how: Any) -> Callable[[], float]:
        accountant = partial(rdp_privacy_accountant.RdpAccountant, **how)
        return lambda: accountant().compose(event).get_epsilon(DELTA)

    def losses(event: Any) -> Callable[[], float]:
        return lambda: pld_privacy_accountant.PLDAccountant().compose(event).get_epsilon(DELTA)

    def ours(events: list[Any]) -> Callable[[], float]:
        return lambda: accounting.epsilon(events, DELTA)

    deviations = [20.0 + i for i in range(20)]
    different = peer.ComposedDpEvent([peer.GaussianDpEvent(s) for s in deviations])
    equal = peer.SelfComposedDpEvent(peer.GaussianDpEvent(100.0), 1000)
    mixed = peer.ComposedDpEvent(
        [
            peer.SelfComposedDpEvent(peer.LaplaceDpEvent(20.0), 50),
            peer.SelfComposedDpEvent(peer.GaussianDpEvent(20.0), 50),
        ]
    )
    replaced = NeighboringRelation.REPLACE_SPECIAL
    tree = peer.SingleEpochTreeAggregationDpEvent(10.0, 1000)
    plan = ContinualPlan("tree", 1000, 10.0)
    return {
        "20 Gaussian, each with other noise": (
            ours([GaussianRelease(1.0, s) for s in deviations]),
            {"RDP": renyi(different), "PLD": losses(different)},
        ),
        "1,000 Gaussian, all alike": (
            ours([GaussianRelease(1.0, 100.0)] * 1000),
            {"RDP": renyi(equal), "PLD": losses(equal)},
        ),
        "50 Laplace and 50 Gaussian": (
            ours([LaplaceRelease(1.0, 20.0)] * 50 + [GaussianRelease(1.0, 20.0)] * 50),
            {"RDP": renyi(mixed), "PLD": losses(mixed)},
        ),
        "a tree of 1,000 running sums": (
            ours([ContinualSum(plan, 1.0)]),
            {"RDP": renyi(tree, neighboring_relation=replaced)},
        ),
    }
