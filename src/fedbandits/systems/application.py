"""Questions of applications to parties: decisions that they ask for, and outcomes that they tell.

A system's parties take numpy arrays and decisions with numbers. An application sends plain values:
lists, numbers, names. What lies between is declared here, once for every system, and is used by
whatever carries the values: the HTTP door, a journal, a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats32
from fedbandits.crypto.keystream import derive_key
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision

AnyPlan = TypeVar("AnyPlan")


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a decision. Systems add what they need to know."""


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A report of the outcome of a decision. Systems add what it is."""


class RewardTold(Told, frozen=True):
    """A report of the reward of a decision, as one number."""

    reward: float


class Application(Generic[AnyPlan]):
    """Between plain values and what a system's parties take. It has no state.

    Parameters
    ----------
    plan
        What all parties go by: it says how many numbers a context has.
    """

    #: What a decision is asked with, and what is told of it.
    ASKED: ClassVar[type[Asked]]
    TOLD: ClassVar[type[Told]]
    #: What an action is, as a type that msgspec knows.
    ACTION: ClassVar[Any] = int

    def __init__(self, plan: AnyPlan) -> None:
        self.plan = plan

    def bounds(self) -> Mapping[str, Any]:
        """Return the bounds that the plan sets to fields of requests, as types that msgspec knows.

        Whoever decodes requests refuses by them what no party could take, and shows them to
        applications. They need not say everything: the party has the last word.
        """
        return {}

    def situation(self, party: ActingParty[Any], asked: Any) -> Any:
        """Return the situation that the party is to decide on.

        Raises
        ------
        LocalProtocolError, BoundExceededError
            If it is malformed, or beyond the bounds of the terms. No number of a context is shown,
            but its norm is.
        """
        raise NotImplementedError

    def action(self, decision: Decision, asked: Any) -> Any:
        """Return the action as a plain value."""
        raise NotImplementedError

    def observation(self, party: ActingParty[Any], number: int, told: Any) -> tuple[Decision, Any]:
        """Return the open decision of that number, and its outcome as the party takes it.

        Raises
        ------
        LocalProtocolError
            If it is malformed, or the decision is not open.
        """
        raise NotImplementedError

    def stand_in(self, value: float) -> Told:
        """Return the report that stands for an outcome that has not come in time.

        Raises
        ------
        ConfigError
            If the system has no outcome that such a number can stand for.
        """
        raise NotImplementedError


class Choices(Application[AnyPlan]):
    """An action is a number, from 0, and its outcome a reward."""

    TOLD = RewardTold

    def action(self, decision: Decision, asked: Any) -> int:
        del asked
        return int(decision.action)

    def observation(
        self, party: ActingParty[Any], number: int, told: RewardTold
    ) -> tuple[Decision, float]:
        found = party.state.open.get(number)
        if found is None:
            raise LocalProtocolError(f"{party.name}: decision {number} is not open")
        return Decision(number, found.arm), told.reward

    def stand_in(self, value: float) -> RewardTold:
        return RewardTold(value)


def list_type(item: Any, least: int, most: int) -> Any:
    """Return the type of a list with bounded length, for :meth:`Application.bounds`."""
    return Annotated[list[item], Meta(min_length=least, max_length=most)]


def float32_columns(name: str, rows: list[list[float]]) -> Floats32:
    """Write rows as the columns of a (d, rows) array; ``name`` is the party's, for errors.

    What is beyond float32 becomes infinite, which the party's bounds refuse.

    Raises
    ------
    LocalProtocolError
        If there are no rows, or they differ in length.
    """
    if len({len(row) for row in rows}) != 1:
        raise LocalProtocolError(
            f"{name}: give at least one context; each must have as many numbers as the terms say"
        )
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(np.array(rows, np.float64).T, np.float32)


class Resources(Protocol):
    """Things that one party can bring of its own to a federation between machines."""

    def noise(self, event: Any, stream: str = "releases") -> Any:
        """Make secure noise that covers values; every step is charged and kept before it is used.

        Parameters
        ----------
        event : callable
            What the first k releases of the stream are together: ``event(k)`` is a priced event.
        stream : str
            Names a sequence of releases in the ledger.
        """

    def secret(self, name: str, in_state: bool = False) -> bytes:
        """Return 32 random bytes of the party's own, drawn when they are first asked for, and kept.

        What a party makes for others (:meth:`.System.shared`) is its secret of that name. With
        ``in_state`` the party's state has all that is needed of it. Then it is erased as soon as a
        state is saved, and empty bytes are returned from then on.
        """

    def shared(self, name: str, in_state: bool = False) -> bytes:
        """Return 32 random bytes that another party has given: see :meth:`.System.shared`.

        ``in_state`` is as in :meth:`secret`.
        """

    def paillier(self, bits: int) -> Any:
        """Return a private Paillier key of the party's own, made on the first call, and kept."""

    def own(self, name: str) -> Any:
        """Return a setting of ``[own]``: what the party alone knows of its world.

        Raises
        ------
        ConfigError
            If it is not there.
        """


class SharedSecret(msgspec.Struct, frozen=True):
    """32 random bytes that one party makes and hands, sealed, to parties of a role."""

    #: Names it, and no other of the system: the maker has it as its ``resources.secret(name)``, the
    #: others as their ``resources.shared(name)``.
    name: str
    #: The role one of whose parties makes it, and the role whose parties are given it. They may be
    #: the same role: then one makes it for the others.
    maker: str
    takers: str
    #: Whether every taker is given a secret of its own, made of the maker's: see :meth:`gift`.
    #: Takers then cannot read one another's messages.
    each: bool = False
    #: Which party of its role makes it: the first, unless every one makes a secret of its own.
    place: int = 0
    #: Whether parties on both sides keep what is needed of it in their states, and their stores
    #: forget it. Then the maker itself says what it hands over: see :meth:`.Party.gift`.
    in_state: bool = False

    def gift(self, secret: bytes, party: str) -> bytes:
        """Return the bytes that a taker is handed of the maker's ``secret``.

        ``party`` is the taker's name in the protocol, such as ``owner-0``.
        """
        return derive_key(secret, f"{self.name} {party}") if self.each else secret

    def is_made_by(self, role: str, place: int) -> bool:
        """Tell whether the party at that place of a role makes it."""
        return (role, place) == (self.maker, self.place)

    def partners(
        self, role: str, place: int, members: Mapping[str, tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return the members, given by role, with whom a party shares it, on either side."""
        if self.is_made_by(role, place):
            return members[self.takers]
        if not self.is_taken_by(role, place):
            return ()
        return members[self.maker][self.place : self.place + 1]

    def is_taken_by(self, role: str, place: int) -> bool:
        """Tell whether the party at that place of a role is given it."""
        return role == self.takers and not self.is_made_by(role, place)
