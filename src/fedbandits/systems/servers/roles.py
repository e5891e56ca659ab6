"""What the local servers of both forms of FCLUB share, and how the parties are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import Arrival
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import Message
from fedbandits.federation.party import ActingParty, Party
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.privacy.bounds import contexts_fault, record_fault, require_within
from fedbandits.systems.servers.plan import ServersPlan
from fedbandits.systems.servers.system import ServerSupply

AnyPlan = TypeVar("AnyPlan", bound=ServersPlan)

#: Role and name of the global server.
GLOBAL = "global"


class Server(ActingParty, Generic[AnyPlan]):
    """A party that recommends items to its own users, in phases.

    Subclasses choose, learn, and say what the end of a phase brings. While ``ready`` a server can
    decide; while ``acting`` it waits for a reward.

    Parameters
    ----------
    index
        Which of the servers this is.
    name, hub
        This party's name and the global server's.
    state
        The state to begin in.
    plan
        What all parties go by.
    supply
        The noise that it brings.
    """

    def __init__(
        self, index: int, name: str, hub: str, state: str, plan: AnyPlan, supply: ServerSupply
    ) -> None:
        super().__init__(name, state, [hub])
        #: (m,) the numbers of its users, in order.
        self.users: Ints = np.array(plan.facts.users_of(index), np.int64)
        #: The round that was played or ended last.
        self.round = 0
        #: How many phases have ended.
        self.phase = 0
        self._hub, self._plan, self._noise = hub, plan, supply.noise
        self._place = self._item = -1
        self._context: Floats = np.zeros(plan.constants.dimension)

    def _choose(self, place: int, situation: Arrival) -> int:
        """Choose an item for the user that stands at ``place`` in :attr:`users`."""
        raise NotImplementedError

    def _learn(self, place: int, context: Floats, reward: float) -> list[Message]:
        """Take in a record of the user at ``place``, and return what is to be sent."""
        raise NotImplementedError

    def _end_phase(self, round_: int) -> list[Message]:
        """End the phase, whose last round this was, and return what is to be sent."""
        raise NotImplementedError

    def decide(self, situation: Arrival) -> int:
        """Choose an item for a user who has come.

        Raises
        ------
        LocalProtocolError
            If a reward or an answer is being waited for, the user does not live here, items are not
            (d, K) float32 numbers, or the round is over or belongs to a later phase.
        BoundExceededError
            If an item is longer than 1 or not a number.
        """
        self._require("decide")
        place = self._checked_place(situation)
        item = self._choose(place, situation)
        self._context[:] = situation.items[:, item]
        self._place, self._item, self.round = place, item, situation.round_
        self._move("decide", "acting")
        return item

    def _checked_place(self, situation: Arrival) -> int:
        """Where the user stands in :attr:`users`, once the whole situation is found to be right."""
        (round_, user, items), constants = situation, self._plan.constants
        place = int(np.searchsorted(self.users, user))
        if place == len(self.users) or self.users[place] != user:
            raise LocalProtocolError(f"{self.name}: user {user} does not live here")
        if items.shape != (constants.dimension, constants.items) or items.dtype != np.float32:
            raise LocalProtocolError(
                f"{self.name}: items are ({constants.dimension}, {constants.items}) float32 numbers"
            )
        self._last_round(round_, self.round + 1)
        fault = contexts_fault(items, constants.context_bound)
        require_within(fault, f"{self.name}, round {round_}")
        return place

    def observe(self, decision: int, outcome: float) -> list[Message]:
        """Learn what the recommended item earned, a number in [0, 1].

        Raises
        ------
        LocalProtocolError
            If nothing was recommended, or another item. Nothing has changed then.
        BoundExceededError
            If the reward is outside [0, 1]. Nothing has changed then.
        """
        self._require("observe")
        if decision != self._item:
            raise LocalProtocolError(
                f"{self.name}: item {self._item} was recommended, not {decision}"
            )
        bound, reward = self._plan.constants.context_bound, float(outcome)
        fault, _ = record_fault(self._context, reward, bound, 0.0, 1.0, False)
        require_within(fault, f"{self.name}, round {self.round}")
        self._move("observe", "ready")
        return self._learn(self._place, self._context, reward)

    @property
    def next_end(self) -> int:
        """The last round of the phase."""
        return int(self._plan.constants.phase_ends[self.phase])

    def end_round(self, round_: int) -> list[Message]:
        """A round is over for everybody; where a phase ends with it, return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If a reward or an answer is being waited for, or the round is not of this phase.
        """
        self._require("end_round")
        last = self._last_round(round_, self.round)
        messages = self._end_phase(round_) if round_ == last else []
        self.round = round_
        return messages

    def _last_round(self, round_: int, first: int) -> int:
        """The phase's last round; refuses a round that is not between ``first`` and it."""
        last = int(self._plan.constants.phase_ends[self.phase])
        if not first <= round_ <= last:
            raise LocalProtocolError(
                f"{self.name}: round {round_} after round {self.round}, in a phase that ends with "
                f"round {last}"
            )
        return last


def server_roles(
    plan: ServersPlan,
    table: MessageTable,
    make_server: Callable[[int, str, str, Any, ServerSupply], Party],
    make_global: Callable[[str, tuple[str, ...], Any], Party],
) -> Roles:
    """Local servers, one for each server of the facts, and a global one.

    Parameters
    ----------
    plan
        What all parties go by.
    table
        Who sends what to whom.
    make_server
        ``(index, name, hub, plan, supply)`` to a local server.
    make_global
        ``(name, servers, plan)`` to the global server.
    """
    names = tuple(f"server-{i}" for i in range(plan.constants.servers))
    return Roles(
        (
            Role(
                "server", names,
                lambda i, supply: make_server(i, names[i], GLOBAL, plan, supply), True,
            ),
            Role(GLOBAL, (GLOBAL,), lambda _, __: make_global(GLOBAL, names, plan)),
        ),
        table,
    )  # fmt: skip
