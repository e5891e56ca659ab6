"""The configuration of asynchronous FedLinUCB, and its preset."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.agents.config import Bound, OpenUnit, Positive
from fedbandits.systems.base import Preset


class AsyncFedLinUCB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of asynchronous FedLinUCB (He et al. 2022, Algorithm 1), which adds no noise.

    Statistics are exchanged in clear.

    Parameters
    ----------
    growth
        α of the paper. An agent exchanges with the server when its new records have made det Σ more
        than 1 + α times as large as at its last exchange. ``auto``: 1/M².
    confidence
        How far an agent explores. ``published``: by β of Theorem 5.1. ``adaptive``: by the radius
        of the other systems. It is valid if decision sets do not depend on rewards
        (docs/baselines.md). ``deviations``: by standard deviations of its estimate; nothing is
        proved.
    exploration_scale
        Factor of the confidence radius; 1 is the value of the theorem. With ``deviations`` it is α,
        the number of standard deviations.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first scales
        context and reward back by the same factor, then cuts the reward off at B. NaN counts as 0.
        A context of infinite norm keeps its infinite entries, scaled to norm L.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail; δ in the paper.
    regularization
        λ, the ridge parameter. ``auto``: 1/S², as in the paper; with ``deviations`` (2σ/S)².
    """

    growth: Positive | Literal["auto"] = "auto"
    confidence: Literal["published", "adaptive", "deviations"] = "published"
    exploration_scale: Annotated[float, Meta(ge=0.0)] = 1.0
    context_bound: Bound = 1.0
    reward_bound: Bound = 1.0
    parameter_bound: Bound = 1.0
    out_of_bounds: Literal["refuse", "clip"] = "refuse"
    noise_scale: Bound = 0.5
    alpha: OpenUnit = 0.01
    regularization: Positive | Literal["auto"] = "auto"


PRESETS: dict[str, Preset] = {
    "fedlinucb-async": Preset(
        "He et al. 2022: no noise; an agent exchanges with the server when it has learned enough",
        {},
    ),
}
