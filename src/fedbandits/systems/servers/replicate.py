"""Compiled replicates of both forms of FCLUB: phases, and counts of messages."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from fedbandits.environments.clustered import Clustered
from fedbandits.privacy.bounds import require_within
from fedbandits.systems.servers.kernels import new_scratch
from fedbandits.systems.servers.system import ServersPlan
from fedbandits.systems.simulated import CompiledReplicate

AnyPlan = TypeVar("AnyPlan", bound=ServersPlan)


class ServersReplicate(CompiledReplicate[AnyPlan]):
    """One replicate: rounds of a phase are compiled, and phases end in Python.

    The clock of the state is a :class:`~fedbandits.systems.servers.kernels.Clock`.
    """

    def __init__(
        self, plan: AnyPlan, environment: Clustered, seed: int, replicate: int, threads: int = 1
    ) -> None:
        super().__init__(plan, environment, seed, replicate, threads)
        constants = plan.constants
        self._scratch = new_scratch(constants.dimension, constants.items, constants.users)
        self.state = self._first_state()
        #: The users of each server.
        self._users = [np.flatnonzero(self.world.server == s) for s in range(constants.servers)]

    def _first_state(self) -> Any:
        """Return the state before anything happened."""
        raise NotImplementedError

    def _run_until(self, stop: int) -> None:
        """Play until ``stop`` rounds are done or a fault is noted; no phase ends before that."""
        raise NotImplementedError

    def _end_phase(self) -> None:
        """End a phase of all servers after the newest round."""
        raise NotImplementedError

    def _require_sound(self, fault: int) -> None:
        """Raise the error that a noted fault stands for."""
        require_within(fault, f"round {self.done + 1}")

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; a phase's end belongs to its last round."""
        clock, stop = self.state.clock, min(stop, self.plan.rounds)
        while self.done < stop:
            end = int(self.plan.constants.phase_ends[clock.phase[0]])
            self._run_until(min(end, stop))
            self._require_sound(int(clock.fault[0]))
            if self.done == end:
                self._end_phase()

    @property
    def syncs(self) -> int:
        """Uploads so far."""
        return int(self.state.clock.uploads[0])

    @property
    def messages(self) -> int:
        """Uploads and downloads so far."""
        return self.syncs + int(self.state.clock.downloads[0])

    @property
    def bytes(self) -> int:
        """Bytes of statistics so far, 8 a number."""
        return int(self.state.clock.bytes_[0])
