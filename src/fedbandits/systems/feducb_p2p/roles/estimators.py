"""Estimators of an agent, and what each makes of the releases that were heard."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.agents.counting import sum_of
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.own_views import take_over
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE, Pool, empty_pool, noise_variance
from fedbandits.systems.agents.kernels.views import Views, copied, first_view
from fedbandits.systems.feducb_p2p.heard import Known
from fedbandits.systems.feducb_p2p.kernels.releases import pool_heard
from fedbandits.systems.feducb_p2p.plan import PeerPlan


class Estimator(msgspec.Struct, frozen=True):
    """All that changes in one estimator, but for its sum of records.

    Parameters
    ----------
    pool, view
        What it knows of the releases that were heard, and what it acts on.
    released
        Where its releases stand.
    residuals : (models, 4) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    released_in
        The round of the last own release.
    at_release : (models or 0, d (d + 3) / 2) float64
        The sum of records then; nothing with a released view.
    waited
        Records since then.
    kept
        Records of decisions beyond those that the next release may be about, by their numbers.
    pooled
        Numbers of the releases in the pool, added up.
    unusable
        How often releases that were heard added up to no Gram matrix. The pool before them stays.
    """

    pool: Pool
    view: Views
    released: ContinualState
    residuals: Floats
    at_release: Floats
    released_in: int = 0
    waited: int = 0
    kept: dict[int, Record] = msgspec.field(default_factory=dict)
    pooled: int = 0
    unusable: int = 0


def first_estimator(plan: PeerPlan, index: int) -> Estimator:
    """Make an estimator of an agent before the first round."""
    constants, peers = plan.constants, plan.peers
    base, log_term = float(peers.base[index]), float(peers.log_term[index])
    pool, view = first_view(constants, base, log_term)
    return Estimator(
        pool=pool,
        view=view,
        released=running_sum.init(plan.release, constants.release_size),
        residuals=np.zeros((constants.models, 4)),
        at_release=at_release(plan, np.zeros(constants.statistic_shape)),
    )


def at_release(plan: PeerPlan, statistic: Floats) -> Floats:
    """Keep what an estimator has of its sum when it releases it."""
    return statistic.copy() if plan.constants.raw_view else statistic[:0].copy()


def refreshed(
    plan: PeerPlan, index: int, estimator: Estimator, heard: Sequence[tuple[int, Known]],
    statistic: Floats, uncounted: Floats,
) -> Estimator:  # fmt: skip
    """Pool what an estimator has heard; the pool before stays if that adds up to none.

    Parameters
    ----------
    estimator
        As it is now; its arrays are left as they are.
    heard
        The newest release of everybody who counts, by the agent's number, in order.
    statistic : (models, d (d + 3) / 2) float64
        The sum of its records that count for releases.
    uncounted : (models, d (d + 3) / 2) float64
        The sum of those that count for none.
    """
    numbers = sum(known.release for _, known in heard)
    pool = _pooled(plan, index, heard, statistic[: len(estimator.at_release)], estimator)
    constants, own, others, variance = plan.constants, statistic, statistic, 0.0
    if constants.own_view:
        own = sum_of(statistic, uncounted, estimator.kept, constants.rounding)
        others, variance = _added_up(constants, heard, without=index)
    view, residuals = copied(estimator.view), estimator.residuals.copy()
    fault = NOT_POSITIVE
    if pool is not None:
        fault = take_over(
            constants, float(plan.peers.log_term[index]), pool, uncounted, own, residuals, others,
            math.sqrt(variance), view,
        )  # fmt: skip
    if pool is None or fault != NO_FAULT:
        return msgspec.structs.replace(estimator, pooled=numbers, unusable=estimator.unusable + 1)
    return msgspec.structs.replace(
        estimator, pooled=numbers, pool=pool, view=view, residuals=residuals
    )


def _pooled(
    plan: PeerPlan, index: int, heard: Sequence[tuple[int, Known]], statistic: Floats,
    estimator: Estimator,
) -> Pool | None:  # fmt: skip
    """Add up releases in the order of agents, as a controller would."""
    constants = plan.constants
    released, variance = _added_up(constants, heard)
    pool = empty_pool(constants.models, constants.dimension)
    fault = pool_heard(
        constants, plan.peers, index, len(heard), variance, released,
        statistic - estimator.at_release, pool,
    )  # fmt: skip
    return pool if fault == NO_FAULT else None


def _added_up(
    constants: Constants, heard: Sequence[tuple[int, Known]], without: int = -1
) -> tuple[Floats, float]:
    """Add up releases, (models, d (d + 3) / 2), and the variances of their noise.

    ``without`` is an agent whose release is left out.
    """
    released, variance = np.zeros(constants.release_size), 0.0
    for origin, known in heard:
        if origin != without:
            released += known.values
            variance += noise_variance(constants, origin, known.release)
    return released.reshape(constants.models, -1), variance
