"""Requests as they have come, and their answers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import httptools
import msgspec

from fedbandits.deployment.door.problems import (
    INVALID,
    MALFORMED,
    NOT_JSON,
    OUT_OF_BOUNDS,
    TOO_LARGE,
    Refused,
)

JSON = b"application/json"
#: The header that names a request: sent again with the same name, it is the same request.
KEY = b"idempotency-key"
#: How msgspec says that a number is beyond its bounds.
_BEYOND = re.compile(r"Expected `(int|float)` [<>]|Number out of range")


class Answer(NamedTuple):
    """An answer: its HTTP status, its body (none for 204), the body's media type, more headers."""

    status: int
    body: bytes = b""
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Later(NamedTuple):
    """A result that is waited for, and how an answer is made of it.

    Without a task of its own, which would cost as much as a small decision.
    """

    result: Awaitable[Any]
    answer: Callable[[Any], Answer]


class Request:
    """A client's request, from the first byte of its head to its answer.

    The ``sender`` is the address that it came from: the application's, or a proxy's before the
    door.
    """

    __slots__ = (
        "_pieces", "_size", "authorization", "began", "expects", "keeps", "key", "kind", "length",
        "method", "over", "path_values", "query_string", "route", "sender", "streamed", "token",
        "whole", "works",
    )  # fmt: skip

    def __init__(self, sender: str) -> None:
        self.sender = sender
        self.method, self.query_string = "", b""
        #: Values at the places of the path that have names.
        self.path_values: dict[str, str] = {}
        self.authorization = self.kind = b""
        #: What the client calls this request; answers have it, too.
        self.key = b""
        #: Bytes of the body, as declared, or whether it comes in chunks.
        self.length, self.streamed = 0, False
        #: Whether the client waits to be asked for the body, and goes on after the answer.
        self.expects, self.keeps = False, True
        #: The name of the token that it was let in with, and the route that answers it since then.
        self.token = ""
        self.route: Any = None
        #: When its turn has come.
        self.began = 0.0
        #: Whether all of it has come, whether an answer is being made, and whether it has one.
        self.whole = self.works = self.over = False
        self._pieces: list[bytes] = []
        self._size = 0

    def note(self, name: bytes, value: bytes) -> None:
        """Note one of its headers."""
        match name.lower():
            case b"authorization":
                self.authorization = value
            case b"content-type":
                self.kind = value
            case b"content-length":
                self.length = int(value)  # the parser has refused what is no number
            case b"idempotency-key":
                self.key = value
            case b"transfer-encoding":
                self.streamed = True
            case b"expect":
                self.expects = value.lower() == b"100-continue"

    def path(self, url: bytes) -> str:
        """Return the path of what is asked for, and note the query; raises ValueError for none."""
        try:
            parsed = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            raise ValueError("no URL") from None
        if parsed.path is None:
            raise ValueError("no path")
        self.query_string = parsed.query or b""
        path: str = parsed.path.decode("ascii")
        return unquote(path) if "%" in path else path

    @property
    def query(self) -> dict[str, str]:
        """Values of the query; of several of one name the last."""
        return dict(parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True))

    def unread(self, most: int) -> bool:
        """Tell whether more is on its way than is worth waiting for."""
        return not self.whole and (self.streamed or self.length > most)

    def require_json(self, most: int) -> None:
        """Refuse a body that is not declared as JSON, or as too large."""
        if self.kind != JSON and self.kind.partition(b";")[0].strip().lower() != JSON:
            raise Refused(NOT_JSON, "send the header Content-Type: application/json")
        self.require_size(most)

    def require_size(self, most: int) -> None:
        """Refuse a body of more than so many bytes, as soon as that is known."""
        if self.length > most or self._size > most:
            raise Refused(TOO_LARGE, f"a body has at most {most:,} bytes here")

    def take(self, piece: bytes) -> None:
        """Take some of its body."""
        self._pieces.append(piece)
        self._size += len(piece)

    def decoded(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """Decode the body; raises Refused if it is no JSON, or of another shape."""
        try:
            return decoder.decode(b"".join(self._pieces))
        except msgspec.ValidationError as error:
            fields = ", ".join(decoder.type.__struct_fields__) or "none"
            problem = OUT_OF_BOUNDS if _BEYOND.match(str(error)) else INVALID
            raise Refused(problem, f"{error}; fields: {fields}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise Refused(MALFORMED, detail) from None
