"""Tokens that applications show at the door: they are made, kept as digests, and checked."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import pathlib
import secrets
import time
from collections.abc import Collection
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._schema import prepared
from fedbandits.deployment.door.problems import FORBIDDEN, OTHER_PARTY, UNAUTHORISED, Refused
from fedbandits.deployment.identity.private_files import only_one, write_private
from fedbandits.errors import DeploymentError, IdentityError

#: ``decide`` is for decisions, rewards, pulls and orders; ``read`` for the party's reports.
Scope = Literal["decide", "read"]
SCOPES: tuple[Scope, ...] = ("decide", "read")
FILE = "tokens.json"
#: Held while tokens are changed: none may write back what another has revoked.
_LOCK = ".tokens.json.lock"
#: What every token begins with; the name of its party follows.
LABEL = "fb"
#: Seconds after which tokens are looked at again.
_LOOK_AGAIN = 1.0


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token as it is kept.

    ``sha256`` is the digest of the whole token, which has 256 random bits: it needs no salt.
    ``made`` is when it was made, in UTC.
    """

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    scopes: tuple[Scope, ...]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    made: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: tuple[Token, ...] = ()
    format: Literal[1] = 1


def make_token(
    folder: str | pathlib.Path,
    name: str,
    scopes: Collection[Scope] = SCOPES,
    member: str | None = None,
) -> str:
    """Make a token, and keep its digest. The token is nowhere else: it cannot be shown again.

    The ``name`` says whose it will be; it is not a secret, and one name has one token. The token
    shows the ``member``, by default the folder's name. Raises DeploymentError if there is a token
    of that name, or the name or scopes are none, and IdentityError if the file of tokens is
    damaged.
    """
    folder = pathlib.Path(folder)
    unknown = set(scopes) - set(SCOPES)
    if not 1 <= len(name) <= 64 or not name.isprintable() or unknown or not scopes:
        raise DeploymentError(
            "token: a name has 1 to 64 printable characters, scopes are some of "
            f"{', '.join(SCOPES)}"
        )
    random = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    token = f"{LABEL}_{member or folder.resolve().name}_{random}"
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    with only_one(folder, _LOCK, DeploymentError):
        tokens = read_tokens(folder)
        if any(known.name == name for known in tokens):
            raise DeploymentError(
                f"token: the name {name!r} is in use; choose another, or revoke that token first"
            )
        _write(folder, (*tokens, Token(name, ordered, digest_of(token.encode()), made)))
    return token


def revoke_token(folder: str | pathlib.Path, name: str) -> None:
    """Forget a token. A door that is open knows it within a second.

    Raises DeploymentError if there is none of that name.
    """
    folder = pathlib.Path(folder)
    with only_one(folder, _LOCK, DeploymentError):
        tokens = read_tokens(folder)
        kept = tuple(token for token in tokens if token.name != name)
        if len(kept) == len(tokens):
            known = ", ".join(repr(token.name) for token in tokens) or "there are none"
            raise DeploymentError(f"token: no token has the name {name!r}; tokens: {known}")
        _write(folder, kept)


def read_tokens(folder: str | pathlib.Path) -> tuple[Token, ...]:
    """Read the party's tokens as they are kept; raises IdentityError if the file is damaged."""
    path = pathlib.Path(folder) / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=prepared(_File)).tokens
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise IdentityError(
            f"{FILE}: cannot be read ({type(error).__name__}); remove it, and make new tokens"
        ) from None


def digest_of(token: bytes) -> str:
    """Return the digest of a token."""
    return hashlib.sha256(token).hexdigest()


def _write(folder: pathlib.Path, tokens: tuple[Token, ...]) -> None:
    data = msgspec.json.format(msgspec.json.encode(_File(tokens))) + b"\n"
    write_private(folder / FILE, data, replace=True, kind=DeploymentError)


class Guard:
    """Admits requests that show a token of the member."""

    def __init__(self, folder: pathlib.Path, member: str) -> None:
        self._folder, self._member = folder, member
        self._seen: tuple[int, int, int] | None = None
        self._look()

    def admit(self, authorization: bytes, scope: Scope) -> str:
        """Admit a request, and return the name of its token.

        The ``authorization`` header is empty if there is none. Raises Refused if no token of this
        party is shown, or one without the scope.
        """
        if time.monotonic() >= self._look_again:
            self._look_if_changed()
        kind, _, shown = authorization.partition(b" ")
        shown = shown.strip()
        if kind.lower() != b"bearer" or not shown:
            raise self._unauthorised("send the header Authorization: Bearer TOKEN")
        digest = digest_of(shown)
        known: Token | None = None
        for token in self._tokens:
            if hmac.compare_digest(token.sha256, digest):
                known = token
        if known is None:
            raise self._unknown(shown)
        if scope not in known.scopes:
            raise Refused(FORBIDDEN, f"this token does not have the scope {scope!r}")
        return known.name

    def _unknown(self, shown: bytes) -> Refused:
        """Explain why a token is not known. The name that it shows proves nothing."""
        label, _, rest = shown.decode("latin-1").partition("_")
        member, separator, _ = rest.partition("_")
        if label == LABEL and separator and member != self._member:
            return Refused(
                OTHER_PARTY, f"this is the door of {self._member}; ask for a token of that party"
            )
        return self._unauthorised("this token is unknown here, or was revoked")

    def _unauthorised(self, detail: str) -> Refused:
        challenge = f'Bearer realm="{self._member}"'.encode()
        return Refused(UNAUTHORISED, detail, ((b"www-authenticate", challenge),))

    def _look_if_changed(self) -> None:
        if self._stamp() != self._seen:
            self._look()
        self._look_again = time.monotonic() + _LOOK_AGAIN

    def _look(self) -> None:
        self._tokens: tuple[Token, ...] = ()  # none, should they be unreadable
        self._look_again = 0.0
        seen = self._stamp()
        self._tokens = read_tokens(self._folder)
        self._seen, self._look_again = seen, time.monotonic() + _LOOK_AGAIN

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = (self._folder / FILE).stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
