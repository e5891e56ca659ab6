"""The plan of linear agents, from a configuration and facts; situations and bounds of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import msgspec
import numpy as np

from fedbandits._typing import Floats32
from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.federation.terms import Schedule
from fedbandits.learners.confidence import (
    SpectralBounds,
    least_eigenvalue_factor,
)
from fedbandits.learners.kernels.linucb import draw_size
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event
from fedbandits.privacy.continual import ContinualPlan, noise_pattern
from fedbandits.privacy.rounding import grid_step
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.kernels.constants import (
    FIXED,
    TRIGGERED,
    Constants,
    Learning,
    learning_of,
)
from fedbandits.systems.agents.noise import (
    Releases,
    bias_factor,
    gram_noise,
    prior_ridge,
    record_grid,
    record_norm,
    releases_of_all,
    ridge,
    spectral_bounds,
)
from fedbandits.systems.agents.schedule import NEVER, settled, sync_threshold, sync_times
from fedbandits.systems.aggregation import SecureTotals
from fedbandits.systems.base import Plan


class Offer(NamedTuple):
    """A situation in which not all arms can be chosen, where each has a model of its own.

    Where arms share a model, a party with fewer arms shows fewer columns.

    Parameters
    ----------
    context : (d, 1) float32
        The context of all arms.
    arms
        Numbers of the arms that can be chosen, from 0, each once.
    """

    context: Floats32
    arms: Sequence[int]


class RecordBounds(NamedTuple):
    """Bounds on contexts and rewards of applications.

    Parameters
    ----------
    context
        The largest Euclidean norm of a context.
    lowest, highest
        The range of rewards.
    clips
        Whether records beyond the bounds are cut down; otherwise they are refused.
    """

    context: float
    lowest: float
    highest: float
    clips: bool


class ContextualPlan(Protocol):
    """A plan of parties that decide on contexts."""

    @property
    def facts(self) -> ContextualFacts:
        """Public facts of the world."""

    @property
    def counts_persons(self) -> bool:
        """True if each decision needs the person for whom it is made."""

    @property
    def record_bounds(self) -> RecordBounds:
        """Bounds on contexts and rewards."""


#: B and S are no smaller.
_LEAST_BOUND = 1e-6


class Pooling(NamedTuple):
    """Numbers that say how releases are brought together, by a controller or over a graph."""

    typical: float  # agents in a pooled sum
    sums: int  # different pooled sums that one release of every agent leads to
    orders: int  # different orders in which records enter pooled sums: one martingale each
    estimators: int = 1  # to which rounds are dealt in turn
    divisor: float = 1.0  # of the trigger's threshold
    secure: SecureTotals | None = None  # where nobody sees more than sums


class AgentsPlan(Plan, frozen=True, kw_only=True):
    """The plan of a variant, for all its parties.

    Parameters
    ----------
    constants
        As compiled code takes them.
    release
        How a running sum is released; by the agent with the largest ε, where budgets differ.
    priced
        The mechanism that a record's price follows from: ``release``, or that of a secure sum.
    secure
        The numbers of secure sums; None where releases are seen.
    record_norm
        How far one protected unit can move a running sum: one replaced record, or k of a person.
    bounds
        On the eigenvalues of one agent's shifted noise; with published confidence only.
    """

    constants: Constants
    release: ContinualPlan
    priced: ContinualPlan
    record_norm: float
    bounds: SpectralBounds | None
    secure: SecureTotals | None = None

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Names of the agents, in order."""
        return tuple(f"agent-{i}" for i in range(self.constants.agents))

    @property
    def schedule(self) -> Schedule:
        """The schedule of releases: when agents make them, and of how many records."""
        constants, rounds = self.constants, self.rounds
        if constants.schedule == TRIGGERED:
            ends: str | tuple[int, ...] = "whenever an agent's trigger fires"
            most = rounds
        elif constants.period:
            ends, most = f"every {constants.period}", constants.period
        else:
            ends = tuple(constants.sync_times[:-1].tolist())
            most = max(np.diff((0, *ends)).tolist(), default=rounds)
        return Schedule(rounds=rounds, releases=constants.releases, ends=ends, most_records=most)

    @property
    def learning(self) -> Learning:
        """Constants that say how a view takes up a record."""
        return learning_of(self.constants)

    @property
    def record_bounds(self) -> RecordBounds:
        """Bounds on contexts and rewards."""
        constants = self.constants
        middle, most = constants.centre, constants.reward_bound
        return RecordBounds(constants.context_bound, middle - most, middle + most, constants.clip)

    @property
    def draw_size(self) -> int:
        """Count of standard normals by which a decision is made, where parameters are drawn."""
        return draw_size(self.constants.models, self.constants.dimension)

    @property
    def counts_persons(self) -> bool:
        return self.constants.records_per_person > 0

    @property
    def most_sums(self) -> int:
        """Largest number of sums that a controller can send: each has somebody's new release."""
        return self.constants.releases * self.constants.agents

    def event(self, releases: int | None = None) -> Event:
        """Return the priced event of a record after so many releases; by default after all."""
        if self.priced.mechanism == "none":
            return Clear()
        return ContinualSum(self.priced, self.record_norm, releases)

    def epsilon_spent(self, releases: int) -> float:
        """Return ε that an agent's first ``releases`` releases cost, at the δ of all."""
        return gaussian.epsilon_of(self.priced.mu(self.record_norm, releases), self.config.delta)

    def of_agent(self, agent: int) -> Self:
        """Return the plan that one agent goes by: the same, with the noise of its own budget."""
        if self.secure is not None:
            return self
        scale = float(self.constants.noise_deviation[agent])
        own = msgspec.structs.replace(self.release, scale=scale)
        return msgspec.structs.replace(self, release=own, priced=own)


