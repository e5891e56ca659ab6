"""The parts that a P-FCB variant is composed of, its configuration, and presets."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.aggregation import Aggregation, Clear
from fedbandits.systems.base import Preset
from fedbandits.systems.variants import BUDGET

Positive = Annotated[float, Meta(gt=0.0, le=1e9)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class ToTheLetter(_Part, frozen=True, tag="literal"):
    """Algorithm 2 exactly as printed: τ starts at 1 and doubles with every exchange.

    When the window opens, τ is much smaller than the round. So buyers exchange in each of the first
    rounds of the window.
    """


class Powers(_Part, frozen=True, tag="powers"):
    """Exchange in rounds 1, 2, 4, 8, … of the window, which Algorithm 2 seems to mean."""


class Growing(_Part, frozen=True, tag="growing"):
    """Exchange when the window opens, then whenever the number of rounds has grown by ``factor``.

    Parameters
    ----------
    factor
        Ratio of the round of an exchange to the round of the exchange before.
    """

    factor: Annotated[float, Meta(gt=1.0, le=1e6)] = 1.5


class Every(_Part, frozen=True, tag="every"):
    """Exchange after every round; the window is ignored."""


class Never(_Part, frozen=True, tag="never"):
    """Buyers do not communicate."""


Schedule = ToTheLetter | Powers | Growing | Every | Never


class NoNoise(_Part, frozen=True, tag="none"):
    """Reports are sent in clear, without noise."""


class Published(_Part, frozen=True, tag="published"):
    """Noise of equations 10 and 11: budgets ε_z = ε/(2 log T) + ε/2^(z+1).

    w and y each get noise as if the other were not released.

    Parameters
    ----------
    logarithm
        The logarithm of T in the budgets. ``binary``: log₂ T. The budgets of log₂ T exchanges, in
        rounds that double, then add up to ε. ``natural``: ln T, as in equations 10 and 11.
    """

    logarithm: Literal["binary", "natural"] = "binary"


class Independent(_Part, frozen=True, tag="independent"):
    """Noise calibrated to (ε, δ), with independent draws for w and y."""


class Correlated(_Part, frozen=True, tag="correlated"):
    """Noise calibrated to (ε, δ); w and y are correlated as a purchase can change them."""


class Continual(_Part, frozen=True, tag="continual"):
    """Running sums of all purchases with square-root Toeplitz noise; w and y are correlated."""


class Optimal(_Part, frozen=True, tag="optimal"):
    """Running sums of all purchases with the least noise for their number; w and y are correlated.

    For more than 40 exchanges it is the same as ``continual``.
    """


Privatizer = NoNoise | Published | Independent | Correlated | Continual | Optimal
#: Those that release running sums.
RunningSums = Continual | Optimal


class WithinRadius(_Part, frozen=True, tag="within-radius"):
    """Accept a report that is within ω₁ confidence radii of the buyer's own estimate.

    Procedure 1 and section 5.4 of the paper differ. ``within-radius(0.1)`` is Procedure 1.
    ``within-radius(0.1, own, own)`` is section 5.4.

    Parameters
    ----------
    omega1
        ω₁, the number of confidence radii.
    evidence
        Units from which the estimate and its radius are computed. ``pooled``: all units that the
        buyer knows, W and Y in Procedure 1. ``own``: the units that it bought itself, Σ l in
        section 5.4.
    logarithm
        x in the radius √(3 ln x / 2W). ``shared``: the number of buyers times the round, nt in
        Procedure 1. ``own``: the round, t in section 5.4.
    """

    omega1: Positive = 0.1
    evidence: Literal["pooled", "own"] = "pooled"
    logarithm: Literal["shared", "own"] = "shared"


class WithinDeviations(_Part, frozen=True, tag="within-deviations"):
    """Accept a report that is within a number of standard deviations of the buyer's own estimate.

    The standard deviation includes the noise of the report.

    Parameters
    ----------
    deviations
        The number of standard deviations.
    """

    deviations: Positive = 4.0


class Always(_Part, frozen=True, tag="always"):
    """Accept every report that has information."""


Acceptance = WithinRadius | WithinDeviations | Always


class Constant(_Part, frozen=True, tag="constant"):
    """Procedure 1: a reported unit counts as ω₂ own units.

    Parameters
    ----------
    omega2
        ω₂, the number of own units as which a reported unit counts.
    """

    omega2: Positive = 10.0


class InverseVariance(_Part, frozen=True, tag="inverse-variance"):
    """A report counts as the number of own units that have the same information."""


Weighting = Constant | InverseVariance


OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]
Round = Annotated[int, Meta(ge=1, le=4_000_000_000)]


class PFCB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of P-FCB (Solanki et al. 2022, Algorithms 1 and 2).

    Parameters
    ----------
    schedule
        When buyers exchange reports: ``growing(1.5)``, ``powers``, ``literal``, ``every``,
        ``never``.
    window
        [t̲, t̄], the rounds between which buyers exchange reports. The paper has 200 and 40,000
        with T = 100,000. ``auto`` keeps these proportions. If ``local_view`` is ``released``, it
        opens in round 10 at the latest, because buyers learn nothing before.
    privatizer
        How noise is added to a report: ``correlated``, ``independent``, ``published``,
        ``continual``, ``optimal``, ``none``.
    aggregation
        Who adds up what buyers report. ``clear``: every buyer sees each report of every other one.
        ``secure-sum``: buyers send to a controller, and nobody sees more than sums, so their noise
        is needed once (docs/secure-sums.md). It needs running sums: the privatizer ``optimal`` or
        ``continual``.
    local_view
        What a buyer decides on. ``raw``: also its own purchases since the last report.
        ``released``: only reports, its own noisy ones included. Of a secure sum: only the sum.
    acceptance
        Which reports a buyer accepts: ``within-deviations(4)``, ``within-radius(ω₁)``, ``always``.
    weighting
        How much weight an accepted report gets: ``inverse-variance``, ``constant(ω₂)``.
    purchases
        Estimates that a purchase is based on. ``cautious``: revenue at the upper confidence bound.
        Quality is set so that a purchase meets the constraint with probability
        ``quality_confidence``, nominally and in each round. ``optimistic``: both at the upper
        confidence bound.
    quality_confidence
        Nominal probability with which a ``cautious`` purchase meets the constraint in each round.
    quality_margin
        The margin γ: purchases aim at an average quality of α + γ.
    oracle
        How a purchase is computed: ``greedy``, or ``exact`` for the optimum.
    radius
        The confidence radius, where W is the number of known units. ``own``: √(3 ln t / 2W), with
        the round t. ``shared``: √(3 ln(nt) / 2W), which the proof of Theorem 1 needs. ``printed``:
        √(3 ln(nt) / 2nW), as printed in line 15 of Algorithm 1. W already contains the units of all
        n buyers, so n is counted twice there.
    exploration_scale
        Factor of the confidence radius.
    zeta
        ζ. Pure exploration lasts 3 ln(yT) / (2nζ²) rounds, but at most a quarter of the horizon.
        The paper does not give ζ. With ζ = 0.6 it lasts 5 rounds at the scale of the paper. Figure
        5 of the paper excludes many more.
    y
        y in the length of pure exploration, see ``zeta``. ``agents`` means n. The paper does not
        give y.
    exploration_log
        The logarithm in the length of pure exploration. ``horizon``: ln(yT), as in Algorithm 2.
        ``round``: ln(yt) with the current round t, as in Algorithm 1; exploration ends when t is
        larger than the length.
    explorers
        n in the length of pure exploration. ``all``: the number of buyers, which share the
        exploration. ``one``: 1, as in the single-agent algorithm, which the buyers without
        communication use in the paper.
    exploration_units
        What is bought from each producer during exploration: ``one`` unit, or the whole
        ``capacity``.
    outcomes
        When the outcome of a purchase may arrive. ``immediate``: before the next report; later
        outcomes are refused. ``late``: at any time; the outcome then counts in the next report. A
        purchase can then move from one report to another, so the noise is larger, by a factor of at
        most √2. In a simulation outcomes are immediate, unless ``environment.delay`` is set.
    epsilon
        ε of the budget of every buyer, for everything that it sends.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    """

    schedule: Schedule = msgspec.field(default_factory=Growing)
    window: tuple[Round, Round] | Literal["auto"] = "auto"
    privatizer: Privatizer = msgspec.field(default_factory=Correlated)
    aggregation: Aggregation = msgspec.field(default_factory=Clear)
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
                "with a released local_view buyers learn only from exchanges; set "
                'local_view = "raw", or a schedule'
            )
        acceptance = self.acceptance
        judged_by_own = isinstance(acceptance, WithinRadius) and acceptance.evidence == "own"
        if self.local_view == "released" and judged_by_own:
            raise ValueError(
                "with a released local_view a buyer does not look at its own records, so it "
                'cannot compare reports with them; set acceptance.evidence = "pooled", or '
                'local_view = "raw"'
            )
        reason = "" if isinstance(self.aggregation, Clear) else self._not_summed()
        if reason:
            raise ValueError(f"aggregation: secure sums cannot be had here: {reason}")

    def _not_summed(self) -> str:
        """Say why reports cannot be added up secretly; empty if they can."""
        if isinstance(self.privatizer, NoNoise):
            return (
                'there is no noise to share; leave out aggregation, or set privatizer = "optimal"'
            )
        if not isinstance(self.privatizer, RunningSums):
            return 'they are sums of all purchases so far; set privatizer = "optimal"'
        if isinstance(self.schedule, Never):
            return "buyers do not communicate; leave out aggregation, or set a schedule"
        return ""

    @property
    def idle(self) -> tuple[str, ...]:
        """Settings that change nothing in this configuration: a budget without noise."""
        return BUDGET if isinstance(self.privatizer, NoNoise) else ()


