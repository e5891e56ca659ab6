"""The refusals of a door, as errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fedbandits.errors import FedbanditsError


class DoorError(FedbanditsError):
    """A request failed; unless a subclass says otherwise, nothing has changed at the party.

    Parameters
    ----------
    status
        The HTTP status. 0 means that no answer came, so the request may or may not have been
        carried out.
    type
        The name of the problem, a URN; ``about:blank`` if it has no name.
    title, detail
        What the problem is, and what to do about it.
    """

    #: Names of the problems that it stands for: the last words of their types.
    PROBLEMS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, status: int, type: str, title: str, detail: str) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.type, self.title, self.detail = status, type, title, detail


class InvalidRequestError(DoorError):
    """The request does not match the door's OpenAPI description."""

    PROBLEMS = (
        "malformed", "invalid", "unsupported-media-type", "too-large", "head-too-large", "slow",
        "no-http", "not-found", "method-not-allowed",
    )  # fmt: skip


class TokenError(DoorError):
    """The token is missing, unknown, of another party, or does not allow this request."""

    PROBLEMS = ("unauthorised", "other-party", "forbidden")


class NotOfferedError(DoorError):
    """The party does not offer this, because its role is another one."""

    PROBLEMS = ("not-offered",)


class DecisionUnknownError(DoorError):
    """The party never made this decision."""

    PROBLEMS = ("unknown-decision",)


class DuplicateError(DoorError):
    """The outcome was reported before; the first report counts."""

    PROBLEMS = ("duplicate",)


class LateError(DoorError):
    """The outcome was reported too late to be counted."""

    PROBLEMS = ("late",)


class OutOfBoundsError(DoorError):
    """A context or a reward is outside the bounds on which the privacy guarantee depends."""

    PROBLEMS = ("out-of-bounds",)


class RefusedError(DoorError):
    """The party cannot accept this request, or cannot accept it now."""

    PROBLEMS = ("refused", "not-now")


class UnavailableError(DoorError):
    """The party cannot answer now; ask again later."""

    PROBLEMS = ("not-ready", "unavailable", "store-full", "internal")


class UnreachableError(DoorError):
    """No answer came, but the request may have been carried out."""


#: The error of each problem, by the last word of its type.
ERRORS: Mapping[str, type[DoorError]] = {
    name: kind for kind in DoorError.__subclasses__() for name in kind.PROBLEMS
}
