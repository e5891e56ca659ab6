"""Applications of linear agents: questions to agents, their supplies, and their final models."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats32
from fedbandits.environments.open_world import Visit
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.seats import HELPER
from fedbandits.federation.totals.plan import HelperSecrets
from fedbandits.privacy.bounds import require_contexts
from fedbandits.privacy.kernels import NONE
from fedbandits.random import Key
from fedbandits.rows import Rows
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.views import Views
from fedbandits.systems.agents.plan import AgentsPlan, ContextualPlan, Offer, RecordBounds
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.application import (
    Asked,
    Choices,
    Resources,
    float32_columns,
    list_type,
)
from fedbandits.systems.exported import Learned, symmetric_inverse
from fedbandits.systems.secure_sums import agent_secrets, helper_secrets

#: A name of a person, as an application uses it.
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class ActionsAsked(Asked, frozen=True):
    """A decision set: the context vector of every action that can be chosen.

    The answer is a row's number, from 0. There may be fewer rows than the terms have actions.
    ``person`` names the person for whom the decision is made, where the terms protect persons; the
    name is the same in all visits.
    """

    actions: list[list[float]]
    person: Name | None = None


class ContextAsked(Asked, frozen=True):
    """One context that all actions share, where each action has a model of its own.

    The answer is an action's number, from 0. ``available`` has the numbers of those that can be
    chosen; all can if it is not given. ``person`` names the person for whom the decision is made,
    where the terms protect persons; the name is the same in all visits.
    """

    context: list[float]
    available: list[int] | None = None
    person: Name | None = None


class SharedModel(Choices[ContextualPlan]):
    """All actions share one parameter vector: each decision shows every action's context."""

    ASKED: ClassVar[type[Asked]] = ActionsAsked

    def __init__(self, plan: ContextualPlan) -> None:
        super().__init__(plan)
        self._held = plan.record_bounds

    def bounds(self) -> dict[str, Any]:
        row = self._row_type()
        actions = list_type(row, 1, self.plan.facts.arms)
        return {"actions": actions, "reward": _reward(self._held)}

    def _row_type(self) -> Any:
        """Return the type of a row as applications send it: a context, or raw numbers."""
        facts = self.plan.facts
        numbers = facts.dimension if facts.rows is None else facts.rows.raw
        return list_type(float, numbers, numbers)

    def situation(self, party: ActingParty[Any], asked: ActionsAsked) -> Any:
        return self._visit(party, asked.person, self._contexts(party, asked.actions))

    def _visit(self, party: ActingParty[Any], person: str | None, situation: Any) -> Any:
        """Return the situation, with the person of the decision where the terms protect persons."""
        if person is None:
            return situation  # the party refuses a nameless visit where persons are protected
        if not self.plan.counts_persons:
            raise LocalProtocolError(
                f"{party.name}: the terms protect records, so nobody needs to know who comes; "
                "leave out person"
            )
        return Visit(person, situation)

    def _contexts(self, party: ActingParty[Any], rows: list[list[float]]) -> Floats32:
        """Return contexts as columns, held to their bound: others could earn nothing."""
        prepared, held = self.plan.facts.rows, self._held
        if prepared is not None:
            rows = _prepared(party.name, rows, prepared)
        columns = float32_columns(party.name, rows)
        if not held.clips:
            require_contexts(columns, held.context, f"{party.name}, a decision that was asked for")
        return columns


class ModelEach(SharedModel):
    """Every action has a parameter vector of its own: each decision shows one context."""

    ASKED = ContextAsked

    def bounds(self) -> dict[str, Any]:
        arms = self.plan.facts.arms
        some = list_type(Annotated[int, Meta(ge=0, lt=arms)], 1, arms)
        return {
            "context": self._row_type(),
            "available": some | None,
            "reward": _reward(self._held),
        }

    def situation(self, party: ActingParty[Any], asked: ContextAsked) -> Any:  # type: ignore[override]
        context = self._contexts(party, [asked.context])
        offer = context if asked.available is None else Offer(context, asked.available)
        return self._visit(party, asked.person, offer)


def _prepared(name: str, rows: list[list[float]], prepared: Rows) -> list[list[float]]:
    """Make contexts of rows of raw numbers; ``name`` is the party's, for errors."""
    if not rows or {len(row) for row in rows} != {prepared.raw}:
        raise LocalProtocolError(
            f"{name}: give at least one row of {prepared.raw} raw numbers, one for each number of "
            "facts.rows.centre; the party prepares them itself"
        )
    raw = np.array(rows, np.float64)
    if not np.isfinite(raw).all():
        place = int(np.argwhere(~np.isfinite(raw))[0, 1])
        raise BoundExceededError(f"{name}: raw number {place} (the first is 0) is not finite")
    contexts: list[list[float]] = prepared.contexts(raw).tolist()
    return contexts


def _reward(held: RecordBounds) -> Any:
    """Return the type of a reward within its bounds, unless those beyond them are cut down."""
    return float if held.clips else Annotated[float, Meta(ge=held.lowest, le=held.highest)]


def application(plan: ContextualPlan) -> SharedModel:
    """Return how applications ask an agent."""
    return SharedModel(plan) if plan.facts.models == 1 else ModelEach(plan)


def secret_key(resources: Resources, name: str) -> Key:
    """Make a key to draws of a party's own, which nobody else can make again."""
    secret = resources.secret(name)
    return Key(int.from_bytes(secret[:4], "big"), int.from_bytes(secret[4:8], "big"))


def supply(
    plan: AgentsPlan, role: str, place: int, resources: Resources
) -> AgentSupply | HelperSecrets | None:
    """Make the supply of a party.

    An agent brings noise that is charged for, ties, draws to decide by, and secrets to mask
    releases by. A helper brings the secrets that it shares with agents; a controller nothing.
    """
    if role == HELPER:
        return helper_secrets(plan, place, resources)
    if role != "agent":
        return None
    own = plan.of_agent(place)
    noise = resources.noise(own.event) if own.release.slots else lambda step: np.zeros(0)
    person_key = resources.secret("persons") if plan.counts_persons else b""
    return AgentSupply(
        noise, secret_key(resources, "ties"), person_key=person_key,
        masks=agent_secrets(plan, resources),
    )  # fmt: skip


def learned_of(plan: AgentsPlan, pool: Pool, view: Views, releases: int) -> Learned:
    """Return the model of a pool and a view.

    Parameters
    ----------
    pool
        The sum of releases that the agent knows, its own included.
    view
        The view that the agent acts on; in a raw view own records count at once.
    releases
        The number of the last sum of releases in the pool.
    """
    constants = plan.constants
    rows, clear = constants.models, constants.mechanism == NONE
    own = constants.raw_view or constants.own_view
    if own:
        estimate, gram = view.estimate, symmetric_inverse(view.inverse)
    else:
        estimate = np.einsum("mij,mj->mi", pool.inverse, pool.moment)
        gram = pool.gram.copy()
    return Learned(
        names=("all arms",) if rows == 1 else tuple(f"arm {m}" for m in range(rows)),
        estimate=estimate.copy(),
        gram=gram,
        counts=np.full(rows, float(releases)),
        counted="releases",
        contains_own_records=own or clear,
    )


def export(plan: AgentsPlan, party: Any) -> Learned:
    """Return the model that an agent acts on."""
    return learned_of(plan, *party.acts_on)
