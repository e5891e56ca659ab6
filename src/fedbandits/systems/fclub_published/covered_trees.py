"""Algorithm 5 where noise covers sums: the same releases, made of covered values alone.

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

from fedbandits._typing import Floats
from fedbandits.errors import ReleaseRefusedError
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan

#: Values in deviations of the noise to what a source makes of them, (p,).
Cover = Callable[[Floats], Floats]


class CoveredTree(NamedTuple):
    """The tree of one cluster. Sums stand in pairs, (2, p): as they are, and under noise.

    Parameters
    ----------
    taken
        How many perturbations were taken.
    waiting
        The number of the one that the next upload leaves with; 0 for none.
    reports
        How many reports have left that are made of that one's node, too.
    nodes : (2, slots, p) float64
        The running sum at the newest release of each level.
    newest : (2, p) float64
        That at the newest release that has left.
    start, parent : (2, p) float64
        That at the release before the one that waits, and that at its parent.
    told : (2, p) float64
        What those reports add up to, each less the parent.
    """

    taken: int
    waiting: int
    reports: int
    nodes: Floats
    newest: Floats
    start: Floats
    parent: Floats
    told: Floats


def new_covered_tree(plan: PublishedFCLUBPlan) -> CoveredTree:
    """A tree of which nothing was taken."""
    size = len(plan.constants.entry_scale)
    slots = 0 if plan.tree is None else plan.tree.slots
    empty = np.zeros((2, size))
    return CoveredTree(0, 0, 0, np.zeros((2, slots, size)), empty, empty, empty, empty)


def take_for_report(
    plan: PublishedFCLUBPlan, tree: CoveredTree, total: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Release a total (Algorithm 2, line 4).

    Parameters
    ----------
    total : (p,) float64
        What the cluster's own users add up to.

    Returns
    -------
    tree, noisy
        What stands then, and the total under noise.
    """
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


def settle_waiting(
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


def begin_waiting(plan: PublishedFCLUBPlan, tree: CoveredTree) -> CoveredTree:
    """Take the next perturbation, which the next upload will leave with."""
    number = _next(plan, tree)
    return tree._replace(
        taken=number, waiting=number, reports=0, start=tree.newest,
        parent=_node(tree, number & (number - 1)), told=np.zeros_like(tree.told),
    )  # fmt: skip


def take_for_renewal(plan: PublishedFCLUBPlan, tree: CoveredTree, cover: Cover) -> CoveredTree:
    """Take a perturbation for a buffer that begins anew (Algorithm 2, line 14)."""
    if tree.waiting:
        tree, _ = settle_waiting(plan, tree, tree.newest[0], cover)
    return begin_waiting(plan, tree)


def take_for_upload(
    plan: PublishedFCLUBPlan, tree: CoveredTree, records: Floats, cover: Cover
) -> tuple[CoveredTree, Floats]:
    """Release what is buffered, and take the perturbation for the next (Algorithm 3, line 9).

    Parameters
    ----------
    records : (p,) float64
        What came into the buffer.

    Returns
    -------
    tree, noisy
        What stands then, and the records under H_b - H_(b-1).
    """
    start = tree.start
    after, noisy = settle_waiting(plan, tree, start[0] + records, cover)
    return begin_waiting(plan, after), noisy - start[1]


def _covered(exact: Floats, known: Floats, scale: Floats, cover: Cover) -> Floats:
    """A pair: ``exact``, and what it becomes when all but ``known`` of it is covered."""
    return np.stack([exact, known[1] + scale * cover((exact - known[0]) / scale)])


def _deviations(plan: PublishedFCLUBPlan) -> Floats:
    """Deviations of a node, (p,)."""
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
    """The running sum at a release that is above the next one, (2, p); zeros at none."""
    if number == 0:
        return np.zeros_like(tree.newest)
    found: Floats = tree.nodes[:, draw_slot(TREE, number)]
    return found


def _with_node(nodes: Floats, number: int, sums: Floats) -> Floats:
    copied = nodes.copy()
    copied[:, draw_slot(TREE, number)] = sums
    return copied
