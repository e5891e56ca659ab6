"""The configuration of a FedUCB variant: every part can be set by itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits.systems.feducb.parts import (
    Determinant,
    Growing,
    NoNoise,
    Positive,
    Privatizer,
    Schedule,
    Toeplitz,
    Tree,
)

#: L, B, S and σ: beyond these the arithmetic has no room.
Bound = Annotated[float, Meta(ge=1e-6, le=1e6)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class FedUCB(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """FedUCB with a controller (Dubey & Pentland 2020, Algorithm 1), in parts.

    Parameters
    ----------
    schedule
        When agents sync: ``growing(1.5)``, ``every(B)``, ``determinant(D)``, ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records since
        the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon, delta
        The budget of every agent, for all it ever sends. A list gives each agent an ε of its own.
    context_bound, reward_bound, parameter_bound
        L, B and S. Contexts and rewards are held to L and B before they touch a statistic.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales context
        and reward back together, so that they stay linear in θ*, then cuts the reward off at B;
        where rewards are cut off the confidence bound no longer holds.
    noise_scale
        σ: rewards are σ-sub-Gaussian about their mean.
    alpha
        Probability with which the confidence bound may fail.
    regularization
        λ₁, the ridge parameter. ``auto``: 1 without noise; with noise, the bound on the operator
        norm of the pooled noise, since less would only loosen the radius.
    """

    schedule: Schedule = msgspec.field(default_factory=Growing)
    privatizer: Privatizer = msgspec.field(default_factory=Toeplitz)
    local_view: Literal["released", "raw"] = "released"
    confidence: Literal["adaptive", "published"] = "adaptive"
    exploration_scale: Annotated[float, Meta(ge=0.0)] = 1.0
    epsilon: Positive | tuple[Positive, ...] = 1.0
    delta: OpenUnit = 1e-5
    context_bound: Bound = 1.0
    reward_bound: Bound = 1.0
    parameter_bound: Bound = 1.0
    out_of_bounds: Literal["refuse", "clip"] = "refuse"
    noise_scale: Bound = 0.5
    alpha: OpenUnit = 0.01
    regularization: Positive | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.schedule, Determinant) and isinstance(self.privatizer, Toeplitz):
            raise ValueError(  # noqa: TRY004 - a wrong combination of values, not a wrong type
                "the toeplitz privatizer needs the number of releases in advance, which a "
                "determinant schedule does not give; use growing, every, or the tree"
            )

        if isinstance(self.schedule, Determinant) and self.local_view == "released":
            raise ValueError(
                "a determinant schedule watches raw records, which a released local_view does "
                'not; set local_view = "raw", or use growing or every'
            )
        if self.regularization != "auto" and self.is_private and self.confidence == "published":
            raise ValueError(
                "regularization has no effect with published confidence, which shifts by the "
                'noise; leave it at "auto"'
            )

    @property
    def is_private(self) -> bool:
        """Whether noise is added at all."""
        return not isinstance(self.privatizer, NoNoise)

    @property
    def uses_published_noise(self) -> bool:
        """Whether the noise is the paper's constant."""
        return isinstance(self.privatizer, Tree) and self.privatizer.noise == "published"
