"""One replicate of a P-FCB variant, played by the compiled loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from fedbandits.environments.procurement import Procurement
from fedbandits.privacy.bounds import require_within
from fedbandits.systems.drivers import TalliedReplicate
from fedbandits.systems.pfcb.buyer import new_scratch
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.loop import State, initial_state, run_until
from fedbandits.systems.pfcb.plan import Plan, plan


class Simulation(TalliedReplicate):
    """One replicate of one P-FCB variant.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; the schedule is planned for it.
    seed, replicate
        Name the draws.
    threads
        Not used: replicates run side by side instead.
    """

    def __init__(
        self,
        config: PFCB,
        environment: Procurement,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = plan(config, environment, rounds)
        self.state: State = initial_state(self.plan)
        self._scratch = new_scratch(self.plan.rules.producers)

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""
        stop = min(stop, self.rounds)
        run_until(self.world, self.plan.rules, self.state, self._scratch, self.key, stop)
        require_within(int(self.state.faults.max()), f"after round {self.done}")

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """What procurement is judged by besides, (agents,) each."""
        tally = self.state.tally
        late = max(0, self.done - self.plan.rules.exploration)
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
        return int(self.state.releases[0])

    @property
    def messages(self) -> int:
        """Messages so far: everybody to everybody else, every exchange."""
        agents = self.plan.rules.agents
        return self.syncs * agents * (agents - 1)

    @property
    def bytes(self) -> int:
        """Bytes of reports so far, two numbers a producer."""
        return self.messages * 16 * self.plan.rules.producers

    @property
    def epsilon(self) -> float:
        """ε that the contents of what a buyer has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, self.config.delta)
