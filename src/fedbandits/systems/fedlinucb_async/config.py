"""The configuration of asynchronous FedLinUCB."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.agents.config import Bound, OpenUnit, Positive


class AsyncFedLinUCB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asynchronous FedLinUCB (He et al. 2022, Algorithm 1). Statistics are exchanged in clear.

    Parameters
    ----------
    growth
        The paper's α: an agent exchanges with the server when its own records since its last
        exchange make det Σ more than 1 + α times what it was then. ``auto``: 1/M².
    confidence
        ``published``: β of the paper's Theorem 5.1. ``adaptive``: the radius of the other
        variants, valid where decision sets do not depend on rewards (docs/baselines.md).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales context
        and reward back together, then cuts the reward off at B. What is no number counts as 0; a
        context of infinite length keeps its infinite entries, cut to length L.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail; the paper's δ.
    regularization
        λ, the ridge parameter. ``auto``: 1/S², as in the paper.
    """

    growth: Positive | Literal["auto"] = "auto"
    confidence: Literal["published", "adaptive"] = "published"
    exploration_scale: Annotated[float, Meta(ge=0.0)] = 1.0
    context_bound: Bound = 1.0
    reward_bound: Bound = 1.0
    parameter_bound: Bound = 1.0
    out_of_bounds: Literal["refuse", "clip"] = "refuse"
    noise_scale: Bound = 0.5
    alpha: OpenUnit = 0.01
    regularization: Positive | Literal["auto"] = "auto"