#: Settings that all variants of the paper have.
_AS_PUBLISHED = {"schedule": "literal", "purchases": "optimistic"}
_IN_CLEAR = {"privatizer": "none", "acceptance": "always", "weighting": "constant(1)"}
#: Procedure 1, with the values of section 6.1: ω₁ = 0.1 radii of W and ln(nt), ω₂ = 10.
_PROCEDURE_1 = {"acceptance": "within-radius(0.1, pooled, shared)", "weighting": "constant(10)"}

#: Settings of reports: their times, contents, noise and use. How buyers purchase is none of them.
_SHARING = (
    "schedule", "window", "privatizer", "aggregation", "local_view", "acceptance", "weighting",
    "outcomes", "epsilon", "delta",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    "pfcb": Preset(
        "the sound variant: correlated noise, inverse-variance weights, cautious purchases", {}
    ),
    "pfcb-secure": Preset(
        "secure sums: nobody sees more than the sum of all buyers, which has the noise of one",
        {"aggregation": "secure-sum", "privatizer": "optimal"},
    ),
    "pfcb-published": Preset(
        "Solanki et al. 2022, Algorithm 2, as published: decreasing budgets, ω₁ = 0.1, ω₂ = 10",
        {**_AS_PUBLISHED, **_PROCEDURE_1, "privatizer": "published"},
    ),
    "pfcb-interactive": Preset(
        "buyers act only on reports, so the claim also holds for interactive data",
        {"local_view": "released", "exploration_units": "capacity", "schedule": "growing(2)"},
    ),
    "fcb": Preset(
        "as published (section 6.1): P-FCB with Procedure 1, but reports have no noise",
        {**_AS_PUBLISHED, **_PROCEDURE_1, "privatizer": "none"},
    ),
    "fcb-every-round": Preset(
        "as in Algorithm 1: reports without noise after every round; a lower limit for regret",
        {**_AS_PUBLISHED, **_IN_CLEAR, "schedule": "every"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
    "cucb-alone": Preset(
        "as published, without communication; the difference is the benefit of collaboration",
        {**_AS_PUBLISHED, **_IN_CLEAR, "schedule": "never"},
        stands_for="alone",
        sharing=_SHARING,
    ),
    "homogeneous-fcb": Preset(
        "Solanki et al. 2022, Algorithm 1: one shared model for identical buyers",
        {
            **_AS_PUBLISHED,
            **_IN_CLEAR,
            "schedule": "every",
            "radius": "printed",
            "exploration_log": "round",
        },
    ),
}
