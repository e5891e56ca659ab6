"""Constants of a run of linear agents, as compiled code takes them."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._typing import Floats, Ints

#: How a sync is due: at rounds fixed in advance, or when a determinant has grown.
FIXED, TRIGGERED = 0, 1


class Learning(NamedTuple):
    """Constants that say how a view takes up a record of its agent."""

    raw_view: bool
    own_view: bool
    triggered: bool  # whether the record counts for a trigger too
    reward_noise: float  # σ
    exploration_scale: float
    rounding: float  # rounds a record's products, so that sums are exact: see privacy.rounding
    base: float  # λ


class Constants(NamedTuple):
    """All constants of a run."""

    agents: int  # M
    models: int  # parameter vectors: 1, or one an arm
    dimension: int  # d
    raw_view: bool  # own records after the last release count at once
    own_view: bool  # all of them in clear, beside what others released, by standard deviations
    schedule: int  # FIXED or TRIGGERED
    period: int  # sync every so many rounds, or 0: see sync_times
    sync_times: Ints
    threshold: float  # D
    mechanism: int
    releases: int  # n
    noise_deviation: Floats  # (agents,): s
    coefficients: Floats
    entry_scale: Floats  # (models · d (d + 3) / 2,): deviations of a release's entries, in s
    published_confidence: bool
    deviations: bool  # explore standard deviations of estimates: nothing is proved
    draws: bool  # decide by parameters that are drawn
    exploration_scale: float  # α; α/2 with draws, whose deviation is half of a width
    reward_noise: float  # σ
    context_bound: float  # L
    reward_bound: float  # B
    centre: float  # taken from every reward before it is learned
    parameter_bound: float  # S
    clip: bool
    rounding: float  # rounds a record's products, so that sums are exact: see privacy.rounding
    step: float  # q, of the whole numbers that secure sums add up; 0 where releases are seen
    base: float  # λ₁, or Mρ_min
    shift: float  # added to the pooled Gram matrix; adaptive confidence chooses its own
    trigger_shift: float  # M(ρ_max - ρ_min)
    log_term: float
    norm_factor: float  # N ⪰ -norm_factor · deviation of a sum's noise
    bias_factor: float  # ‖Nθ* - h‖ ≤ bias_factor · deviation of a sum's noise
    gram_noise: float  # ρ: deviation of N's entries, off the diagonal, relative to that of h
    published_bias: float  # S√(Mρ_max) + κ√M
    records_per_person: int  # records of a person that count for releases; 0 for all

    @property
    def statistic_shape(self) -> tuple[int, int]:
        """Shape of the packed statistics of one agent's records: (models, d (d + 3) / 2)."""
        return self.models, self.release_size // self.models

    @property
    def leaves_out_own(self) -> bool:
        """True if an agent takes its own release, and its noise, out of the sum.

        In a secure sum own noise must stay: decisions that depend on it could take it away.
        """
        return self.own_view and self.step == 0.0

    @property
    def release_size(self) -> int:
        """Count of numbers in one release."""
        return self.entry_scale.size


def learning_of(constants: Constants) -> Learning:
    """Return how a view takes up a record."""
    return Learning(
        constants.raw_view, constants.own_view, constants.schedule == TRIGGERED,
        constants.reward_noise, constants.exploration_scale, constants.rounding, constants.base,
    )  # fmt: skip
