"""Whether all that servers release has its planned noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.privacy.likelihood import stated_deviations, stated_pattern
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.audit.contents import release_rows, row_counts
from fedbandits.systems.fclub.audit.parties import small_plan
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.persons import released_sums
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.noisy_releases import (
    CompiledNoise,
    PartiesNoise,
    compiled_numbers,
    parties_numbers,
    some_releases,
)
from fedbandits.systems.servers.audit import WORLD

#: Keys of draws that nothing else here has.
_CHECKED = 2**21


def secure_numbers(system: System[Any], config: FCLUB) -> NoisyNumbers:
    """All that two servers release with the noise of a deployment."""
    small = small_plan(system, config)
    if small.releases != USERS:  # one row a server, whatever its users are like
        small = small_plan(system, msgspec.structs.replace(config, clustering="population"))
    shape = sum(row_counts(small)), small.release_count, small.size
    deviations = np.broadcast_to(_planned(small, np.arange(1, shape[1] + 1)), shape)
    played = PartiesNoise(system, small, WORLD, deviations, partial(_Heard, small))
    who = "user" if small.releases == USERS else "server"
    return parties_numbers(played, "2 servers", who, _number)


def _planned(plan: FCLUBPlan, steps: Ints) -> Floats:
    """Deviations of a row's numbers in some releases, (steps, size), as they are stated."""
    pattern = stated_pattern(1, plan.facts.dimension)
    by_release = np.full(len(steps), plan.deviation)
    if plan.sums is not None:
        by_release = stated_deviations(plan.sums, steps)
    return np.outer(by_release, pattern)


def _number(place: int) -> str:
    return f"number {place}"


def simulated_numbers(plan: FCLUBPlan) -> NoisyNumbers:
    """All servers' releases as configured, by the code of the simulation."""
    rows = sum(row_counts(plan))
    steps = some_releases(plan.release_count, rows * plan.size, plan.sums)
    deviations = np.broadcast_to(_planned(plan, steps), (rows, len(steps), plan.size))
    drawn = CompiledNoise(steps, plan.release_count, deviations, partial(_drawn, plan, steps))
    return compiled_numbers(drawn, f"{rows} rows of all servers", "row", _number)


def _drawn(plan: FCLUBPlan, steps: Ints, first: int, count: int) -> Floats:
    noise = []
    for run in range(_CHECKED + first, _CHECKED + first + count):
        shapes = [(rows, len(steps), plan.size) for rows in row_counts(plan)]
        noise.append(
            np.concatenate(
                [
                    release_rows(plan, server, steps.tolist(), np.zeros(shape), run)
                    for server, shape in enumerate(shapes)
                ]
            )
        )
    return np.stack(noise)


class _Heard:
    """What servers release, less the sums that they stand for."""

    def __init__(self, plan: FCLUBPlan, run: PartiesReplicate) -> None:
        self._plan, self._servers = plan, run.players
        self._before = [np.zeros((1, plan.size)) for _ in run.players]

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        found: list[tuple[int, int, Floats]] = []
        for index, server in enumerate(self._servers):
            sent: Any
            for sent in (m for m in messages if m.sender == server.name):
                rows = np.frombuffer(sent.sums).reshape(-1, self._plan.size)
                exact = released_sums(server.state.sums, server.state.shared)
                exact = exact[:, : self._plan.size]
                places = server.users
                if self._plan.releases != USERS:  # one cluster: what came in this phase
                    total, places = exact.sum(axis=0, keepdims=True), np.array([index])
                    exact, self._before[index] = total - self._before[index], total
                found += [
                    (int(place), sent.release, row)
                    for place, row in zip(places, rows - exact, strict=True)
                ]
        return found
