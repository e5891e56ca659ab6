"""The party behind a door: its interface, and the types of its requests and answers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta

from fedbandits._schema import prepared
from fedbandits.deployment.hosting.events import Decided
from fedbandits.errors import UnknownDecisionError
from fedbandits.settings.federation import Federation
from fedbandits.systems.application import Application, Asked, Told


class Served(Protocol):
    """A party that applications reach through a door.

    What it answers is durable, and what it refuses has changed nothing.
    """

    @property
    def member(self) -> str:
        """The organisation's name, such as ``north``."""

    @property
    def federation(self) -> Federation:
        """Federation that all members agree on."""

    @property
    def application(self) -> Application[Any] | None:
        """The way in which applications ask it; None for parties that do not decide."""

    @property
    def ready(self) -> bool:
        """True if the party can do its work, and its store works: without a broker, too."""

    @property
    def connected(self) -> bool:
        """True if the broker is reached."""

    def decide(self, asked: Asked, key: str = "") -> Awaitable[Decided]:
        """Decide; asked again with the same ``key``, give the same decision while it is open.

        Raises LocalProtocolError, BoundExceededError, StoreError or NotReadyError.
        """

    def reward(self, number: int, told: Told) -> Awaitable[None]:
        """Tell what came of a decision.

        Raises what :meth:`decide` does, and UnknownDecisionError, DuplicateRewardError or
        LateRewardError.
        """

    async def next_pull(self, timeout: float) -> int | None:
        """Wait for the number of the pull that is due; None if none is after so many seconds."""

    async def pull(self, number: int, reward: int) -> None:
        """Tell what a pull gave, 0 or 1; raises as :meth:`reward`."""

    async def privacy(self) -> dict[str, Any]:
        """Report the claim, and what is spent and left, in plain values."""

    def status(self) -> dict[str, Any]:
        """Report where it stands, in plain values."""


class Orders(Protocol):
    """A party that pays for runs, and begins them when it is told to."""

    async def order(self) -> None:
        """Order a run; raises as :meth:`Served.decide`."""


def offered(served: Served) -> frozenset[str]:
    """Return the services of a party: ``decisions``, ``pulls`` or ``orders``, if any."""
    federation = served.federation
    role = federation.seat_of(served.member).role
    if not federation.roles.messages_set_pace:
        return frozenset() if served.application is None else frozenset({"decisions"})
    if role.acts:
        return frozenset({"pulls"})
    return frozenset({"orders"} if hasattr(served, "order") else ())


_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_Id = Annotated[str, Meta(max_length=100, description="As it was given with the decision.")]


class PullAnswer(msgspec.Struct, frozen=True):
    """A pull that is due."""

    pull_id: str


class PullTold(Told, frozen=True):
    """The reward of a pull."""

    reward: Literal[0, 1]


class Ids:
    """Names of decisions, unique among all parties and federations."""

    def __init__(self, served: Served) -> None:
        self._member = served.member
        self.prefix = f"{served.member}-{served.federation.terms.digest[:8]}-"

    def name(self, number: int) -> str:
        """Return the name of a decision, by its number."""
        return f"{self.prefix}{number}"

    def number(self, name: str) -> int:
        """Return the number of a decision, by its name.

        Raises UnknownDecisionError if no decision of this party is called so.
        """
        counted = name.removeprefix(self.prefix)
        if counted == name or _NUMBER.fullmatch(counted) is None:
            raise UnknownDecisionError(
                f"{self._member}: this party has made no decision with this id; send the id "
                "exactly as it came with the decision"
            )
        return int(counted)


class Shapes:
    """Requests and answers of a party that decides."""

    def __init__(self, application: Application[Any], ids: Ids) -> None:
        bounds = application.bounds()
        asked = _fields(application.ASKED, bounds)
        told = _fields(application.TOLD, bounds)
        #: Types of requests, with the plan's bounds.
        self.asked = _struct("DecisionAsked", application.ASKED, asked)
        self.told = _struct("RewardTold", application.TOLD, [("decision_id", _Id), *told])
        #: The type of an answer.
        self.decided = msgspec.defstruct(
            "DecisionMade", [("decision_id", str), ("action", application.ACTION)], frozen=True
        )
        self._ids = ids
        self._as_asked = _maker(application.ASKED)
        self._as_told = _maker(application.TOLD)
        self.read_asked = msgspec.json.Decoder(prepared(self.asked))
        self.read_told = msgspec.json.Decoder(prepared(self.told))
        self._encode = msgspec.json.Encoder().encode

    def as_asked(self, body: Any) -> Asked:
        """Turn the body of a request into the party's own type of request."""
        asked: Asked = self._as_asked(body)
        return asked

    def as_told(self, body: Any) -> tuple[int, Told]:
        """Read the number of a decision, and its outcome, from the body of a request."""
        return self._ids.number(body.decision_id), self._as_told(body)

    def answer(self, decided: Decided) -> bytes:
        """Encode the answer to a request as JSON."""
        return self._encode(self.decided(self._ids.name(decided.number), decided.action))


def _fields(kind: type[msgspec.Struct], bounds: Mapping[str, Any]) -> list[Any]:
    """List a struct's fields as they are declared, with bounds."""
    declared: list[Any] = []
    for field in msgspec.structs.fields(kind):
        bounded = bounds.get(field.name, field.type)
        if field.required:
            declared.append((field.name, bounded))
        elif field.default is not msgspec.NODEFAULT:
            declared.append((field.name, bounded, field.default))
        else:
            declared.append(
                (field.name, bounded, msgspec.field(default_factory=field.default_factory))
            )
    return declared


def _struct(name: str, like: type[msgspec.Struct], fields: list[Any]) -> type[msgspec.Struct]:
    """Make a type of requests, with the docstring of the struct ``like``."""
    namespace = {"__doc__": like.__doc__}
    return msgspec.defstruct(
        name, fields, namespace=namespace, frozen=True, forbid_unknown_fields=True
    )


def _maker(kind: type[msgspec.Struct]) -> Callable[[Any], Any]:
    """Make a function that turns a struct into a ``kind`` that has some of its fields."""
    names = kind.__struct_fields__
    return lambda body: kind(**{name: getattr(body, name) for name in names})
