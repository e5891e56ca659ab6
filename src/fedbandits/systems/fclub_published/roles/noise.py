"""What a local server's releases take: simulated perturbations, or covered sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.running_sum import CoveringNoise, checked_noise, cover, draw_ahead
from fedbandits.systems.fclub_published.covered_trees import (
    CoveredTree,
    new_covered_tree,
    take_for_renewal,
    take_for_report,
    take_for_upload,
)
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

#: Standard normals for one draw of noise, (p,): ``(cluster, round, what for)``, asked once each.
SimulatedServerNoise = Callable[[int, int, int], Floats]
Trees = dict[int, CoveredTree]


class Covered(NamedTuple):
    """What comes of covering: nothing has changed yet.

    Parameters
    ----------
    steps
        How many times the source was asked by then.
    trees
        All clusters' trees.
    noisy
        What leaves, by cluster, (p,) each.
    """

    steps: int
    trees: Trees
    noisy: dict[int, Floats]


def covers(noise: Any) -> bool:
    """Whether a source covers sums; else it gives simulated noise that is added to them."""
    return hasattr(noise, "cover")


def simulated(
    plan: PublishedFCLUBPlan, noise: SimulatedServerNoise, named: int, round_: int, kind: int
) -> Floats:
    """One draw of simulated noise, (p,); ``named`` is the cluster's name among all servers."""
    return checked_noise(noise(named, round_, kind), len(plan.constants.entry_scale))


class TreeNoise:
    """A source that covers sums, asked step after step by the trees of one server's clusters.

    Parameters
    ----------
    plan
        What all parties go by.
    noise
        The source. The number of a step counts all that this server has asked for.
    steps, trees
        Where the server stands.
    """

    def __init__(
        self, plan: PublishedFCLUBPlan, noise: CoveringNoise, steps: int, trees: Trees
    ) -> None:
        self._plan, self._noise, self._steps, self._trees = plan, noise, steps, dict(trees)

    def _cover(self, values: Floats) -> Floats:
        self._steps += 1
        return cover(self._noise, self._steps, values)

    def _done(self, noisy: dict[int, Floats]) -> Covered:
        return Covered(self._steps, self._trees, noisy)

    def report(self, names: Ints, new: list[int], totals: Floats) -> Covered:
        """Totals of all clusters, in rows of their names, (users, p + 1); ``new`` begin a tree."""
        kept = {int(name): self._trees.get(int(name)) for name in names}
        self._trees, noisy = {}, {}
        for name, tree in kept.items():
            if tree is None or name in new:
                tree = new_covered_tree(self._plan)
            self._trees[name], noisy[name] = take_for_report(
                self._plan, tree, totals[name, :-1], self._cover
            )
        return self._done(noisy)

    def renew(self, names: Ints) -> Covered:
        """All buffers begin anew."""
        for name in names.tolist():
            self._trees[name] = take_for_renewal(self._plan, self._trees[name], self._cover)
        return self._done({})

    def upload(self, name: int, records: Floats) -> Covered:
        """One buffer leaves, with records (p,)."""
        tree = self._trees[name]
        self._trees[name], noisy = take_for_upload(self._plan, tree, records, self._cover)
        return self._done({name: noisy})


def draw_for_one(plan: PublishedFCLUBPlan, noise: Any) -> None:
    """Have the noise of one release drawn, before anybody waits for it."""
    draw_ahead(noise, len(plan.constants.entry_scale))


def shift_of(plan: PublishedFCLUBPlan, times: float) -> Floats:
    """So many ρ on the diagonal of a packed statistic, (p,)."""
    d = plan.constants.dimension
    shift = np.zeros(len(plan.constants.entry_scale))
    shift[np.cumsum([0, *range(d, 1, -1)])] = times * plan.constants.shift
    return shift
