"""Plan of a variant, from a configuration and facts, and the claim that follows from it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import ConfigError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation.terms import Schedule
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event, Parallel, total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan, noise_pattern
from fedbandits.privacy.statements import (
    COMPUTING_SHOWS,
    IN_CLEAR,
    ITEMS_BOUNDED,
    OUTSIDE_THE_SERVER,
    SAME_ARRIVALS,
    UNPREDICTABLE_NOISE,
    UNROUNDED_SUMS,
    USER_INTERACTION,
)
from fedbandits.systems.fclub_published.declare import (
    Alone,
    Always,
    Authors,
    Delayed,
    Edges,
    Never,
    Phased,
    Practical,
    Published,
    PublishedFCLUB,
    Sets,
    Together,
    phase_ends,
)
from fedbandits.systems.fclub_published.kernels.servers import (
    ALONE,
    ALWAYS,
    DELAYED,
    EDGES,
    NEVER,
    PHASED,
    SETS,
    TOGETHER,
    Constants,
)
from fedbandits.systems.servers.system import LATER, ServersPlan, check_homes

_CLUSTERINGS = {Alone: ALONE, Together: TOGETHER, Phased: PHASED, Edges: EDGES, Sets: SETS}
_SHARINGS = {Never: NEVER, Always: ALWAYS, Delayed: DELAYED}

#: Rewards in [0, 1] are ½-sub-Gaussian about their mean.
_REWARD_NOISE = 0.5
#: The longest item: 1, and room for rounding to float32.
_BOUND = 1.0 + 1e-6
#: The norm of a replaced record: ‖x‖ ≤ 1 and |y| ≤ 1.
_RECORD_NORM = 2.0
#: A graph of n users takes n² bytes.
_MOST_IN_A_GRAPH = 20_000
#: More uploads of a local cluster cannot be planned for.
_MOST_UPLOADS = 10**12


class PublishedFCLUBPlan(ServersPlan, frozen=True, kw_only=True):
    """Plan that the parties of a variant go by."""

    constants: Constants
    #: How a local cluster releases its sums while it has the same users; None without noise.
    tree: ContinualPlan | None

    @property
    def slots(self) -> int:
        """Nodes of a tree that are kept at a time."""
        return 0 if self.tree is None else self.tree.slots

    def shift(self, times: float) -> Floats:
        """Return so many ρ on the diagonal of a packed statistic, (p,)."""
        shift = np.zeros(self.size)
        shift[np.cumsum([0, *range(self.constants.dimension, 1, -1)])] = (
            times * self.constants.shift
        )
        return shift

    @property
    def phases(self) -> int:
        """Phases that begin within the horizon, the first one included."""
        return len(self.constants.phase_ends)

    @property
    def home(self) -> Ints:
        """(users,): the server of each."""
        return np.array(self.facts.home, np.int64)

    @property
    def events(self) -> tuple[Event, ...]:
        """Events that a record is charged for in a whole run."""
        return self.events_until(self.phases)

    def events_until(self, phases: int) -> tuple[Event, ...]:
        """Return the events of a record in the first phases; none without communication.

        A cluster that loses users begins a new tree, and all its records pass through the new tree.
        Clusters only split. So a record meets at most as many trees as its server has users, and
        never more than there were phases.

        Within the tree of its own time a record may be in release k and not in those from k + 1
        to j. A report takes the perturbation *after* the waiting one of the upload buffer, and
        where nothing is renewed the buffer leaves later, with records that the report did not
        have. Release r is one node and release r - low(r), low(r) being the lowest bit of r. So
        the nodes that such a record moves are those with a_r ≠ a_{r - low(r)}, where a is 1 at k
        and after j: k itself, the r = k + 2^i with 2^i < low(k), and the blocks that hold j + 1.
        These are at most twice the levels, so the norm counts √2 times. This needs a tree that
        outlives a phase.
        """
        if self.constants.sharing == NEVER or phases == 0:
            return ()
        if self.tree is None:
            return (Clear(),)
        once = ContinualSum(plan=self.tree, record_norm=_RECORD_NORM)
        if phases == 1:
            return (once,)
        trees = min(phases - 1, int(np.bincount(self.home).max()))
        twice = ContinualSum(plan=self.tree, record_norm=math.sqrt(2.0) * _RECORD_NORM)
        return (twice, *(once,) * (trees - 1))

    @property
    def schedule(self) -> Schedule:
        """Rounds in which servers release: with data, but for the reports of phases."""
        if self.constants.sharing == NEVER:
            return Schedule(rounds=self.rounds, most_records=self.rounds)
        return Schedule(
            rounds=self.rounds,
            releases=self.rounds + self.phases,
            ends="whenever a determinant has grown, and when a phase begins",
            most_records=self.rounds,
        )

    def event(self, steps: int) -> Event:
        """Return the event that a server's first steps of covered sums are charged for.

        A record is in the trees of its own cluster alone, so clusters do not add up; its own trees
        do, and are charged as one from the first step on. By step k no more than the first k + 1
        releases of a tree have left: of all that were taken one can wait. The price of k steps is
        at most the claim for all.
        """
        if self.tree is None or self.constants.sharing == NEVER:
            return Clear()
        norms = [event.record_norm for event in self.events if isinstance(event, ContinualSum)]
        last, norm = self.tree.releases, math.hypot(*norms)
        levels = min(steps + 1, last).bit_length()
        firsts = [min(2**level - 1, last) for level in range(1, levels + 1)]
        return Parallel(tuple(ContinualSum(self.tree, norm, first) for first in firsts))

    def epsilon_spent(self, syncs: int, phases_ended: int) -> float:
        """Return the largest ε of the contents of all messages so far, at the configured δ."""
        if syncs == 0:
            return 0.0
        if self.tree is None:
            return math.inf
        return gaussian.epsilon_of(total_mu(self.events_until(phases_ended + 1)), self.config.delta)


class _Noise(NamedTuple):
    """Published noise, or none."""

    tree: ContinualPlan | None
    shift: float  # ρ, or λ without noise
    most: float  # ρ_max
    kappa: float
    uploads: int  # under one tree


def make_plan(config: PublishedFCLUB, facts: ClusteredFacts, rounds: int) -> PublishedFCLUBPlan:
    """Make the plan.

    More users than a graph of them has room for are refused, and more uploads than noise can be
    planned for.
    """
    check_homes(facts)
    d, sharing = facts.dimension, config.sharing
    if isinstance(config.clustering, Phased | Edges) and facts.parties > _MOST_IN_A_GRAPH:
        raise ConfigError(
            f"clustering: a graph of {facts.parties:,} users needs too much memory; use at most "
            f"{_MOST_IN_A_GRAPH:,} users, or other clustering"
        )
    phased = isinstance(config.clustering, Phased | Sets)
    ends = phase_ends(rounds) if phased else []
    noise = _noise(config, facts, rounds, len(ends) + 1)
    thresholds = (sharing.upload, sharing.download) if isinstance(sharing, Delayed) else (1.0, 1.0)
    constants = Constants(
        users=facts.parties,
        servers=facts.servers,
        dimension=d,
        items=facts.items,
        context_bound=_BOUND,
        clustering=_CLUSTERINGS[type(config.clustering)],
        sharing=_SHARINGS[type(sharing)],
        log_upload=math.log(thresholds[0]),
        log_download=math.log(thresholds[1]),
        buffered=config.acts_on == "buffered",
        alpha1=config.alpha1,
        alpha2=config.alpha2,
        alpha_p=config.alpha_p,
        ridge=0.0 if config.is_private else config.regularization,
        edge_ridge=config.edge_regularization,
        merge_ridge=0.0 if config.is_private else config.merge_regularization,
        **_radius(config, facts, noise),
        root_epsilon=1.0 if config.idle else math.sqrt(config.epsilon),
        squared=config.bonus == "square",
        private=config.is_private,
        shift=noise.shift if config.is_private else 0.0,
        noise_scale=0.0 if noise.tree is None else noise.tree.scale,
        entry_scale=noise_pattern(1, d),
        most_uploads=noise.uploads,
        own_merging=config.merging == "authors",
        phase_ends=np.array([*ends, LATER], np.int64),
    )
    return PublishedFCLUBPlan(
        config=config, facts=facts, rounds=rounds, constants=constants, tree=noise.tree
    )


def _radius(config: PublishedFCLUB, facts: ClusteredFacts, noise: _Noise) -> dict[str, Any]:
    """Return the constants of β."""
    scale, confidence = config.exploration_scale, config.confidence
    plain = {
        "radius_scale": scale * _REWARD_NOISE, "radius_unit": 1.0, "radius_shared": False,
        "radius_bias": 0.0, "noise_factor": 0.0,
    }  # fmt: skip
    if isinstance(confidence, Practical):
        term = 2.0 * math.log(2.0 / confidence.alpha)
        return {**plain, "radius_term": term, "radius_offset": 3.0}
    if isinstance(confidence, Authors):
        factor = math.sqrt(32.0) * 2.0 * math.log(4.0 / config.delta) / config.epsilon
        return {
            **plain, "radius_scale": scale, "radius_term": 2.0 * math.log(2.0),
            "radius_offset": 1.0, "noise_factor": factor,
        }  # fmt: skip
    spread = facts.clusters * facts.servers / config.failure_probability
    return {
        **plain, "radius_term": 2.0 * math.log(spread), "radius_offset": noise.most / noise.shift,
        "radius_unit": noise.shift, "radius_shared": True,
        "radius_bias": scale * (math.sqrt(noise.most) + noise.kappa),
    }  # fmt: skip


def _noise(config: PublishedFCLUB, facts: ClusteredFacts, rounds: int, phases: int) -> _Noise:
    """Work out the tree of Algorithm 5, ρ of equation 7, and the bounds of Definition 2."""
    if not isinstance(config.privatizer, Published):
        return _Noise(None, config.regularization, config.regularization, 0.0, 0)
    d, sharing = facts.dimension, config.sharing
    if not isinstance(sharing, Delayed):  # pragma: no cover - refused by the configuration
        raise TypeError("published noise needs delayed sharing")
    bound = d * math.log(max(2, rounds)) / math.log(min(sharing.upload, sharing.download))
    uploads = math.ceil(bound) if config.privatizer.uploads == "auto" else config.privatizer.uploads
    draws = uploads + 2 * phases  # t_c: a phase takes one for its report, one for a renewal
    levels = levels_of(draws)
    spread = 2.0 * facts.clusters * facts.servers / config.failure_probability
    rho = (
        8.0 * math.sqrt(2.0) * levels * math.log(4.0 / config.delta)
        * (4.0 * math.sqrt(d) + 2.0 * math.log(spread)) / config.epsilon
    )  # fmt: skip
    scale = 8.0 * math.sqrt(levels) * math.log(2.0 / config.delta) / config.epsilon
    if not math.isfinite(rho * uploads) or uploads > _MOST_UPLOADS:
        raise ConfigError(
            f"privatizer: {uploads:,} uploads under noise of deviation {scale:.3g} are more than "
            "can be planned; raise the thresholds of sharing, or epsilon"
        )
    # In equation 7 ν stands outside the root: entries of H have deviation √ν · 8 √ν ln(2/δ)/ε.
    # ‖h‖ ≤ τ (√d + √(2 ln(2mL/α))), τ² of at most `levels` nodes, with the probability of ‖H‖ ≤ ρ.
    norm = scale * math.sqrt(levels) * (math.sqrt(d) + math.sqrt(2.0 * math.log(spread)))
    tree = ContinualPlan("tree", draws + 1, scale)
    return _Noise(tree, rho, 3.0 * rho * (1.0 + bound), norm / math.sqrt(rho), uploads)


def levels_of(uploads: int) -> int:
    """Return the depth of a tree for so many uploads: ν = ⌈log₂(t_c + 1)⌉ + 1 (Algorithm 5)."""
    return uploads.bit_length() + 1


_PARTITION = (
    "For the contents alone: every partition into clusters, and the time of each upload, stay as "
    "they are when the record changes."
)
_SELF = Limit(
    "a user's interactions, from that user's own server", "The server sees them in clear."
)
_TIMING = Limit(
    "when messages are sent, and how many",
    "The determinant triggers read raw data, so one record can make a message exist. "
    f"{COMPUTING_SHOWS}",
)
_MEMBERSHIP = Limit(
    "who is in a cluster with whom",
    "Servers split clusters by raw data and report the members. One record can move a user.",
)
_LATER = Limit(
    "the effect of a record on later recommendations, and so on later records",
    "A server acts on raw data that it has not uploaded yet.",
)
_TREES = Limit(
    "a user whose cluster was split, at the ε that the paper states",
    "The paper counts one tree. But every split begins a fresh tree, and the totals pass through "
    "it again. Also, a report may leave out records that the release before it has.",
)


def claim(plan: PublishedFCLUBPlan) -> PrivacyClaim:
    """Return the claim of a server's users towards all other parties, for a whole run."""
    config: PublishedFCLUB = plan.config
    silent, private = isinstance(config.sharing, Never), config.is_private
    mu = total_mu(plan.events)
    return PrivacyClaim(
        unit=USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-one",
        holds_for="interactive" if silent else "nothing",
        epsilon=0.0 if silent else math.inf,
        epsilon_contents=gaussian.epsilon_of(mu, config.delta) if private or silent else math.inf,
        delta=config.delta if private else 0.0,
        mu=mu,
        conditional_on=(
            SAME_ARRIVALS,
            *plan.facts.public,
            *((ITEMS_BOUNDED, _PARTITION, UNPREDICTABLE_NOISE) if private else ()),
        ),
        not_protected=_not_protected(config),
        paper_claims=(config.epsilon, config.delta) if private else None,
        events=plan.events,
    )


def _not_protected(config: PublishedFCLUB) -> tuple[Limit, ...]:
    if isinstance(config.sharing, Never):
        return (_SELF,)
    limits = [_SELF]
    if not config.is_private:
        limits.append(IN_CLEAR)
    limits.append(_TIMING)
    if isinstance(config.clustering, Phased):
        limits.append(_MEMBERSHIP)
    if config.is_private:
        limits.append(_TREES)
        if config.acts_on == "buffered":
            limits.append(_LATER)
        limits.append(UNROUNDED_SUMS)
    return tuple(limits)
