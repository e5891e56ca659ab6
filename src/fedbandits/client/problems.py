"""What a door refuses, as errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fedbandits.errors import FedbanditsError


class DoorError(FedbanditsError):
    """A request that was not answered as it wished. Nothing has changed then.

    Parameters
    ----------
    status
        The HTTP status; 0 if there was no answer, and nobody knows what became of the request.
    type
        The problem's name, a URN; ``about:blank`` if it has none.
    title, detail
        What it is, and what to do.
    """

    #: Names of the problems that it stands for: the last words of their types.
    PROBLEMS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, status: int, type: str, title: str, detail: str) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.type, self.title, self.detail = status, type, title, detail


class InvalidRequestError(DoorError):
    """A request that is not as the door's description has it."""

    PROBLEMS = (
        "malformed", "invalid", "unsupported-media-type", "too-large", "head-too-large", "slow",
        "no-http", "not-found", "method-not-allowed",
    )  # fmt: skip


class TokenError(DoorError):
    """A token that is missing, unknown, another party's, or does not allow this."""

    PROBLEMS = ("unauthorised", "other-party", "forbidden")


class NotOfferedError(DoorError):
    """The party's role is another: it does not do this."""

    PROBLEMS = ("not-offered",)


class DecisionUnknownError(DoorError):
    """No such decision was made here."""

    PROBLEMS = ("unknown-decision",)


class DuplicateError(DoorError):
    """It was told before. What was told first counts."""

    PROBLEMS = ("duplicate",)


class LateError(DoorError):
    """It comes after it could still count."""

    PROBLEMS = ("late",)


class OutOfBoundsError(DoorError):
    """A context or reward outside the bounds that the privacy guarantee rests on."""

    PROBLEMS = ("out-of-bounds",)


class RefusedError(DoorError):
    """The party cannot take this, or not now."""

    PROBLEMS = ("refused", "not-now")


class UnavailableError(DoorError):
    """The party cannot answer now; ask again later."""

    PROBLEMS = ("not-ready", "unavailable", "store-full", "internal")


class UnreachableError(DoorError):
    """There was no answer. A request that had left may have been carried out all the same."""


#: The error of each problem, by the last word of its type.
ERRORS: Mapping[str, type[DoorError]] = {
    name: kind for kind in DoorError.__subclasses__() for name in kind.PROBLEMS
}
