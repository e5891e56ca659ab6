"""Memory and work of linear agents: declared once for all systems of them."""

from __future__ import annotations

from fedbandits.environments.base import F32, F64, Memory, Needs
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.plan import AgentsPlan

_SIZE = "environment.agents or environment.dim"
#: Draws of a normal, and the factorisation of a matrix a coefficient, in multiplications.
_DRAW, _FACTOR = 20.0, 10.0
#: What a step or a release takes however small it is.
_STEP = 300.0


def agent_needs(
    plan: AgentsPlan, *, sums: int, draws: int, released: int, views: int, pools: int, syncs: float,
    senders: int,
) -> Needs:  # fmt: skip
    """Return memory and work of one replicate.

    Parameters
    ----------
    sums, draws, released
        How many packed statistics are kept: records added up, noise, releases.
    views, pools
        How many of each are kept.
    syncs, senders
        How often releases are pooled, and of how many agents.
    """
    constants, facts = plan.constants, plan.facts
    d, models, agents = constants.dimension, constants.models, constants.agents
    square, packed = models * d * d, constants.release_size * F64
    columns = facts.features_shape[1]
    persons = agents * (facts.persons or 0) if plan.counts_persons else 0
    # Arrays that are never written to take no memory: matrices of a trigger that there is not.
    trigger = F64 if constants.schedule == TRIGGERED else 0
    parts = (
        Memory("records of agents, added up", sums * packed, _SIZE),
        Memory("noise that is kept for later releases", draws * packed, f"{_SIZE}, or sync less"),
        Memory("releases that are in use", released * packed, f"{_SIZE}, or gamma"),
        Memory("what agents act on", views * square * (F64 + F32 + trigger), _SIZE),
        Memory("what agents know", pools * square * (2 * F64 + trigger), _SIZE),
        Memory("visits of persons", persons * F64, "environment.agents, or set unit"),
        Memory("a decision set", (d * columns + 4 * facts.arms) * F32, "environment.arms"),
    )
    learn = 6.0 * square if constants.raw_view or constants.own_view else d * d
    choose = 0.5 * d * d * max(columns, models) + learn
    mixing = min(draws / agents, constants.releases) + _DRAW
    factored = 1 + (agents if constants.leaves_out_own else 0)
    release = senders * (constants.release_size * mixing + _STEP)
    pooling = syncs * (release + _FACTOR * square * d * factored)
    return Needs(parts, plan.rounds * agents * (choose + _STEP) + pooling)
