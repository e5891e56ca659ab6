"""All that changes in a P-FCB run, as arrays that compiled code and a file can hold."""

from __future__ import annotations

import numpy as np

from fedbandits.environments.needs import F64, Memory, Needs
from fedbandits.systems.pfcb.kernels.state import Clock, State, Tally, empty_books
from fedbandits.systems.pfcb.plan import PFCBPlan


def initial_state(plan: PFCBPlan) -> State:
    """Return the state before the first round."""
    n, m = plan.constants.agents, plan.constants.producers
    return State(
        clock=Clock(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        faults=np.zeros(n, np.int64),
        books=empty_books(n, m),
        draws=np.zeros((n, plan.slots, 2 * m)),
        reports=np.zeros((n, 2, m)),
        tally=Tally(
            regret=np.zeros(n),
            late_regret=np.zeros(n),
            reward=np.zeros(n),
            violations=np.zeros(n, np.int64),
            empty=np.zeros(n, np.int64),
            units=np.zeros(n, np.int64),
            judged=np.zeros((n, 2), np.int64),
        ),
    )


def needs(plan: PFCBPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds after it."""
    pairs = plan.constants.agents * plan.constants.producers
    keys = "environment.agents or environment.producers"
    parts = (
        Memory("books and reports of buyers", 8 * pairs * F64, keys),
        Memory("noise that is kept for later reports", 2 * plan.slots * pairs * F64, keys),
    )
    exchanges = min(plan.constants.releases, plan.rounds)
    judged = 10.0 * plan.constants.agents  # everybody judges everybody's report
    report = 40.0 + plan.slots + judged
    return Needs(parts, pairs * (30.0 * plan.rounds + exchanges * report))
