"""A P-FCB run as one compiled loop: buyer by buyer between two exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits.environments.base import F64, Environment, Memory, Needs
from fedbandits.privacy.bounds import require_within
from fedbandits.systems.kernels import new_clock
from fedbandits.systems.pfcb.kernels import State, Tally, empty_books
from fedbandits.systems.pfcb.kernels.purchases import new_scratch
from fedbandits.systems.pfcb.kernels.rounds import run_until
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.simulated import CompiledReplicate


class Replicate(CompiledReplicate[PFCBPlan]):
    """One replicate of one P-FCB variant."""

    def __init__(
        self, plan: PFCBPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> None:
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        self._scratch = new_scratch(plan.constants.producers)

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""
        stop = min(stop, self.plan.rounds)
        run_until(self.world, self.plan.constants, self.state, self._scratch, self.key, stop)
        require_within(int(self.state.faults.max()), f"after round {self.done}")

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measures of procurement besides, (agents,) each."""
        tally = self.state.tally
        late = max(0, self.done - self.plan.constants.exploration)
        return {
            "regret_after_exploration": tally.late_regret,
            "violation_share": tally.violations / max(1, late),
            "empty_rounds": tally.empty,
            "units": tally.units,
            "reports_accepted": tally.judged[:, 0],
            "reports_refused": tally.judged[:, 1],
        }

    @property
    def syncs(self) -> int:
        """Exchanges so far."""
        return int(self.state.clock.syncs[0])

    @property
    def messages(self) -> int:
        """Messages so far: everybody to everybody else, every exchange.

        With secure sums: to the controller and back, and twice to every helper and back.
        """
        agents, secure = self.plan.constants.agents, self.plan.secure
        each = agents * (agents - 1) if secure is None else 2 * (agents + 2 * secure.helpers)
        return self.syncs * each

    @property
    def bytes(self) -> int:
        """Bytes of reports so far, two numbers a producer.

        Of the messages to and from a helper only the answer to an opening has some.
        """
        secure = self.plan.secure
        empty = 0 if secure is None else self.syncs * 3 * secure.helpers
        return (self.messages - empty) * 16 * self.plan.constants.producers

    @property
    def epsilon(self) -> float:
        """ε that the contents of a buyer's messages so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs)


def initial_state(plan: PFCBPlan) -> State:
    """Return the state before the first round."""
    n, m = plan.constants.agents, plan.constants.producers
    return State(
        clock=new_clock(),
        faults=np.zeros(n, np.int64),
        books=empty_books(m, n),
        draws=np.zeros((n, plan.slots, 2 * m)),
        reports=np.zeros((n if plan.secure is None else 0, 2, m)),
        total=np.zeros(0 if plan.secure is None else 2 * m, np.int64),
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
    """Estimate memory and work of :func:`initial_state`, and of the rounds."""
    pairs = plan.constants.agents * plan.constants.producers
    keys = "environment.agents or environment.producers"
    parts = (
        Memory("books and reports of buyers", 8 * pairs * F64, keys),
        Memory("noise that is kept for later reports", 2 * plan.slots * pairs * F64, keys),
    )
    exchanges = min(plan.constants.releases, plan.rounds)
    # Everybody judges everybody's report, or one sum.
    judged = 10.0 * (plan.constants.agents if plan.secure is None else 1)
    report = 40.0 + plan.slots + judged
    return Needs(parts, pairs * (30.0 * plan.rounds + exchanges * report))
