"""Reading a request within its limits, and writing its answer."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

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


class Gone(Exception):  # noqa: N818
    """The client has gone: nobody waits for an answer."""


class Answer(NamedTuple):
    """An answer: its HTTP status, its body (none for 204), and the body's media type."""

    status: int
    body: bytes = b""
    kind: bytes = JSON


class Request:
    """A client's request. Its body, of at most so many bytes, is read when it is asked for."""

    __slots__ = (
        "_most", "_read", "_receive", "_scope", "_streamed", "_type", "authorization", "key",
        "length", "token",
    )  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, most: int) -> None:
        self._scope, self._receive, self._most = scope, receive, most
        self._read = self._streamed = False
        self.authorization = self._type = b""
        #: The name of the token that it was let in with.
        self.token = ""
        #: What the client calls this request; answers have it, too.
        self.key = b""
        #: Bytes of the body, as declared.
        self.length = 0
        for name, value in scope["headers"]:
            if name == b"authorization":
                self.authorization = value
            elif name == KEY:
                self.key = value
            elif name == b"content-type":
                self._type = value
            elif name == b"content-length":
                self.length = int(value)  # the server has refused what is no number
            elif name == b"transfer-encoding":
                self._streamed = True

    @property
    def sender(self) -> str:
        """Address that it came from: the application's, or a proxy's before the door."""
        client = self._scope.get("client")
        return str(client[0]) if client else ""

    @property
    def query(self) -> dict[str, str]:
        """Values of the query; of several of one name the last."""
        return dict(
            parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True)
        )

    @property
    def path_values(self) -> dict[str, Any]:
        """Values at the places of the path that have names."""
        values: dict[str, Any] = self._scope["path_params"]
        return values

    @property
    def unread(self) -> bool:
        """True if more is on its way than is worth waiting for."""
        return not self._read and (self._streamed or self.length > self._most)

    async def decoded(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """Read the body, and decode it.

        Raises Refused if it is not declared as JSON, too large, no JSON, or of another shape.
        """
        if self._type != JSON and self._type.partition(b";")[0].strip().lower() != JSON:
            raise Refused(NOT_JSON, "send the header Content-Type: application/json")
        body = await self._body()
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            fields = ", ".join(decoder.type.__struct_fields__) or "none"
            problem = OUT_OF_BOUNDS if _BEYOND.match(str(error)) else INVALID
            raise Refused(problem, f"{error}; fields: {fields}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise Refused(MALFORMED, detail) from None

    async def _body(self) -> bytes:
        if self.length > self._most:
            raise self._too_large()
        pieces: list[bytes] = []
        size = 0
        while not self._read:
            message = await self._receive()
            if message["type"] != "http.request":
                raise Gone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._most:
                raise self._too_large()
            self._read = not message.get("more_body", False)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self) -> Refused:
        return Refused(TOO_LARGE, f"a body has at most {self._most:,} bytes here")
