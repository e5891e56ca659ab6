"""A federation's file: the terms of all its parties, and the broker that connects them."""

from __future__ import annotations

import datetime
import pathlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from fedbandits._schema import convert, shown
from fedbandits.errors import ConfigError, DataError
from fedbandits.facts import Facts
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.seats import HELPER
from fedbandits.federation.terms import Terms
from fedbandits.settings.federation_file import (
    FederationFile,
    Live,
    addresses_of,
    file_of,
    no_member,
)
from fedbandits.settings.toml_files import parse_toml, read_toml
from fedbandits.settings.variants import Variant, variant
from fedbandits.settings.written import seconds
from fedbandits.systems import Plan, System, find_system
from fedbandits.systems.terms import terms_of

#: Form of a member's name: a label of a host name, because the name stands in a certificate.
_MEMBER = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\Z")
#: Last year of times: later times with a zone may not exist in another zone.
_LAST_YEAR = 9999


class SeatOf(NamedTuple):
    """The seat of a member: its role and its number in that role."""

    role: Role
    place: int

    @property
    def party(self) -> str:
        """Name of the party in the protocol, such as ``agent-0``."""
        return self.role.parties[self.place]


class Federation:
    """A federation, as described by its file, without secrets.

    :func:`load_federation` makes it from a file, and :func:`federation_of` from a table.

    Parameters
    ----------
    file
        The content of the file. Each key has been checked alone.
    """

    def __init__(self, file: FederationFile) -> None:
        self.name, self.rounds, self.noise = file.name, file.rounds, file.noise
        self.clock, self.transport = file.clock, file.transport
        #: Addresses of the broker's servers.
        self.brokers = addresses_of(file.transport.servers)
        self.every = 0.0
        if isinstance(file.clock, Live):
            self.every = seconds(file.clock.every, "clock.every")
            if file.clock.start.tzinfo is None or not 1 < file.clock.start.year < _LAST_YEAR:
                raise ConfigError(
                    f"clock.start: given {file.clock.start.isoformat()}, allowed: a time with its "
                    "zone, such as 2030-01-31T08:00:00Z, not in the year 1 or 9999"
                )
        #: Longest time of a message, in seconds; after twice this time no party waits for it any
        #: more.
        self.message_time = seconds(file.message_time, "message_time")
        self.reward_default = file.rewards.default
        self.reward_after = seconds(file.rewards.after, "rewards.after")
        self.variant: Variant = variant(file.system, "system")
        self.system: System[Any] = find_system(self.variant.system)
        self.facts: Facts = convert(file.facts, self.system.facts_type, "facts")
        self.members = {role: tuple(names) for role, names in file.members.items()}
        self._check_members()
        self._check_default()

    @cached_property
    def plan(self) -> Plan:
        """The plan, which is public and the same for all parties."""
        try:
            plan: Plan = self.system.plan(self.variant.config, self.facts, self.rounds)
        except (ConfigError, DataError) as error:
            raise type(error)(f"system.{error}") from None
        return plan

    @cached_property
    def roles(self) -> Roles:
        """The roles of the system's parties."""
        roles = self.system.roles(self.plan)
        if roles is None:
            raise ConfigError(f"system.preset: {self.variant.preset!r} has no parties that can run")
        return roles

    @cached_property
    def terms(self) -> Terms:
        """The terms on which all parties agree; every message contains their digest."""
        bare = terms_of(self.system, self.plan, self.noise)
        agreed: dict[str, Any] = {
            "name": self.name,
            "members": self.members,
            "message_time": self.message_time,
            "clock": {"kind": "rounds"},
            "rewards": {"default": self.reward_default, "after": self.reward_after},
        }
        if isinstance(self.clock, Live):
            start = self.clock.start.astimezone(datetime.UTC).isoformat()
            agreed["clock"] = {"kind": "live", "start": start, "every": self.every}
        return msgspec.structs.replace(bare, federation=agreed)

    @cached_property
    def everybody(self) -> tuple[str, ...]:
        """The names of all members, ordered by role."""
        return tuple(name for names in self.members.values() for name in names)

    @property
    def preset(self) -> str:
        """Name of the preset."""
        return self.variant.preset

    def role_of(self, member: str) -> str:
        """Return the name of the role of ``member``; see :meth:`seat_of`."""
        return self.seat_of(member).role.name

    def seat_of(self, member: str) -> SeatOf:
        """Return the seat of ``member``.

        Raises
        ------
        ConfigError
            If the federation has no such member.
        """
        if member in self._seats:
            return self._seats[member]
        raise no_member(self.name, member, self.everybody)

    @cached_property
    def _seats(self) -> dict[str, SeatOf]:
        members = self.members.items()
        roles = {role.name: role for role in self.roles.roles}
        return {n: SeatOf(roles[role], i) for role, names in members for i, n in enumerate(names)}

    @cached_property
    def member_of(self) -> dict[str, str]:
        """The name of each member, by the name of its party in the protocol."""
        return {self.seat_of(member).party: member for member in self.everybody}

    @cached_property
    def party_of(self) -> dict[str, str]:
        """The name of each member's party in the protocol, by the name of the member."""
        return {member: party for party, member in self.member_of.items()}

    def peers_of(self, member: str) -> tuple[str, ...]:
        """Return all members with which ``member`` exchanges messages or secrets."""
        seat = self.seat_of(member)
        role = seat.role.name
        peers = [self.member_of[p] for p in self.roles.seat(*seat, self.terms).peers()]
        for secret in self.system.shared(self.plan):
            peers += secret.partners(role, seat.place, self.members)
        return tuple(peer for peer in dict.fromkeys(peers) if peer != member)

    def _check_default(self) -> None:
        """Refuse a default reward outside the bounds of rewards."""
        application = self.system.application(self.plan)
        if self.reward_default is None or application is None:
            return
        table = msgspec.to_builtins(application.stand_in(self.reward_default))
        try:
            for field, bounded in application.bounds().items():
                if field in table:
                    msgspec.convert(table[field], bounded)
        except msgspec.ValidationError as error:
            raise ConfigError(
                f"rewards.default: given {self.reward_default:g}, allowed: a reward within its "
                f"bounds ({error})"
            ) from None

    def _count_source(self, role: str) -> str:
        if role == HELPER:
            return ", as system.aggregation says"
        return ", as the facts say" if role == self.roles.acting.name else ""

    def _check_members(self) -> None:
        """Refuse members that do not fill the roles, or names that certificates cannot hold."""
        parties = self.roles.parties
        if set(self.members) != set(parties):
            raise ConfigError(
                f"members: given {', '.join(self.members) or 'no roles'}, allowed: a list of names "
                f"for each of {', '.join(parties)}"
            )
        for role, names in self.members.items():
            if len(names) != len(parties[role]):
                raise ConfigError(
                    f"members.{role}: given {len(names)} name{'s' * (len(names) != 1)}, allowed: "
                    f"{len(parties[role])}{self._count_source(role)}"
                )
            for i, name in enumerate(names):
                if not _MEMBER.match(name):
                    raise ConfigError(
                        f"members.{role}[{i}]: given {shown(name)}, allowed: up to 32 small "
                        "letters, digits and inner dashes"
                    )
        twice, times = Counter(self.everybody).most_common(1)[0]
        if times > 1:
            raise ConfigError(f"members: {twice!r} is there twice; a member has only one seat")


def federation_of(table: Mapping[str, Any]) -> Federation:
    """Make a federation from ``table``, the content of a federation's file.

    Raises
    ------
    ConfigError
        With the key, the given and the allowed value.
    """
    return Federation(file_of(table))


def read_federation(text: str) -> Federation:
    """Make a federation from ``text``, the text of a federation's file.

    Raises the errors of :func:`federation_of`.
    """
    try:
        return federation_of(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}") from None


def load_federation(path: str | pathlib.Path) -> Federation:
    """Read a federation from the file at ``path``."""
    file = pathlib.Path(path)
    table = read_toml(file)
    try:
        return federation_of(table)
    except (ConfigError, DataError) as error:
        raise type(error)(f"{file}: {error}") from None
