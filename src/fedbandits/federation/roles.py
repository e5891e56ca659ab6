"""Roles: kinds of parties, with the making of parties and the senders and receivers of messages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

from fedbandits.federation.messages import Codec
from fedbandits.federation.party import Party
from fedbandits.federation.seats import MessageTable as MessageTable
from fedbandits.federation.seats import Seat
from fedbandits.federation.terms import Terms

#: A function from ``(role, place)`` to a party's own supply: its keys, its noise, its secrets of
#: the world. The role's ``make`` takes the supply.
Supplies = Callable[[str, int], Any]


class Role(NamedTuple):
    """One kind of party.

    Parameters
    ----------
    name
        Name of the role, such as ``agent`` or ``controller``.
    parties
        Names of the parties of the role, in order.
    make
        A function from ``(seat, supply)`` to a party. Everything but the supply follows from the
        terms.
    acts
        Whether parties of the role decide and observe outcomes. A system has one acting role.
    patience
        Factor on the time for which parties of the role wait for late messages: a party that
        depends on
        other parties' deadlines waits longer. Infinite for parties that wait for the whole run.
    may_be_restored
        Whether a party of the role may continue from an old store, at a price. A party that must
        do something at most once may not.
    is_compiled
        Whether parties of the role call compiled code. A process without such parties never loads
        Numba.
    """

    name: str
    parties: tuple[str, ...]
    make: Callable[[Seat, Any], Party[Any]]
    acts: bool = False
    patience: float = 1.0
    may_be_restored: bool = True
    is_compiled: bool = True


class Roles:
    """The roles of a federation, with which parties are made from the public plan.

    Parameters
    ----------
    roles
        All roles of the federation.
    table
        The roles that send and receive each type of message.
    messages_set_pace
        Whether a party acts when a message tells it to, instead of once in every round.
    rounds_done
        Only if messages set the pace: a function from the acting parties to the number of rounds
        that all have finished.
    outcomes_may_be_late
        Whether outcomes may come many rounds after their decisions, in any order, or never. The
        parties must accept such outcomes, and the privacy claim must hold for them.
    rounds_are_shared
        Whether a round's number means the same to all parties. If it does, a party that begins late
        ends the past rounds, one after the other, before it takes part. If it does not,
        each party numbers its own releases, or uses the numbers of sums. Then one late round
        stands for all overdue rounds.
    """

    def __init__(
        self, roles: tuple[Role, ...], table: MessageTable, messages_set_pace: bool = False,
        rounds_done: Callable[[list[Any]], int] | None = None, outcomes_may_be_late: bool = False,
        rounds_are_shared: bool = True,
    ) -> None:  # fmt: skip
        self.roles, self.table = roles, table
        self.outcomes_may_be_late, self.rounds_are_shared = outcomes_may_be_late, rounds_are_shared
        self.messages_set_pace, self.rounds_done = messages_set_pace, rounds_done

    @cached_property
    def codec(self) -> Codec:
        """The codec, which encodes and decodes messages."""
        return Codec(reduce(or_, self.table))

    @property
    def acting(self) -> Role:
        """The role whose parties make decisions."""
        return next(role for role in self.roles if role.acts)

    @property
    def parties(self) -> dict[str, tuple[str, ...]]:
        """The names of all parties, by role."""
        return {role.name: role.parties for role in self.roles}

    def replaced(self, makers: Mapping[str, Callable[[Seat, Any], Party[Any]]]) -> Roles:
        """Return the same roles, with other ``makers`` for some, by name."""
        replaced = copy.copy(self)
        replaced.roles = tuple(
            role._replace(make=makers.get(role.name, role.make)) for role in self.roles
        )
        return replaced

    def role_of(self, party: str) -> str:
        """Return the role of ``party``."""
        return next(role.name for role in self.roles if party in role.parties)

    def seat(self, role: Role, place: int, terms: Terms) -> Seat:
        """Make the seat of party number ``place`` of ``role``, under ``terms``."""
        return Seat(role.parties[place], role.name, place, terms, self.table, self.codec)

    def make(self, role: Role, place: int, terms: Terms, supply: Any) -> Party[Any]:
        """Make party number ``place`` of ``role``, in its initial state, under ``terms``.

        ``supply`` is the party's own: its noise, its keys.
        """
        return role.make(self.seat(role, place, terms), supply)