def plan_pooling(
    config: AgentsConfig, facts: ContextualFacts, rounds: int, pooling: Pooling
) -> AgentsPlan:
    """Work out the plan of all parties of a variant.

    Raises
    ------
    ConfigError
        If the world can exceed the bounds L or B and ``out_of_bounds`` is ``refuse``, or budgets
        are not one an agent.
    """
    config = with_centre(config, facts)
    _check_bounds(config, facts)
    given, schedule = config, settled(config.schedule, rounds, facts.parties)
    config = msgspec.structs.replace(config, schedule=schedule)
    if config.confidence == "deviations":  # no bound may fail: α says nothing
        config = msgspec.structs.replace(config, alpha=AgentsConfig().alpha)
    require_persons(config, facts)
    norm = record_norm(config) * config.records_at_once
    times = sync_times(config, facts, rounds, norm, pooling.typical, pooling.secure)
    uses = -(-rounds // pooling.estimators)  # of one estimator
    count = uses if times is None else len(times)
    release = releases_of_all(config, facts.parties, count, norm, pooling.secure)
    bounds = spectral_bounds(config, facts, release.most_noise, pooling.estimators)
    grid = record_grid(config, facts, rounds, release, norm, pooling.secure)
    constants = _constants(config, facts, rounds, release, bounds, times, pooling, grid)
    threshold = sync_threshold(config, facts, uses, bounds, pooling.divisor)
    constants = constants._replace(threshold=threshold)
    return AgentsPlan(
        config=given, facts=facts, rounds=rounds, constants=constants, release=release.least_noise,
        priced=release.priced, record_norm=norm, bounds=bounds, secure=pooling.secure,
    )  # fmt: skip


def with_centre(config: AgentsConfig, facts: ContextualFacts) -> AgentsConfig:
    """Settle ``reward_centre``, and B and S with it; ``auto`` stays where nothing is taken.

    With a constant coordinate c, y - b is linear in the context where y is: its parameter is θ*,
    less b/c at that coordinate. Rewards in [low, high] are then within half of their range. The
    size of θ* is scaled alike.
    """
    low, high = facts.reward_range
    reach = max(abs(low), abs(high))
    applies = config.is_private and config.confidence == "deviations" and facts.has_constant
    if config.reward_centre != "auto" or not applies or not 0.0 < reach <= config.reward_bound:
        return config
    centre = 0.5 * (low + high)
    half = max(high - centre, centre - low)
    while centre - half > low or centre + half < high:  # rounding: both ends are within
        half = math.nextafter(half, math.inf)
    size = config.parameter_bound * half / reach
    if half >= reach or min(half, size) < _LEAST_BOUND:  # rewards around 0, or all alike
        return config
    return msgspec.structs.replace(
        config,
        reward_centre=centre,
        reward_bound=half,
        parameter_bound=size,
    )


def _check_bounds(config: AgentsConfig, facts: ContextualFacts) -> None:
    if config.out_of_bounds == "clip":
        return
    centre = config.centre
    reach = max(abs(edge - centre) for edge in facts.reward_range)
    around = f" around reward_centre = {centre:g}" if centre else ""
    for name, limit, size, what in (
        ("context_bound", config.context_bound, facts.context_norm, "contexts of norm up to"),
        ("reward_bound", config.reward_bound, reach, f"rewards{around} of size up to"),
    ):
        if size > limit:
            raise ConfigError(
                f"{name}: {limit:g} is too small for this environment, which has {what} "
                f'{size:g}; raise {name} or set out_of_bounds = "clip"'
            )


def _constants(
    config: AgentsConfig, facts: ContextualFacts, rounds: int, release: Releases,
    bounds: SpectralBounds | None, times: Sequence[int] | None, pooling: Pooling, grid: float,
) -> Constants:  # fmt: skip
    agents, models, dimension = facts.parties, facts.models, facts.dimension
    own_view = config.local_view != "released" and config.confidence == "deviations"
    unequal = gram_noise(config)
    noisiest = release.most_noise
    count = noisiest.releases
    share = config.alpha / (4.0 * max(count, 1) * pooling.sums * models)
    bias = shift = trigger_shift = 0.0
    if bounds is not None:
        bias = config.parameter_bound * math.sqrt(agents * bounds.rho_max)
        bias += bounds.kappa * math.sqrt(agents)
        trigger_shift = agents * (bounds.rho_max - bounds.rho_min)
        # The paper adds 2Λ an agent. Without noise, the ridge parameter.
        shift = 2.0 * bounds.rho_min * agents if config.is_private else ridge(config)
    period = times.step if isinstance(times, range) and len(times) else 0
    constants = Constants(
        agents=agents,
        models=models,
        dimension=dimension,
        raw_view=config.local_view == "raw" and not own_view,
        own_view=own_view,
        schedule=TRIGGERED if times is None else FIXED,
        period=period,
        sync_times=np.array([*([] if times is None or period else times), NEVER], np.int64),
        threshold=0.0,
        mechanism=noisiest.code,
        releases=count,
        noise_deviation=release.scales,
        coefficients=noisiest.coefficients(),
        entry_scale=noise_pattern(models, dimension, unequal),
        published_confidence=bounds is not None,
        deviations=config.confidence == "deviations",
        draws=config.draws,
        exploration_scale=float(config.exploration_scale) * (0.5 if config.draws else 1.0),
        reward_noise=float(config.noise_scale),
        context_bound=float(config.context_bound),
        reward_bound=float(config.reward_bound),
        centre=config.centre,
        parameter_bound=float(config.parameter_bound),
        clip=config.out_of_bounds == "clip",
        rounding=grid,
        step=grid_step(grid) if pooling.secure is not None else 0.0,
        base=0.0,
        shift=float(shift),
        trigger_shift=float(trigger_shift),
        log_term=0.0,
        norm_factor=unequal * least_eigenvalue_factor(dimension, share),
        bias_factor=bias_factor(config, dimension, share, unequal),
        gram_noise=unequal,
        published_bias=float(bias),
        records_per_person=config.records_per_person if config.protects_persons else 0,
    )
    pooled = agents * release.relative_deviation**2
    base, log_term = radius_base(config, constants, noisiest, bounds, pooling, pooled)
    return constants._replace(base=base, log_term=log_term)


def radius_base(
    config: AgentsConfig, constants: Constants, release: ContinualPlan,
    bounds: SpectralBounds | None, pooling: Pooling, pooled: float,
) -> tuple[float, float]:  # fmt: skip
    """Return λ₁ and the log term of the radius.

    Parameters
    ----------
    release
        How some agent releases its running sum.
    bounds
        Bounds on the noise with published confidence, else None; with them Mρ_min stands in for λ₁.
    pooled
        The variance of a pooled sum's noise, as a multiple of that of ``release``.
    """
    if constants.deviations:  # directions that are mostly noise count nothing: λ need not hide it
        return prior_ridge(config), 0.0
    if bounds is not None:
        base = constants.agents * bounds.rho_min
        return base, 2.0 * math.log(2.0 / config.alpha) - constants.dimension * math.log(base)
    # As if N were as noisy as h: a smaller λ₁ would let more of the noise of h into estimates.
    factor = constants.norm_factor / constants.gram_noise
    noise = factor * math.sqrt(pooled) * release.largest_deviation()
    base = ridge(config, noise)
    martingales = constants.models * pooling.orders
    log_term = 2.0 * math.log(2.0 * martingales / config.alpha)
    return base, log_term - constants.dimension * math.log(base)


def require_persons(config: AgentsConfig, facts: ContextualFacts) -> None:
    """Refuse to protect persons where visitors are not known.

    Raises
    ------
    ConfigError
        If the same persons do not visit again and again, as far as the facts say.
    """
    if config.protects_persons and facts.persons is None:
        raise ConfigError(
            'unit: given "person", but in this world nobody is known to come twice, so nobody\'s '
            'records can be counted; set unit = "record", or choose a world with persons: '
            "classification, ratings, or a table with a person column. A federation states how "
            "many persons there are: persons in its facts"
        )
