"""Replicates of FedUCB with a controller: what lies between two calls of the compiled loop."""

from __future__ import annotations

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.kernels import State, batch_end, run_until
from fedbandits.systems.feducb.state import initial_state


class Replicate(BatchedReplicate[AgentsPlan]):
    """One replicate of a variant with a controller."""

    def __init__(
        self, plan: AgentsPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(plan, environment, seed, replicate, threads)
        self.state: State = initial_state(plan)
        self._run(0, range(0), 0)

    def _run(self, worker: int, agents: range, stop: int, shared: bool = False) -> None:
        run_until(
            self._worlds[worker].handle, self.plan.constants, self.state, self._scratch[worker],
            self.key, agents.start, agents.stop, stop, shared,
        )  # fmt: skip

    def _batch_end(self, stop: int) -> int:
        return int(batch_end(self.plan.constants, self.state, stop))

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.pool.terms, self.plan.constants.log_term

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return int(self.state.clock.releases[0])

    @property
    def _helpers(self) -> int:
        """Helpers, each of which is asked twice and answers twice a sync."""
        secure = self.plan.secure
        return 0 if secure is None else secure.helpers

    @property
    def messages(self) -> int:
        """Messages so far."""
        return super().messages + self.syncs * 4 * self._helpers

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down and of helpers' masks, 8 a number."""
        sent = 2 * self.plan.constants.agents + self._helpers
        return self.syncs * sent * 8 * self.plan.constants.release_size
