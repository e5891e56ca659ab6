"""Replicates of asynchronous FedLinUCB.

Within a round agents play in order, and an exchange takes effect at once: who plays later in the
same round and exchanges too gets what was just uploaded.
"""

from __future__ import annotations

from fedbandits._typing import Floats
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.systems.agents.kernels.pools import empty_pool
from fedbandits.systems.fedlinucb_async.kernels import State, begin, run_until
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.fedlinucb_async.state import initial_state


class Replicate(BatchedReplicate[AsyncPlan]):
    """One replicate. Any agent may exchange after any round, so all are played in step."""

    def __init__(
        self, plan: AsyncPlan, environment: ContextualEnvironment, seed: int, replicate: int,
        threads: int = 1,
    ) -> None:  # fmt: skip
        del threads  # any agent may exchange after any round, so they are played in step
        super().__init__(plan, environment, seed, replicate)
        constants = plan.constants
        self.state: State = initial_state(constants)
        self._pool = empty_pool(constants.models, constants.dimension)
        begin(constants, self.state, self._pool)

    def _run_until(self, stop: int) -> None:
        world, constants, scratch = self._worlds[0].handle, self.plan.constants, self._scratch[0]
        run_until(world, constants, self.state, scratch, self._pool, self.key, stop)

    def _radius_terms(self, v: int) -> tuple[Floats, float]:
        return self.state.terms[v], self.plan.constants.log_term

    @property
    def syncs(self) -> int:
        """Exchanges so far, each of one agent with the server."""
        return int(self.state.clock.exchanges[0])

    @property
    def messages(self) -> int:
        """Messages so far: an upload and a download an exchange."""
        return 2 * self.syncs

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, up and down, 8 a number."""
        return self.messages * 8 * self.plan.constants.release_size
