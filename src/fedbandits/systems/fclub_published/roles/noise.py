"""Noise of a local server's releases: simulated, or under which sums are covered.

Where noise covers sums, releases are those of Algorithm 5, made of covered values alone.

The paper's perturbation H_r of release r adds up the nodes of r, r - low(r), …, low(r) being the
lowest bit. A report leaves as F_r + H_r, an upload as records + H_b - H_(b-1). With F_b = F_(b-1)
+ those records both are made of *noisy running sums* F_r + H_r, and

    F_r + H_r = (F_p + H_p) + (F_r - F_p) + ξ_r,    p = r - low(r):

what node r covers is what came between p and r. That is how trees are encoded everywhere
(:func:`.running_sum.encode`), as long as releases leave in the order of their numbers.

Here they do not. The perturbation of an upload is taken when the upload before it leaves, and the
reports of phases that begin while it waits take later numbers and leave earlier. A report r whose
parent p is the one that waits needs ξ_p, which covers records that have not come yet. Of ξ_p the
reports so far tell a part. Given the noise n_1, …, n_k, n_i = ξ_(r_i) + ξ_p, of k such reports, ξ_p
is Gaussian with mean Σ n_i / (k + 1) and variance 1 / (k + 1). So what is left of it is covered:

    the next such report    Σ n_i / (k + 1) + √((k + 2) / (k + 1)) · fresh noise,
    the upload itself       Σ n_i / (k + 1) + √(1 / (k + 1)) · fresh noise

in place of ξ_r + ξ_p and ξ_p. These have the same joint distribution as the paper's: it is the same
Gaussian vector, drawn in the order in which it leaves. And the fresh noises are an orthogonal
transform of the nodes, so a record moves what they cover exactly as far as it moves the nodes.

Where all begins anew the upload that waits never leaves. Its node is settled with the running sum
of the last report in place of its own, which nothing depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import ReleaseRefusedError
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.privacy.running_sum import CoveringNoise, cover
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

#: Values in deviations of the noise to what a source makes of them, (p,).
Cover = Callable[[Floats], Floats]


class CoveredTree(NamedTuple):
    """The tree of one cluster. Sums stand in pairs, (2, p): as they are, and under noise."""

    taken: int  # how many perturbations were taken
    waiting: int  # the number of the one that the next upload leaves with; 0 for none
    reports: int  # how many reports have left that are made of that one's node, too
    nodes: Floats  # (2, slots, p) the running sum at the newest release of each level
    newest: Floats  # (2, p) that at the newest release that has left
    start: Floats  # (2, p) that at the release before the one that waits
    parent: Floats  # (2, p) that at the parent of the one that waits
    told: Floats  # (2, p) what those reports add up to, each less the parent


def new_covered_tree(plan: PublishedFCLUBPlan) -> CoveredTree:
    """Return a tree of which nothing was taken."""
    empty = np.zeros((2, plan.size))
    nodes = np.zeros((2, plan.slots, plan.size))
    return CoveredTree(0, 0, 0, nodes, empty, empty, empty, empty)


def take_for_report(
    plan: PublishedFCLUBPlan, tree: CoveredTree, total: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Release a total (p,) of the cluster's own users under noise (Algorithm 2, line 4)."""
    number, scale = _next(plan, tree), _deviations(plan)
    above = number & (number - 1)
    told, reports = tree.told, tree.reports
    if tree.waiting and above == tree.waiting:
        parent, known = tree.parent, tree.told / (tree.reports + 1)
        spread = math.sqrt((tree.reports + 2) / (tree.reports + 1))
        added = _covered(total - parent[0], known, spread * scale, cover)
        told, reports = tree.told + added, tree.reports + 1
    else:
        parent = _node(tree, above)
        added = _covered(total - parent[0], np.zeros_like(parent), scale, cover)
    newest = parent + added
    after = tree._replace(
        taken=number, newest=newest, told=told, reports=reports,
        nodes=_with_node(tree.nodes, number, newest),
    )  # fmt: skip
    return after, newest[1]


