"""The parts that a P-FCB variant is composed of, and its configuration."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked

Positive = Annotated[float, Meta(gt=0.0, le=1e9)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class ToTheLetter(_Part, frozen=True, tag="literal"):
    """Algorithm 2 to the letter: τ starts at 1 and doubles with every exchange.

    When the window opens, τ is far behind, so the first rounds of it all exchange.
    """


class Powers(_Part, frozen=True, tag="powers"):
    """Exchange in rounds 1, 2, 4, 8, … of the window: what Algorithm 2 seems to mean."""


class Growing(_Part, frozen=True, tag="growing"):
    """Exchange when the window opens, then whenever the round has grown by ``factor``.

    Parameters
    ----------
    factor
        Ratio of the round of an exchange to that of the one before.
    """

    factor: Annotated[float, Meta(gt=1.0, le=1e6)] = 1.5


class Every(_Part, frozen=True, tag="every"):
    """Exchange after every round, whatever the window."""


class Never(_Part, frozen=True, tag="never"):
    """No communication."""


Schedule = ToTheLetter | Powers | Growing | Every | Never


class NoNoise(_Part, frozen=True, tag="none"):
    """Reports leave in clear."""


class Published(_Part, frozen=True, tag="published"):
    """Equations 10 and 11: budgets ε_z = ε/(2 log T) + ε/2^(z+1), w and y each as if alone.

    Parameters
    ----------
    logarithm
        The log of T in the budgets: ``binary``, so that those of log₂ T rounds of exchange, which
        double, add up to ε; or ``natural``, as the one of equations 10 and 11 is.
    """

    logarithm: Literal["binary", "natural"] = "binary"


class Independent(_Part, frozen=True, tag="independent"):
    """Calibrated to (ε, δ), one draw for w and one for y."""


class Correlated(_Part, frozen=True, tag="correlated"):
    """Calibrated to (ε, δ), with the covariance of w and y that fits what a purchase can change."""


class Continual(_Part, frozen=True, tag="continual"):
    """Running sums of all purchases by the square-root Toeplitz mechanism, covariance as above."""


Privatizer = NoNoise | Published | Independent | Correlated | Continual


class WithinRadius(_Part, frozen=True, tag="within-radius"):
    """Take what lies within ω₁ confidence radii of what one knows.

    Procedure 1 and section 5.4 differ: ``within-radius(0.1)`` is the one, and
    ``within-radius(0.1, own, own)`` the other.

    Parameters
    ----------
    omega1
        ω₁, how many radii.
    evidence
        What the estimate and its radius are made of: ``pooled``, all that a buyer acts on, the W
        and Y of Procedure 1; or ``own``, the units that it bought itself, the Σ l of section 5.4.
    logarithm
        The radius is √(3 ln x / 2W), with x the number of buyers times the round (``shared``, the
        ln(nt) of Procedure 1), or the round (``own``, the ln t of section 5.4).
    """

    omega1: Positive = 0.1
    evidence: Literal["pooled", "own"] = "pooled"
    logarithm: Literal["shared", "own"] = "shared"


class WithinDeviations(_Part, frozen=True, tag="within-deviations"):
    """Take what lies within so many standard deviations, the report's noise included.

    Parameters
    ----------
    deviations
        How many standard deviations.
    """

    deviations: Positive = 4.0


class Always(_Part, frozen=True, tag="always"):
    """Take every report that says anything."""


Acceptance = WithinRadius | WithinDeviations | Always


class Constant(_Part, frozen=True, tag="constant"):
    """Procedure 1: a reported unit counts as ω₂ own ones.

    Parameters
    ----------
    omega2
        ω₂, how many own units a reported one counts as.
    """

    omega2: Positive = 10.0


class InverseVariance(_Part, frozen=True, tag="inverse-variance"):
    """A report counts as so many own units as would tell as much."""


Weighting = Constant | InverseVariance


def exchange_rounds(schedule: Schedule, first: int, last: int) -> list[int]:
    """Rounds of the window ``first`` … ``last`` after which buyers exchange; not for ``every``."""
    match schedule:
        case ToTheLetter():
            return _to_the_letter(first, last)
        case Powers():
            return [1 << z for z in range(last.bit_length()) if first <= 1 << z <= last]
        case Growing():
            return _growing(schedule.factor, first, last)
        case Every() | Never():
            return []


def _to_the_letter(first: int, last: int) -> list[int]:
    """Rounds t ≥ τ of the window; τ doubles once a round in which buyers exchange."""
    rounds, threshold, round_ = [], 1, first
    while round_ <= last:
        rounds.append(round_)
        threshold *= 2
        round_ = max(round_ + 1, threshold)
    return rounds


def _growing(factor: float, first: int, last: int) -> list[int]:
    rounds, round_ = [], first
    while round_ <= last:
        rounds.append(round_)
        round_ = max(round_ + 1, math.ceil(factor * round_))
    return rounds


OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]
Round = Annotated[int, Meta(ge=1, le=4_000_000_000)]


class PFCB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """P-FCB (Solanki et al. 2022, Algorithms 1 and 2), in parts.

    Parameters
    ----------
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which they do; 200 and 40,000 in the paper, where T = 100,000.
        ``auto`` keeps those proportions, but opens in round 10 at the latest where ``local_view``
        is ``released``: nothing is learned before.
    privatizer
        How a report is made: ``correlated``, ``independent``, ``published``, ``continual``,
        ``none``.
    local_view
        ``raw``: a buyer's own purchases count at once. ``released``: it acts on reports alone, its
        own noisy ones included.
    acceptance
        Which reports are believed: ``within-deviations(4)``, ``within-radius(ω₁)``, ``always``.
    weighting
        How much they count: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        ``cautious``: revenue at the upper confidence bound, quality so that a purchase meets the
        constraint with probability ``quality_confidence``, nominally and per round.
        ``optimistic``: both at the upper bound.
    quality_confidence
        Probability with which a ``cautious`` purchase meets the constraint, nominally and per
        round.
    quality_margin
        The margin γ: the constraint is aimed at α + γ.
    oracle
        How a purchase is worked out: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius √(3 ln x / 2W), W being the units known of, with x the round
        (``own``), or the number n of buyers times it (``shared``: what the proof of Theorem 1
        needs). ``printed`` is line 15 of Algorithm 1 to the letter, √(3 ln(nt) / 2nW): all buyers'
        units are in W already, so n is in it twice.
    exploration_scale
        The radius is multiplied by it.
    zeta
        ζ: the pure exploration lasts 3 ln(yT) / (2nζ²) rounds, a quarter of the horizon at most.
        The paper does not state it. With ζ = 0.6 that is 5 rounds at the paper's scale: its
        Figure 5 leaves no room for many more.
    y
        y in the length of the pure exploration, see ``zeta``; ``agents`` stands for n. The paper
        does not state it.
    exploration_log
        Whether that is the log of yT (``horizon``, Algorithm 2), or of yt, as long as it holds
        (``round``, Algorithm 1).
    explorers
        The n in that length: ``all`` buyers, which may share its rounds, or ``one``, as in the
        single-agent algorithm that the paper's buyers without communication follow.
    exploration_units
        What is bought from everybody while exploring: ``one`` unit, or all ``capacity``.
    outcomes
        When inspections may tell what was good. ``immediate``: before the next report leaves; an
        outcome that comes after it is refused. ``late``: any time, and it counts in the report
        after it. A purchase can then move from one report to another, so there is more noise, by
        up to √2. In a simulation all inspections are immediate.
    epsilon
        ε of the budget of every buyer, for all it ever sends.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
    """

    schedule: Schedule = msgspec.field(default_factory=Growing)
    window: tuple[Round, Round] | Literal["auto"] = "auto"
    privatizer: Privatizer = msgspec.field(default_factory=Correlated)
    local_view: Literal["raw", "released"] = "raw"
    acceptance: Acceptance = msgspec.field(default_factory=WithinDeviations)
    weighting: Weighting = msgspec.field(default_factory=InverseVariance)
    purchases: Literal["cautious", "optimistic"] = "cautious"
    quality_confidence: Annotated[float, Meta(ge=0.5, lt=1.0)] = 0.999
    quality_margin: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    oracle: Literal["greedy", "exact"] = "greedy"
    radius: Literal["own", "shared", "printed"] = "own"
    exploration_scale: Annotated[float, Meta(ge=0.0, le=1e6)] = 1.0
    zeta: Annotated[float, Meta(ge=1e-3, le=1e9)] = 0.6
    y: Positive | Literal["agents"] = "agents"
    exploration_log: Literal["horizon", "round"] = "horizon"
    explorers: Literal["all", "one"] = "all"
    exploration_units: Literal["one", "capacity"] = "one"
    outcomes: Literal["immediate", "late"] = "immediate"
    epsilon: Positive = 1.0
    delta: OpenUnit = 0.01

    def validate(self) -> None:
        if self.local_view == "released" and isinstance(self.schedule, Never):
            raise ValueError(
                "with a released local_view nothing is learned without exchanges; set "
                'local_view = "raw", or a schedule'
            )
        acceptance = self.acceptance
        judged_by_own = isinstance(acceptance, WithinRadius) and acceptance.evidence == "own"
        if self.local_view == "released" and judged_by_own:
            raise ValueError(
                "with a released local_view a buyer does not look at its own records, so it cannot "
                'judge reports by them; set acceptance.evidence = "pooled", or local_view = "raw"'
            )
