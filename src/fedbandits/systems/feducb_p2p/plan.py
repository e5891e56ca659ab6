"""The plan of a peer-to-peer variant on its graph: its numbers, its claim, and its guide."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.federation.topology import Topology, clique_cover, flood_sizes, topology
from fedbandits.federation.watching import Happened
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.systems.agents.claim import ACTS, EVERY_ROUND, claim_towards, protections, sums_in
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.plan import AgentsPlan, Pooling, plan_pooling, radius_base
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.kernels.state import NOT_POOLED, Peers
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.weakened import without_supplies

#: Within γ rounds an estimator is released at most twice; others still use one release more.
_TRIGGERED_DEPTH = 3
_MOST_ESTIMATORS = 200_000


class PeerPlan(AgentsPlan, frozen=True, kw_only=True):
    """The plan of a variant on its graph, for all its parties.

    Parameters
    ----------
    topology
        The graph of agents.
    peers
        Constants of the graph, as compiled code takes them.
    """

    topology: Topology
    peers: Peers

    @property
    def public(self) -> dict[str, Any]:
        """Each agent's neighbours, by their numbers: a file of one name may have other edges."""
        names = self.agent_names
        return {"neighbours": {n: self.topology.neighbours(i) for i, n in enumerate(names)}}

    def event(self, releases: int | None = None) -> Event:
        """Return the priced event of a record after so many releases of all estimators together.

        Records of different estimators are disjoint. So a record costs most if all releases so far
        were of its own estimator, which makes so many at most.
        """
        most = self.constants.releases
        return super().event(None if releases is None else min(releases, most))


def make_plan(config: PeerFedUCB, facts: ContextualFacts, rounds: int) -> PeerPlan:
    """Work out the plan of all parties of a variant.

    Raises
    ------
    ConfigError, DataError
        If the graph does not fit, there are too many estimators, or see
        :func:`~fedbandits.systems.agents.plan.plan_pooling`.
    """
    if facts.parties * config.estimators > _MOST_ESTIMATORS:
        raise ConfigError(
            f"gamma: given {config.gamma:,}; {facts.parties:,} agents would keep as many "
            f"estimators each, and {_MOST_ESTIMATORS:,} altogether are the most"
        )
    graph = topology(config.graph, facts.parties)
    lag = _lags(config, graph)
    pooled = (lag != NOT_POOLED).sum(axis=1)
    pooling = _pooling(config, lag, pooled)
    shared = plan_pooling(config, facts, rounds, pooling)
    constants, release, bounds = shared.constants, shared.release, shared.bounds
    equal = (lag != NOT_POOLED) @ _relative_variances(constants, release)
    bases = [radius_base(config, constants, release, bounds, pooling, float(m)) for m in equal]
    peers = Peers(
        distance=graph.distance,
        lag=lag,
        reach=lag.max(axis=1),
        base=np.array([base for base, _ in bases]),
        log_term=np.array([term for _, term in bases]),
        floods=flood_sizes(graph, min(config.gamma, graph.diameter + 1)),
        gamma=config.gamma,
        estimators=pooling.estimators,
        depth=_depth(constants, int(lag.max())),
    )
    return PeerPlan(**msgspec.structs.asdict(shared), topology=graph, peers=peers)


def _relative_variances(constants: Constants, release: ContinualPlan) -> Floats:
    """Return the variance of every agent's noise as a multiple of that of ``release``, (M,)."""
    if release.scale == 0.0:
        return np.ones(constants.agents)
    return (constants.noise_deviation / release.scale) ** 2


def _lags(config: PeerFedUCB, graph: Topology) -> Ints:
    """Return lags: a hop takes until the start of the next round, so h hops cost h - 1 rounds.

    As published only members of one's clique count; otherwise everybody within γ hops.
    """
    lag = np.where(graph.distance <= config.gamma, np.maximum(graph.distance - 1, 0), NOT_POOLED)
    if isinstance(config.schedule, Determinant):
        clique = clique_cover(graph, config.gamma)
        lag[clique[:, None] != clique[None, :]] = NOT_POOLED
    return lag