def _settle_waiting(
    plan: PublishedFCLUBPlan, tree: CoveredTree, total: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Settle the running sum at the release that waits; what it is under noise, (p,)."""
    left = 1.0 / (tree.reports + 1)
    known = tree.told * left
    scale = math.sqrt(left) * _deviations(plan)
    settled = tree.parent + _covered(total - tree.parent[0], known, scale, cover)
    number, last = tree.waiting, tree.waiting == tree.taken
    block = number & -number
    stands = tree.taken - tree.taken % block == number  # else a later block is in its place
    after = tree._replace(
        waiting=0, newest=settled if last else tree.newest,
        nodes=_with_node(tree.nodes, number, settled) if stands else tree.nodes,
    )  # fmt: skip
    return after, settled[1]


def _begin_waiting(plan: PublishedFCLUBPlan, tree: CoveredTree) -> CoveredTree:
    """Take the next perturbation, which the next upload will leave with."""
    number = _next(plan, tree)
    return tree._replace(
        taken=number, waiting=number, reports=0, start=tree.newest,
        parent=_node(tree, number & (number - 1)), told=np.zeros_like(tree.told),
    )  # fmt: skip


def take_for_renewal(plan: PublishedFCLUBPlan, tree: CoveredTree, cover: Cover) -> CoveredTree:
    """Take a perturbation for a buffer that begins anew (Algorithm 2, line 14)."""
    if tree.waiting:
        tree, _ = _settle_waiting(plan, tree, tree.newest[0], cover)
    return _begin_waiting(plan, tree)


def take_for_upload(
    plan: PublishedFCLUBPlan, tree: CoveredTree, records: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Release the buffered records (p,), and take the next perturbation (Algorithm 3, line 9).

    What leaves is the records under H_b - H_(b-1).
    """
    start = tree.start
    after, noisy = _settle_waiting(plan, tree, start[0] + records, cover)
    return _begin_waiting(plan, after), noisy - start[1]


def _covered(exact: Floats, known: Floats, scale: Floats, cover: Cover) -> Floats:
    """Return a pair: ``exact``, and what it becomes when all but ``known`` of it is covered."""
    return np.stack([exact, known[1] + scale * cover((exact - known[0]) / scale)])


def _deviations(plan: PublishedFCLUBPlan) -> Floats:
    """Return the deviations of a node, (p,)."""
    scale: Floats = plan.constants.noise_scale * plan.constants.entry_scale
    return scale


def _next(plan: PublishedFCLUBPlan, tree: CoveredTree) -> int:
    number = tree.taken + 1
    if plan.tree is None or number > plan.tree.releases:
        raise ReleaseRefusedError(
            f"perturbation {number} refused: its tree has no perturbation left"
        )
    return number


def _node(tree: CoveredTree, number: int) -> Floats:
    """Return the running sum at a release that is above the next one, (2, p); zeros at none."""
    if number == 0:
        return np.zeros_like(tree.newest)
    found: Floats = tree.nodes[:, draw_slot(TREE, number)]
    return found


def _with_node(nodes: Floats, number: int, sums: Floats) -> Floats:
    copied = nodes.copy()
    copied[:, draw_slot(TREE, number)] = sums
    return copied


class TreeNoise:
    """A source that covers sums, asked step after step by the trees of one server's clusters.

    Where the server stands changes here alone: ``steps``, how many times it has asked the source,
    and ``trees``, by cluster.
    """

    def __init__(
        self, plan: PublishedFCLUBPlan, noise: CoveringNoise, steps: int,
        trees: dict[int, CoveredTree],
    ) -> None:  # fmt: skip
        self._plan, self._noise = plan, noise
        self.steps, self.trees = steps, dict(trees)

    def _cover(self, values: Floats) -> Floats:
        self.steps += 1
        return cover(self._noise, self.steps, values)

    def report(self, clusters: Ints, new: list[int], totals: Floats) -> dict[int, Floats]:
        """Return totals (users, p + 1), in rows of clusters, under noise; ``new`` begin a tree."""
        kept = {int(cluster): self.trees.get(int(cluster)) for cluster in clusters}
        self.trees, noisy = {}, {}
        for cluster, tree in kept.items():
            if tree is None or cluster in new:
                tree = new_covered_tree(self._plan)
            self.trees[cluster], noisy[cluster] = take_for_report(
                self._plan, tree, totals[cluster, :-1], self._cover
            )
        return noisy

    def renew(self, clusters: Ints) -> None:
        """Take noise for all buffers, which begin anew."""
        for cluster in clusters.tolist():
            self.trees[cluster] = take_for_renewal(self._plan, self.trees[cluster], self._cover)

    def upload(self, cluster: int, records: Floats) -> Floats:
        """Return a buffer's records (p,) under noise, as they leave."""
        tree = self.trees[cluster]
        self.trees[cluster], noisy = take_for_upload(self._plan, tree, records, self._cover)
        return noisy
