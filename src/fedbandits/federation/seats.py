"""Seats: the public facts that a party's constructor is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fedbandits.federation.messages import Codec, Message
from fedbandits.federation.terms import Terms

#: The roles of sender and receiver for every type of message; each may be several roles.
MessageTable = Mapping[type[Message], tuple[str | tuple[str, ...], str | tuple[str, ...]]]
#: Roles of parties to secure sums. Agents may have another name there.
AGENT, CONTROLLER, HELPER = "agent", "controller", "helper"


def routes(table: MessageTable) -> Iterator[tuple[type[Message], str, str]]:
    """Yield all types of messages with the roles of sender and receiver, a pair at a time."""
    for kind, ends in table.items():
        senders, receivers = ((end,) if isinstance(end, str) else end for end in ends)
        for sender in senders:
            for receiver in receivers:
                yield kind, sender, receiver


class Seat(NamedTuple):
    """The public information for the constructor of a party.

    Parameters
    ----------
    name, role, place
        Name of the party, its role, and its number among the parties of that role.
    terms
        The terms on which all parties agree.
    table
        The roles that send and receive each type of message.
    codec
        Encodes the messages of the system.
    """

    name: str
    role: str
    place: int
    terms: Terms
    table: MessageTable
    codec: Codec

    def names(self, role: str) -> tuple[str, ...]:
        """Return the names of all parties of a role, in order."""
        return self.terms.parties[role]

    def one(self, role: str) -> str:
        """Return the name of the only party of a role."""
        (name,) = self.terms.parties[role]
        return name

    def peers(self) -> list[str]:
        """List all parties that exchange messages with this party, by the table."""
        pairs = [pair for _, *pair in routes(self.table) if self.role in pair]
        roles = dict.fromkeys(b if a == self.role else a for a, b in pairs)
        return [name for role in roles for name in self.names(role) if name != self.name]
