"""One replicate of an FCLUB variant: the compiled loop, and the work between phases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints
from fedbandits.environments.clustered import Clustered
from fedbandits.learners.clustering import adjusted_rand_index
from fedbandits.privacy.bounds import require_within
from fedbandits.systems.drivers import TalliedReplicate
from fedbandits.systems.fclub.claim import epsilon_spent
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.loop import run_until
from fedbandits.systems.fclub.phases import NotARecordsSumError, begin_phase
from fedbandits.systems.fclub.plan import NEVER, Plan, plan
from fedbandits.systems.fclub.state import NOT_POSITIVE, State, initial_state, new_scratch


class Simulation(TalliedReplicate):
    """One replicate of one FCLUB variant.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        T; noise is planned for it.
    seed, replicate
        Name the draws.
    threads
        Not used: replicates run side by side instead.
    """

    def __init__(
        self,
        config: FCLUB,
        environment: Clustered,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = plan(config, environment, rounds)
        self.state: State = initial_state(self.plan, self.world.server)
        self._scratch = new_scratch(self.plan, environment.parties)
        begin_phase(self.plan.rules, self.state, self.key, first=True)

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.clock.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; a phase's end belongs to its last round.

        Raises
        ------
        NotARecordsSumError
            If noise left a matrix that nothing can be recommended by.
        """
        rules, clock = self.plan.rules, self.state.clock
        stop = min(stop, self.rounds)
        while self.done < stop:
            end = int(rules.phase_ends[clock.phase[0]])
            run_until(self.world, rules, self.state, self._scratch, self.key, min(stop, end))
            if clock.fault[0] == NOT_POSITIVE:
                raise NotARecordsSumError(
                    f"round {self.done + 1}: the noise left a matrix that is not positive definite"
                )
            require_within(int(clock.fault[0]), f"round {self.done + 1}")
            if self.done == end:
                clock.phase[0] += 1
                begin_phase(rules, self.state, self.key)

    @property
    def clusters(self) -> Ints:
        """For each user the cluster that it learns with, over all servers, (users,)."""
        local, hub = self.state.local, self.state.hub
        if self.plan.rules.sharing == NEVER:
            return local.cluster_of.copy()
        found: Ints = hub.group_of[local.cluster_of]
        return found

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """What clustering is judged by, (users,) each; the index is the same for all."""
        found = self.clusters
        index = adjusted_rand_index(found, self.world.cluster)
        return {
            "cluster_size": np.bincount(found)[found].astype(np.float64),
            "adjusted_rand_index": np.full(len(found), index),
        }

    @property
    def syncs(self) -> int:
        """Uploads so far, reports of phases included."""
        return int(self.state.clock.uploads[0])

    @property
    def messages(self) -> int:
        """Uploads and downloads so far."""
        return self.syncs + int(self.state.clock.downloads[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, 8 a number."""
        return int(self.state.clock.bytes_[0])

    @property
    def epsilon(self) -> float:
        """ε that the contents of a server's messages cost so far, at the configured δ."""
        return epsilon_spent(
            self.plan, self.config.delta, self.syncs, int(self.state.clock.phase[0])
        )
