"""Joint views of peers, from the releases that they have heard, compiled."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.assign import add_to
from fedbandits.learners.kernels.joint import one_joint
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.rounds import Scratch
from fedbandits.systems.agents.kernels.views import load_others, one_view
from fedbandits.systems.feducb_p2p.kernels.releases import newest, refresh
from fedbandits.systems.feducb_p2p.kernels.state import NOT_POOLED, Peers, State


@compiled
def refresh_jointly(constants: Constants, peers: Peers, state: State, scratch: Scratch) -> None:
    """Do what :func:`~.kernels.refresh_all` does, where views are joint.

    Apart from the loop over rounds, which would compile it anew for every world.
    """
    round_ = state.clock.round_[0]
    for cell in range(state.heard.size):
        looks = state.looked[cell] < state.awaited[cell]
        if looks and refresh(constants, peers, state, scratch, cell, round_):
            others, variance = _others(constants, peers, state, cell, round_)
            view, joint = one_view(state.views, cell), one_joint(state.joints, cell)
            load_others(constants, others, variance, view, joint)


@compiled
def _others(
    constants: Constants, peers: Peers, state: State, cell: int, round_: int
) -> tuple[Floats, float]:
    """Add up the newest releases of others that a cell has heard; return its variance too."""
    releases, depth = state.releases, state.releases.round_.shape[1]
    others, variance = np.zeros(constants.entry_scale.size), 0.0
    agent, estimator = cell // peers.estimators, cell % peers.estimators
    for other in range(constants.agents):
        lag = peers.lag[agent, other]
        if lag == NOT_POOLED or other == agent:
            continue
        source = other * peers.estimators + estimator
        k = newest(releases, source, round_ - lag)
        if k > 0:
            add_to(others, releases.value[source, (k - 1) % depth])
            variance += releases.variance[source, (k - 1) % depth]
    return others.reshape((constants.models, -1)), variance