def _pooling(config: PeerFedUCB, lag: Ints, pooled: Ints) -> Pooling:
    """Count the different sums and orders of records that there are: see docs/confidence.md."""
    typical = float(np.median(pooled))
    if isinstance(config.schedule, Determinant):
        estimators = config.gamma
        divisor = 1.0 + config.context_bound**2
        sums, orders = estimators * int(pooled.sum()), estimators * len(lag)
        return Pooling(typical, sums, orders, estimators, divisor)
    rows = np.unique(lag, axis=0)
    orders = len(lag) if config.local_view == "raw" else len(rows)
    return Pooling(typical, int((rows.max(axis=1) + 1).sum()), orders)


def _depth(constants: Constants, longest: int) -> int:
    """Count releases made within the longest lag, and the one before them."""
    if constants.schedule == TRIGGERED:
        return _TRIGGERED_DEPTH
    if constants.period > 0:
        return 1 + -(-longest // constants.period)
    times = constants.sync_times[:-1]
    recent = np.arange(1, len(times) + 1) - np.searchsorted(times, times - longest, side="right")
    return 1 + int(recent.max(initial=0))


_OTHERS = (
    "all other agents together, even if they see all messages ever sent (a message that is passed "
    "on is an exact copy and costs nothing more)"
)
_GRAPH = "The graph and γ are public."
_ROUNDS = "The graph, γ and the rounds of release are public and fixed in advance."


def claim(plan: PeerPlan) -> PrivacyClaim:
    """Return the claim of one agent towards all others, for a whole run.

    An agent's releases are one running sum. Where it keeps several estimators, each record is in
    only one of their sums, so the price is that of one sum.
    """
    public = _GRAPH if isinstance(plan.config.schedule, Determinant) else _ROUNDS
    return claim_towards(_OTHERS, plan, (public,))


def cautions(plan: PeerPlan) -> tuple[str, ...]:
    """Warn of settings that can be run, but hardly make sense."""
    gamma, diameter = plan.peers.gamma, plan.topology.diameter
    if gamma <= max(diameter, 1):
        return ()
    price = (
        f"; {gamma} estimators share the rounds where {diameter} would do"
        if isinstance(plan.config.schedule, Determinant)
        else ""
    )
    return (
        f"gamma: given {gamma}, but no two agents of this graph are more than {diameter} "
        f"hops apart: messages are passed on in vain{price}",
    )


_AGENT = (
    *EVERY_ROUND,
    line("  when the round ends:", "ready EndRound"),
    line("    if det V has grown enough: call the own clique to release", "ready EndRound",
         sends="Call"),
    line("    if a release is due: send the own sums, under noise, to all neighbours",
         "ready EndRound", sends="Release"),
    line("    pass on what was heard, for at most γ hops", "ready EndRound"),
    line("  hear a release: use it from its round on", "ready Release"),
    line("  hear a call: release when its time has come", "ready Call"),
)  # fmt: skip


def guide(plan: PeerPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    sums = sums_in(plan, off, "Sums that {} tells")
    return Guide(
        pseudocode={"agent": _AGENT},
        passages={
            "Release": Passage("a release", lambda happened: _from(happened) + sums(happened),
                               releases=True),
            "Call": Passage("a call for a sync", _reads_call),
        },
        acts=ACTS,
        protections=protections(plan),
        without=without_supplies,
    )  # fmt: skip


def _from(happened: Happened) -> str:
    message: Any = happened.event
    if message.origin == message.sender:
        return ""
    return f"Release {message.release} of {message.origin}, passed on. "


def _reads_call(happened: Happened) -> str:
    message: Any = happened.event
    return f"The trigger of {message.origin} fired in round {message.round}: it tells of raw data."
