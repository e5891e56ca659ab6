"""The parts that a variant of the linear agents is composed of, and their configuration."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.variants import BUDGET, UNIT, refuse_unit

PositiveInt = Annotated[int, Meta(ge=1, le=4_000_000_000)]
Positive = Annotated[float, Meta(gt=0.0)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Every(_Part, frozen=True, tag="every"):
    """Sync after every ``rounds`` rounds.

    Parameters
    ----------
    rounds
        Number B of rounds from one sync to the next. ``"auto"`` is ⌈√(T/M)⌉. This is the longest
        batch whose delay, of order d·MB, does not add more regret than learning itself, of order
        d√(MT) (docs/baselines.md).
    """

    rounds: PositiveInt | Literal["auto"] = 1


class Evenly(_Part, frozen=True, tag="evenly"):
    """Sync ``syncs`` times at equal intervals: the k-th time after ⌊k T / (syncs + 1)⌋ rounds.

    Parameters
    ----------
    syncs
        Number n of syncs. It must be less than T, because a sync after the last round would be
        useless.
    """

    syncs: PositiveInt = 10


class Growing(_Part, frozen=True, tag="growing"):
    """Sync after ``first`` rounds, then whenever the number of rounds has grown by ``factor``.

    Parameters
    ----------
    factor
        Ratio of the round of a sync to the round of the sync before. There is at least one round
        between them.
    first
        Round of the first sync. ``"auto"`` waits until the data of all agents can be larger than
        the noise (see :func:`~fedbandits.systems.agents.schedule.first_useful_round`). An earlier
        release would spend budget without information.
    """

    factor: Annotated[float, Meta(gt=1.0)] = 1.5
    first: PositiveInt | Literal["auto"] = "auto"


class Determinant(_Part, frozen=True, tag="determinant"):
    """Sync when the log determinant of one agent has grown enough (Algorithm 1, line 12).

    The trigger reads raw data, so the times of messages reveal data, and no finite ε holds.

    Parameters
    ----------
    threshold
        The threshold D. A number is D itself. ``"theory"`` is D of Theorem 1. ``"wang"`` is T
        ln(MT)/(dM), which Wang et al. (2020) use without noise. ``"M log T"``, ``"M^1.5"`` and
        ``"MT"`` choose D by the amount of communication: about ⌈log₂ T⌉, ⌈√M⌉ and T syncs.
    """

    threshold: Positive | Literal["theory", "wang", "M log T", "M^1.5", "MT"] = "M log T"


class Never(_Part, frozen=True, tag="never"):
    """Agents never communicate."""


Schedule = Every | Growing | Evenly | Determinant | Never


class NoNoise(_Part, frozen=True, tag="none"):
    """Statistics are sent in clear, without noise."""


class Toeplitz(_Part, frozen=True, tag="toeplitz"):
    """Square-root Toeplitz mechanism, calibrated to (ε, δ) with Gaussian DP."""


class Optimal(_Part, frozen=True, tag="optimal"):
    """The factorisation with the least noise for the releases of the schedule.

    It is calibrated to (ε, δ) with Gaussian DP. For more than 40 releases it is ``toeplitz``.
    """


class Tree(_Part, frozen=True, tag="tree"):
    """Binary tree mechanism; its noise is calibrated, or the constant of the paper.

    Parameters
    ----------
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``published``: the constant in the paper.
    """

    noise: Literal["calibrated", "published"] = "calibrated"


Privatizer = NoNoise | Toeplitz | Optimal | Tree


#: L, B, S and σ: beyond these the arithmetic has no room.
Bound = Annotated[float, Meta(ge=1e-6, le=1e6)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]
#: Of two deviations of noise.
Ratio = Annotated[float, Meta(ge=0.01, le=100.0)]


class AgentsConfig(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of linear agents that release running sums (Dubey & Pentland 2020).

    Parameters
    ----------
    schedule
        When agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``, ``determinant(D)``,
        ``never``.
    privatizer
        How a running sum is released: ``optimal``, ``toeplitz``, ``tree``, ``none``.
    local_view
        What an agent decides on. ``released``: only released statistics. ``raw``: also its own
        records since the last sync. ``joint``: one estimate from all its own records and what
        others released, by standard deviations alone. With ``deviations`` ``raw`` is the same
        (docs/exploration.md).
    confidence
        How far an agent explores. ``adaptive``: by a radius that is proved (docs/confidence.md).
        ``published``: by that of the paper (Proposition 2). ``deviations``: by standard deviations
        of its estimate, as LinUCB does. Nothing is proved then, and regret is smaller.
    exploration
        How an agent explores. ``widths``: an arm's score is its estimate and a width. ``draws``:
        Thompson sampling, an arm's score is its estimate under parameters that are drawn for each
        decision. It needs ``confidence = "deviations"`` (docs/exploration.md).
    exploration_scale
        Factor of the confidence radius; 1 is the value of the theorem. With ``deviations`` it is α,
        the number of standard deviations. With ``draws`` it is the standard deviation of what is
        drawn, in those of the estimate.
    epsilon
        ε of the budget of every agent, for everything that it sends. A list gives each agent its
        own ε.
    delta
        δ of the budget of every agent: the probability with which the guarantee of ε may fail.
    context_bound
        L, the largest norm of a context. Every context is checked against it before it is used.
    reward_bound
        B, the largest absolute reward. Every reward is checked against it before it is used.
    reward_centre
        A number that is taken from every reward before it is learned. ``auto``: the middle of the
        range of rewards, where noise is added, ``confidence`` is ``deviations``, and every context
        has a constant coordinate, which is a public fact. B and S are then half as large, and so is
        the noise (docs/feducb.md). Elsewhere nothing is taken: a linear model could not make up for
        it. Of a number that is given, B bounds the distance of rewards from it. Regret and rewards
        in results are counted as they come.
    parameter_bound
        S, the largest norm that θ* may have.
    out_of_bounds
        What to do with a record beyond L or B. ``refuse`` stops the run. ``clip`` first scales
        context and reward back by the same factor, so that the reward stays linear in θ*. Then it
        cuts the reward off at B. If rewards are cut off, the confidence bound no longer holds. NaN
        counts as 0. A context of infinite norm keeps its infinite entries, scaled to norm L.
    gram_noise
        ρ, the standard deviation of the noise of Σ x xᵀ relative to that of Σ x y. ``auto``: the ρ
        with the least noise in the estimate of θ*, for calibrated noise
        (:func:`~fedbandits.privacy.gaussian.best_gram_noise`). It is 1 for the noise of the paper.
    noise_scale
        σ: rewards are σ-sub-Gaussian around their mean.
    alpha
        Probability with which the confidence bound may fail. With ``deviations`` there is no bound,
        and it changes nothing.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one
        person at one agent together. The world must say who comes.
    records_per_person
        k, the number of records of one person that count for what an agent releases: those of its
        first k visits. Noise is calibrated for k records at once, so it is k times as large. Used
        with ``unit = "person"`` only.
    regularization
        λ₁, the ridge parameter. ``auto``: with ``deviations`` it is (2σ/S)², so that two standard
        deviations of a mean reward that nothing is known of are S‖x‖. With a radius it is 1 without
        noise. With noise it is then the bound on the operator norm of pooled noise that has
        everywhere the deviation of that of Σ x y. A smaller λ₁ would let more noise into estimates.
    """

    LATER_KEYS: ClassVar[tuple[str, ...]] = ("reward_centre",)

    schedule: Schedule = msgspec.field(default_factory=Growing)
    privatizer: Privatizer = msgspec.field(default_factory=Optimal)
    local_view: Literal["released", "raw", "joint"] = "released"
    confidence: Literal["adaptive", "published", "deviations"] = "deviations"
    exploration: Literal["widths", "draws"] = "widths"
    exploration_scale: Annotated[float, Meta(ge=0.0)] = 1.0
    epsilon: Positive | tuple[Positive, ...] = 1.0
    delta: OpenUnit = 1e-5
    context_bound: Bound = 1.0
    reward_bound: Bound = 1.0
    reward_centre: float | Literal["auto"] = "auto"
    parameter_bound: Bound = 1.0
    out_of_bounds: Literal["refuse", "clip"] = "refuse"
    gram_noise: Ratio | Literal["auto"] = "auto"
    noise_scale: Bound = 0.5
    alpha: OpenUnit = 0.01
    unit: Literal["record", "person"] = "record"
    records_per_person: PositiveInt = 1
    regularization: Positive | Literal["auto"] = "auto"

    def validate(self) -> None:
        refuse_unit(self.unit, self.records_per_person)
        if isinstance(self.schedule, Determinant) and isinstance(
            self.privatizer, Toeplitz | Optimal
        ):
            name = "toeplitz" if isinstance(self.privatizer, Toeplitz) else "optimal"
            raise ValueError(  # noqa: TRY004 - a wrong combination of values, not a wrong type
                f"the {name} privatizer needs the number of releases in advance, which a "
                "determinant schedule does not give; use growing, every, or the tree"
            )
        if isinstance(self.schedule, Determinant) and self.local_view == "released":
            raise ValueError(
                "a determinant schedule reads raw records, but a released local_view uses only "
                'releases; set local_view = "raw", or use growing or every'
            )
        if self.local_view == "joint" and (
            self.confidence != "deviations" or isinstance(self.schedule, Determinant)
        ):
            raise ValueError(
                "a joint local_view explores by standard deviations, in rounds that are fixed in "
                "advance; its radius that was proved is gone (docs/confidence.md). Set confidence "
                '= "deviations" and a schedule such as growing, or local_view = "raw"'
            )
        if self.confidence == "deviations" and isinstance(self.schedule, Determinant):
            raise ValueError(
                "a determinant schedule compares bounds that are proved; set confidence = "
                '"adaptive", or a schedule such as growing'
            )
        if self.draws and self.confidence != "deviations":
            raise ValueError(
                'parameters are drawn by standard deviations; set confidence = "deviations", or '
                'exploration = "widths"'
            )
        if self.regularization != "auto" and self.is_private and self.confidence == "published":
            raise ValueError(
                "with published confidence regularization has no effect, because the noise has "
                'its own shift; leave it at "auto"'
            )
        if self.gram_noise != "auto" and self.uses_published_noise:
            raise ValueError(
                "gram_noise has no effect on the noise of the paper, which is equal for both sums; "
                'leave it at "auto", or set privatizer = "tree"'
            )

    @property
    def centre(self) -> float:
        """The number that is taken from every reward; ``auto`` is settled in a plan."""
        return 0.0 if self.reward_centre == "auto" else float(self.reward_centre)

    @property
    def draws(self) -> bool:
        """True if each decision is made by parameters that are drawn for it."""
        return self.exploration == "draws"

    @property
    def is_private(self) -> bool:
        """True if any noise is added."""
        return not isinstance(self.privatizer, NoNoise)

    @property
    def idle(self) -> tuple[str, ...]:
        """Settings that change nothing in this configuration.

        They are those of a budget without noise, and α without a bound that may fail.
        """
        found = () if self.is_private else (*BUDGET, *UNIT, "gram_noise")
        return (*found, "alpha") if self.confidence == "deviations" else found

    @property
    def protects_persons(self) -> bool:
        """True if the noise is for all records of a person at once."""
        return self.is_private and self.unit == "person"

    @property
    def records_at_once(self) -> int:
        """Number of records that noise is calibrated for: 1, or k for a person."""
        return self.records_per_person if self.protects_persons else 1

    @property
    def uses_published_noise(self) -> bool:
        """True if the noise is the constant of the paper."""
        return isinstance(self.privatizer, Tree) and self.privatizer.noise == "published"
