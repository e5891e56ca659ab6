"""Noise of clusters' releases: simulated noise, and noise that covers sums.

Loop and parties release by :class:`ClusterNoise`. In a simulation the perturbations of Algorithm 5
are drawn and added to the sums. In a deployment the source covers values, and releases are those of
Algorithm 5, made of covered values alone.

The paper's perturbation H_r of release r adds up the nodes of r, r - low(r), …, low(r) being the
lowest bit. A report leaves as F_r + H_r, an upload as records + H_b - H_(b-1). With F_b = F_(b-1)
+ those records both are made of *noisy running sums* F_r + H_r, and

    F_r + H_r = (F_p + H_p) + (F_r - F_p) + ξ_r,    p = r - low(r):

node r covers the records between p and r. All trees are encoded in this way
(:func:`.running_sum.encode`), as long as releases leave in the order of their numbers.

Here releases leave in another order. The perturbation of an upload is taken when the upload before
leaves, and the reports of phases that begin while the upload waits take later numbers and leave
earlier. A report r whose parent p waits needs ξ_p, which covers future records. Of ξ_p the
reports so far tell a part. Given the noise n_1, …, n_k, n_i = ξ_(r_i) + ξ_p, of k such reports, ξ_p
is Gaussian with mean Σ n_i / (k + 1) and variance 1 / (k + 1). So the rest of ξ_p is covered:

    the next such report    Σ n_i / (k + 1) + √((k + 2) / (k + 1)) · fresh noise,
    the upload itself       Σ n_i / (k + 1) + √(1 / (k + 1)) · fresh noise

in place of ξ_r + ξ_p and ξ_p. The joint distribution is the paper's: the same Gaussian vector is
drawn in the order of leaving. And the fresh draws are an orthogonal transform of the nodes, so a
record moves their covered values exactly as far as the nodes.

Where all begins anew the waiting upload never leaves. Its node is settled with the running sum of
the last report; nothing depends on the node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import ReleaseRefusedError
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.privacy.running_sum import CoveringNoise, cover
from fedbandits.systems.fclub_published.kernels.rounds import (
    AFTER_UPLOAD,
    AT_RENEWAL,
    FOR_REPORT,
    noise_slot,
    take_noise,
    take_report_noise,
)
from fedbandits.systems.fclub_published.kernels.servers import Local
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

#: From values in deviations of the noise, (p,), to covered values.
Cover = Callable[[Floats], Floats]


class CoveredTree(NamedTuple):
    """The tree of one cluster. Sums stand in pairs, (2, p): exact, and under noise."""

    taken: int  # the number of perturbations that were taken
    waiting: int  # the number of the perturbation of the next upload; 0 for none
    reports: int  # the number of reports that have left with the waiting node
    nodes: Floats  # (2, slots, p) running sums at the newest release of each level
    newest: Floats  # (2, p) the running sum at the newest release that has left
    start: Floats  # (2, p) the running sum at the release before the waiting one
    parent: Floats  # (2, p) the running sum at the parent of the waiting release
    reported: Floats  # (2, p) the sum of these reports, each less the parent


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
    reported, reports = tree.reported, tree.reports
    if tree.waiting and above == tree.waiting:
        parent, known = tree.parent, tree.reported / (tree.reports + 1)
        spread = math.sqrt((tree.reports + 2) / (tree.reports + 1))
        added = _covered(total - parent[0], known, spread * scale, cover)
        reported, reports = tree.reported + added, tree.reports + 1
    else:
        parent = _node(tree, above)
        added = _covered(total - parent[0], np.zeros_like(parent), scale, cover)
    newest = parent + added
    after = tree._replace(
        taken=number, newest=newest, reported=reported, reports=reports,
        nodes=_with_node(tree.nodes, number, newest),
    )  # fmt: skip
    return after, newest[1]


def _settle_waiting(
    plan: PublishedFCLUBPlan, tree: CoveredTree, total: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Settle the running sum at the waiting release; return the sum under noise too, (p,)."""
    left = 1.0 / (tree.reports + 1)
    known = tree.reported * left
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
    """Take the perturbation of the next upload."""
    number = _next(plan, tree)
    return tree._replace(
        taken=number, waiting=number, reports=0, start=tree.newest,
        parent=_node(tree, number & (number - 1)), reported=np.zeros_like(tree.reported),
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

    The records leave under H_b - H_(b-1).
    """
    start = tree.start
    after, noisy = _settle_waiting(plan, tree, start[0] + records, cover)
    return _begin_waiting(plan, after), noisy - start[1]


def _covered(exact: Floats, known: Floats, scale: Floats, cover: Cover) -> Floats:
    """Return a pair: ``exact``, and ``exact`` with all but its ``known`` part covered."""
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
    """Return the running sum at the parent of the next release, (2, p); zeros without a parent."""
    if number == 0:
        return np.zeros_like(tree.newest)
    sums: Floats = tree.nodes[:, draw_slot(TREE, number)]
    return sums


def _with_node(nodes: Floats, number: int, sums: Floats) -> Floats:
    copied = nodes.copy()
    copied[:, draw_slot(TREE, number)] = sums
    return copied


class ClusterNoise:
    """Noise of the releases of clusters; this base class is for a variant without noise."""

    @property
    def kept(self) -> dict[str, Any]:
        """Fields of a server's state after the releases."""
        return {}

    def report(self, sums: Floats, clusters: Ints, new: Sequence[int]) -> None:
        """Put the sums of clusters under noise, in rows of ``sums`` (users, p + 1).

        The ``new`` clusters have begun a tree.
        """

    def renew(self, clusters: Ints) -> None:
        """Take the noise of all buffers, which begin anew."""

    def upload(self, cluster: int, buffer: Floats) -> Callable[[], None]:
        """Settle the noise of an upload of a cluster's ``buffer`` (p + 1,).

        Returns a function that writes the noise to arrays, to be called before the buffer leaves.
        """
        raise NotImplementedError


#: Standard normals (p,) of a draw, by its name: the cluster, and the use of the draw.
Draw = Callable[[int, int], Floats]


class SimulatedNoise(ClusterNoise):
    """Perturbations of the trees in ``local``, of draws from a seed; written in place."""

    def __init__(self, plan: PublishedFCLUBPlan, local: Local, draw: Draw) -> None:
        self._constants, self._local, self._draw = plan.constants, local, draw

    def _put(self, cluster: int, draw: Floats) -> None:
        """Put the draw of a cluster's next perturbation into its slot."""
        self._local.trees.draws[cluster, noise_slot(self._local, cluster)] = draw

    def report(self, sums: Floats, clusters: Ints, new: Sequence[int]) -> None:
        constants, local = self._constants, self._local
        for cluster in clusters.tolist():
            self._put(cluster, self._draw(cluster, FOR_REPORT))
            take_report_noise(constants, local, cluster)
            sums[cluster, :-1] += local.trees.coming[cluster]

    def renew(self, clusters: Ints) -> None:
        for cluster in clusters.tolist():
            self._put(cluster, self._draw(cluster, AT_RENEWAL))
            take_noise(self._constants, self._local, cluster)

    def upload(self, cluster: int, buffer: Floats) -> Callable[[], None]:
        draw = self._draw(cluster, AFTER_UPLOAD)

        def write() -> None:
            self._put(cluster, draw)
            take_noise(self._constants, self._local, cluster)

        return write


class CoveredNoise(ClusterNoise):
    """A source that covers sums, asked step after step by the trees of one server's clusters.

    ``steps`` is the number of requests to the source so far, ``trees`` are the trees by cluster.
    """

    def __init__(
        self, plan: PublishedFCLUBPlan, local: Local, source: CoveringNoise, steps: int,
        trees: dict[int, CoveredTree],
    ) -> None:  # fmt: skip
        self._plan, self._local, self._source = plan, local, source
        self._steps, self._trees = steps, dict(trees)

    @property
    def kept(self) -> dict[str, Any]:
        return {"steps": self._steps, "trees": self._trees}

    def _cover(self, values: Floats) -> Floats:
        self._steps += 1
        return cover(self._source, self._steps, values)

    def report(self, sums: Floats, clusters: Ints, new: Sequence[int]) -> None:
        before, self._trees = self._trees, {}
        for cluster in clusters.tolist():
            tree = None if cluster in new else before.get(cluster)
            self._trees[cluster], sums[cluster, :-1] = take_for_report(
                self._plan, tree or new_covered_tree(self._plan), sums[cluster, :-1], self._cover
            )

    def renew(self, clusters: Ints) -> None:
        for cluster in clusters.tolist():
            self._trees[cluster] = take_for_renewal(self._plan, self._trees[cluster], self._cover)

    def upload(self, cluster: int, buffer: Floats) -> Callable[[], None]:
        shift, tree = self._plan.shift(3.0), self._trees[cluster]
        self._trees[cluster], noisy = take_for_upload(
            self._plan, tree, buffer[:-1] - shift, self._cover
        )

        def write() -> None:
            self._local.buffer[cluster, :-1] = noisy + shift

        return write
