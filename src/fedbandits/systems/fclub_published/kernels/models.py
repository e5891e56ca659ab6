"""A server's recommendations, and what it learns from their rewards, for both drivers alike."""

from __future__ import annotations

import math

from fedbandits._compile import compiled, inlined
from fedbandits._typing import Floats, Floats32
from fedbandits.learners.kernels.models import Models, Scoring, choose_arm, update
from fedbandits.learners.kernels.ridge import add_record, factorise, invert_statistic
from fedbandits.systems.fclub_published.kernels.state import (
    DELAYED,
    EDGES,
    SETS,
    Constants,
    Local,
    Scratch,
    last_of,
)


@compiled
def radius(constants: Constants, count: float, partners: int) -> float:
    """Return β of so many records as it is configured, times exploration_scale.

    Parameters
    ----------
    partners : int
        Number L' of local clusters that share their records.
    """
    if constants.noise_factor > 0.0:
        return constants.radius_scale * authors_radius(constants, max(count, 1.0))
    share = float(partners) if constants.radius_shared else 1.0
    seen = count / (constants.dimension * share * constants.radius_unit)
    inside = constants.radius_term + constants.dimension * math.log(constants.radius_offset + seen)
    bias = constants.radius_bias * math.sqrt(share)
    return constants.radius_scale * math.sqrt(max(inside, 0.0)) + bias


@compiled
def authors_radius(constants: Constants, count: float) -> float:
    """Return β of the authors' code for FCLUB-CDP; see :class:`..config.Authors`."""
    d, servers = constants.dimension, float(constants.servers)
    depth, spread = 1.0 + math.log(count), 2.0 * math.log(2.0 * count)
    rho = constants.noise_factor * depth * (4.0 * math.sqrt(d) + spread)
    upsilon = math.sqrt(math.sqrt(2.0) * depth * (math.sqrt(d) + spread) / constants.root_epsilon)
    inside = constants.radius_term + d * math.log(constants.radius_offset + count / (d * rho))
    return math.sqrt(inside) + math.sqrt(servers) * (math.sqrt(rho) + upsilon)


@compiled
def settle(models: Models, row: int, statistic: Floats, ridge: float, factor: Floats) -> bool:
    """Compute one model anew from its sum (p + 1,); False if λI + S is not positive definite."""
    log_det = invert_statistic(statistic, ridge, factor, models.inverse[row], models.theta[row])
    models.log_det[row] = log_det
    models.records[row] = last_of(statistic)
    return not math.isnan(log_det)


@compiled
def refresh(constants: Constants, local: Local, cluster: int, scratch: Scratch) -> bool:
    """Bring a local cluster's models up to its sums; see :func:`settle`."""
    local.stale[cluster] = 0
    for i in range(scratch.row.size):
        scratch.row[i] = local.shared[cluster, i] + local.buffer[cluster, i]
    sound = settle(local.models, cluster, scratch.row, constants.ridge, scratch.factor)
    if constants.buffered:
        base = factorise(local.shared[cluster], constants.ridge, scratch.factor)
    else:
        shared = local.shared[cluster]
        sound &= settle(local.acting, cluster, shared, constants.ridge, scratch.factor)
        base = local.acting.log_det[cluster]
    local.base_log_det[cluster] = base
    return sound and not math.isnan(base)


@inlined
def is_up_to_date(constants: Constants, local: Local, row: int, scratch: Scratch) -> bool:
    """Bring a model up to its sums if they have changed; False if they are none of records."""
    return not local.stale[row] or refresh(constants, local, row, scratch)


@compiled
def pick(
    constants: Constants, models: Models, row: int, partners: int, items: Floats32, scoring: Scoring
) -> int:
    """Return the item with the highest upper bound by one model; the first one of equals.

    Parameters
    ----------
    partners : int
        Number L' of local clusters that share their records.
    items : (d, K) float32
    """
    beta = radius(constants, models.records[row], partners)
    beta = math.sqrt(beta) if constants.squared else beta
    return choose_arm(models, row, beta, constants.squared, items, scoring)


@inlined
def choose(constants: Constants, local: Local, row: int, scratch: Scratch) -> int:
    """Return the item of ``scratch.items`` that a model recommends; it must be up to date."""
    models = local.models if constants.buffered else local.acting
    return pick(constants, models, row, local.partners[row], scratch.items, scratch.scoring)


@compiled
def add(sums: Floats, row: int, context: Floats, reward: float) -> None:
    """Add one record to a row of sums."""
    add_record(sums, row, context, reward, 0.0)  # noise is added to these: no grid would stay
    sums[row, sums.shape[1] - 1] += 1.0


@inlined
def learn(
    constants: Constants, local: Local, user: int, context: Floats, reward: float, scratch: Scratch
) -> None:
    """Take in one record: the user's own sums, the model of its cluster, the upload buffer."""
    add(local.sums, user, context, reward)
    if constants.sharing == DELAYED:
        add(local.buffer, local.cluster_of[user], context, reward)
    update(local.models, local.model_of[user], context, reward, scratch.gain)
    if constants.clustering == EDGES or constants.clustering == SETS:
        update(local.own, user, context, reward, scratch.gain)
