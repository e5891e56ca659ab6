"""What an agent makes of the releases that it has heard, as compiled functions on arrays.

The simulation's loop and the parties call these same functions.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.ridge import log_determinant, unpack
from fedbandits.systems.feducb.agent import Basis, Pool, pool_release
from fedbandits.systems.feducb.rules import TRIGGERED, Rules
from fedbandits.systems.feducb_p2p.rules import Peers


@compiled
def pool_heard(
    rules: Rules,
    peers: Peers,
    agent: int,
    count: int,
    variance: float,
    released: Floats,
    fresh: Floats,
    pool: Pool,
) -> int:
    """Turn the newest releases that an agent has heard into estimates and their radius.

    Parameters
    ----------
    agent : int
        Who pools.
    count : int
        How many agents' releases there are, its own included.
    variance : float
        Of their noise, added up.
    released : (models, d (d + 3) / 2) float64
        Their sum; receives ``fresh`` too.
    fresh : (models or 0, d (d + 3) / 2) float64
        With a raw view, own records since the last own release: they are in no release yet.
    pool : Pool
        Receives the result.

    Returns
    -------
    int
        ``NO_FAULT``, or why there is no result.
    """
    base = peers.base[agent]
    # As published: 2Λ for each one heard, ρ_min for each one that is not.
    shift = base + count * (rules.shift - base) / rules.agents
    basis = Basis(base, peers.log_term[agent], shift, math.sqrt(variance))
    if rules.raw_view:
        released += fresh
    fault = pool_release(rules, basis, released, pool)
    if rules.schedule == TRIGGERED:
        _note_synced(rules, base, fresh, pool)
    return fault


@compiled
def _note_synced(rules: Rules, base: float, fresh: Floats, pool: Pool) -> None:
    """What the trigger compares with is ln det S, S = V without fresh records.

    S ⪰ base · I up to noise; eigenvalues below are held there, where a logarithm would fail.
    """
    gram, moment = np.empty((rules.dimension, rules.dimension)), np.empty(rules.dimension)
    for m in range(rules.models):
        unpack(fresh[m], gram, moment)
        values = np.linalg.eigvalsh(pool.gram[m] - gram)
        pool.terms[m, 3] = log_determinant(np.maximum(values, base), 0.0)
