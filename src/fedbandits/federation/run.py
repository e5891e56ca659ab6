"""Parties of any system in one process: the second driver of the same mathematics.

Systems and worlds come in as values: :class:`~fedbandits.federation.roles.Roles` and a
:class:`~fedbandits.environments.open_world.Stage`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from fedbandits._typing import Floats
from fedbandits.environments.open_world import Stage
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision, LetGo
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles, Supplies
from fedbandits.federation.terms import Terms
from fedbandits.federation.watching import Watcher

#: A function from a maker of a party to the object that plays the party.
Embody = Callable[[Callable[[], Party[Any]]], Any]


def itself(make: Callable[[], Party[Any]]) -> Party[Any]:
    """Make the party, which plays itself."""
    return make()


class PartiesRun:
    """One replicate that parties run by exchanging messages, instead of a compiled loop.

    Parameters
    ----------
    roles, supplies, terms
        The roles from which parties are made, each party's own supplies, and the terms of all.
    stage
        The world in which the parties act.
    rounds
        The horizon T, in rounds.
    route, lenient
        Delays and losses of messages, and whether to continue when a party refuses a message; see
        :class:`.memory.MemoryNetwork`.
    embody
        A function from a maker of a party to the object that plays the party. By default
        the party itself.
    watch
        A watcher of every event of every party. By default none.
    """

    def __init__(
        self, roles: Roles, supplies: Supplies, terms: Terms, stage: Stage, rounds: int,
        route: Route | None = None, lenient: bool = False,
        embody: Embody = itself, watch: Watcher | None = None,
    ) -> None:  # fmt: skip
        self.rounds, self.stage, self.terms, self._roles = rounds, stage, terms, roles
        self._by_role: dict[str, list[Any]] = {
            role.name: [
                embody(partial(_make, roles, role, i, terms, supplies, watch))
                for i in range(len(role.parties))
            ]
            for role in roles.roles
        }
        self.players: list[ActingParty[Any]] = self._by_role[roles.acting.name]
        self._place = {player.name: place for place, player in enumerate(self.players)}
        self.network = MemoryNetwork(
            {party.name: party for party in self.parties}, roles.codec, route, lenient
        )
        #: Number of finished rounds.
        self.done = 0
        #: Number of sent messages at the last deadline.
        self._settled = 0
        #: Late outcomes, by the round in which they are observed, in order of decisions: the
        #: player's place, the decision, and the outcome.
        self.late: defaultdict[int, list[tuple[int, Decision, Any]]] = defaultdict(list)
        #: The last decision of each player.
        self.decisions: list[Any] = [None] * len(self.players)
        for party in self.parties:
            self.network.send(party.start())
        if not roles.messages_set_pace:
            self.network.settle()

    @property
    def parties(self) -> list[Party[Any]]:
        """All parties, ordered by role."""
        return [party for parties in self._by_role.values() for party in parties]

    def of(self, role: str) -> list[Any]:
        """Return the parties of ``role``, in order."""
        return self._by_role[role]

    def one(self, role: str) -> Any:
        """Return the only party of ``role``."""
        (party,) = self._by_role[role]
        return party

    def advance(self, stop: int) -> None:
        """Run until ``stop`` rounds are done."""
        stop = min(stop, self.rounds)
        if self._roles.messages_set_pace:
            self._deliver_until(stop)
            return
        while self.done < stop:
            self._run_round(self.done + 1)

    def _run_round(self, round_: int) -> None:
        """Let parties act, and the network settle; then end the round where it matters."""
        for place, decision, outcome in self.late.pop(round_, []):
            self.network.send(self.players[place].observe(decision, outcome))
        for place in self.stage.acting(round_):
            self._act(place, round_)
        self.done = round_
        self.end_round(round_)

    def end_round(
        self, round_: int, hear: Callable[[Any, list[Message]], None] | None = None
    ) -> None:
        """End round ``round_``, in which all parties have acted.

        ``hear`` is called with each party that must know of the end, and its messages.
        """
        self.network.settle()
        for player in self.players:
            if player.next_end == round_:
                messages = player.end_round(round_)
                if hear is not None:
                    hear(player, messages)
                self.network.send(messages)
        self.network.settle()
        # A party that waits has sent or received a message since the last deadline.
        while self.network.sent > self._settled:
            self._settled = self.network.sent
            if self._end_waiting():
                self.network.settle()

    def _end_waiting(self) -> bool:
        """Set a deadline, since no message is on its way; return whether any party waited."""
        awaited = [(party, party.awaited) for party in self.parties]
        waiting = [(party, number) for party, number in awaited if number is not None]
        for party, number in waiting:
            self.network.send(party.deadline(number))
        return bool(waiting)

    def _deliver_until(self, stop: int) -> None:
        """Deliver messages one by one; after the last round deliver all remaining messages."""
        while self.done < stop or stop == self.rounds:
            receiver = self.network.deliver()
            if receiver is None and not (
                self._act_as_told() or self._end_rounds() or self._end_waiting()
            ):
                break
            if receiver is None or receiver in self._place:
                self.done = self._roles.rounds_done(self.players)  # type: ignore[misc]

    def _act_as_told(self) -> bool:
        """Let parties act that messages told to, after all deliveries; return whether any did."""
        rounds_to_act = [(place, player.round_to_act) for place, player in enumerate(self.players)]
        due = [(place, round_) for place, round_ in rounds_to_act if round_ is not None]
        for place, round_ in due:
            self._act(place, round_)
        return bool(due)

    def _end_rounds(self) -> bool:
        """End a round at once for all parties that wait for an end; return whether any did."""
        ends = [(party, party.next_end) for party in self.parties]
        waiting = [(party, round_) for party, round_ in ends if round_ is not None]
        for party, round_ in waiting:
            self.network.send(party.end_round(round_))
        return bool(waiting)

    def _act(self, place: int, round_: int) -> None:
        player = self.players[place]
        decision = player.decide(self.stage.situation(round_, place))
        outcome = self.stage.outcome(round_, place, decision.action)
        self.decisions[place] = decision.action
        if outcome is None:
            self.network.send(player.let_go(decision))
            return
        if self.stage.delay is not None:
            wait = self.stage.delay.rounds_of(self.stage.key, place, round_)
            if (
                wait is None
            ):  # the outcome never comes: close the decision if the party supports this
                if any(kind is LetGo for _, kind in player.TRANSITIONS):
                    self.network.send(player.let_go(decision))
                return
            if wait > 0:
                self.late[round_ + wait].append((place, decision, outcome))
                return
        self.network.send(player.observe(decision, outcome))

    @property
    def regret(self) -> Floats:
        """(parties,) cumulative regret."""
        return self.stage.regret

    @property
    def reward(self) -> Floats:
        """(parties,) cumulative reward."""
        return self.stage.reward

    @property
    def messages(self) -> int:
        """Messages delivered so far."""
        return self.network.transcript.messages.total()

    @property
    def bytes(self) -> int:
        """Bytes of payload delivered so far."""
        return self.network.transcript.payload_bytes


def _make(
    roles: Roles, role: Role, place: int, terms: Terms, supplies: Supplies, watch: Watcher | None
) -> Party[Any]:
    """Make one party with its own supplies; supplies are made anew when a process restarts."""
    party = roles.make(role, place, terms, supplies(role.name, place))
    if watch is not None:
        watch.meet(party)
        party.see = watch.see  # a method: a search for keys in a party reaches no watcher
    return party
