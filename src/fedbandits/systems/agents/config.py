"""The parts that a variant of the linear agents is composed of, and their configuration."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked

PositiveInt = Annotated[int, Meta(ge=1, le=4_000_000_000)]
Positive = Annotated[float, Meta(gt=0.0)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Every(_Part, frozen=True, tag="every"):
    """Sync after every ``rounds`` rounds.

    Parameters
    ----------
    rounds
        Number B of rounds from one sync to the next; ``"auto"`` is ⌈√(T/M)⌉, the longest batch
        whose delay, of order d·MB, costs no more than learning itself, of order d√(MT)
        (docs/baselines.md).
    """

    rounds: PositiveInt | Literal["auto"] = 1


class Evenly(_Part, frozen=True, tag="evenly"):
    """Sync exactly ``syncs`` times, evenly spread: the k-th time after ⌊k T / (syncs + 1)⌋ rounds.

    Parameters
    ----------
    syncs
        Their number n, less than the rounds T: one after the last round would serve nobody.
    """

    syncs: PositiveInt = 10


class Growing(_Part, frozen=True, tag="growing"):
    """Sync first after ``first`` rounds, then whenever the round has grown by ``factor``.

    Parameters
    ----------
    factor
        Ratio of one sync's round to the last one's; at least one round lies between.
    first
        ``"auto"`` waits until what all agents have seen could stand out from the noise (see
        :func:`.schedule.first_useful_round`): an earlier release spends budget on noise alone.
    """

    factor: Annotated[float, Meta(gt=1.0)] = 1.5
    first: PositiveInt | Literal["auto"] = "auto"


class Determinant(_Part, frozen=True, tag="determinant"):
    """Sync when some agent's log determinant has grown enough (the paper's Algorithm 1, line 12).

    The trigger reads raw data, so message times leak: no finite ε holds.

    Parameters
    ----------
    threshold
        The threshold D as a number; ``"theory"`` for that of Theorem 1; ``"wang"`` for T
        ln(MT)/(dM), that of Wang et al. (2020) for statistics in clear; or the communication aimed
        at: ``"M log T"``, ``"M^1.5"``, ``"MT"`` mean about ⌈log₂ T⌉, ⌈√M⌉ and T syncs.
    """

    threshold: Positive | Literal["theory", "wang", "M log T", "M^1.5", "MT"] = "M log T"


class Never(_Part, frozen=True, tag="never"):
    """No communication."""


Schedule = Every | Growing | Evenly | Determinant | Never


class NoNoise(_Part, frozen=True, tag="none"):
    """Statistics leave in clear."""


class Toeplitz(_Part, frozen=True, tag="toeplitz"):
    """Square-root Toeplitz mechanism, calibrated to (ε, δ) by Gaussian DP."""


class Tree(_Part, frozen=True, tag="tree"):
    """Binary tree; ``noise`` is ``calibrated`` to (ε, δ) or the paper's ``published`` constant.

    Parameters
    ----------
    noise
        ``calibrated``: as much as (ε, δ) needs. ``published``: the constant that the paper prints.
    """

    noise: Literal["calibrated", "published"] = "calibrated"


Privatizer = NoNoise | Toeplitz | Tree


#: L, B, S and σ: beyond these the arithmetic has no room.
Bound = Annotated[float, Meta(ge=1e-6, le=1e6)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class AgentsConfig(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Linear agents that release running sums, in parts (Dubey & Pentland 2020).

    Parameters
    ----------
    schedule
        When agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
        ``never``.
    privatizer
        How a running sum is released: ``toeplitz``, ``tree``, ``none``.
    local_view
        ``released``: an agent acts on released statistics alone. ``raw``: its own records since
        the last sync count at once.
    confidence
        ``adaptive`` (docs/confidence.md) or ``published`` (Proposition 2).
    exploration_scale
        Multiplies the radius; 1 is the theorem.
    epsilon
        ε of the budget of every agent, for all it ever sends. A list gives each agent its own.
    delta
        δ of the budget of every agent: the probability with which the promise of ε may fail.
    context_bound
        L, the largest norm of a context. Contexts are held to it before they touch a statistic.
    reward_bound
        B, the largest absolute reward. Rewards are held to it before they touch a statistic.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B: ``refuse`` stops the run. ``clip`` scales context
        and reward back together, so that they stay linear in θ*, then cuts the reward off at B;
        where rewards are cut off the confidence bound no longer holds. What is no number counts as
        0; a context of infinite length keeps its infinite entries, cut to length L.
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

    def validate(self) -> None:
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
