"""Tokens that applications show at the door. Only their digests are kept."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import pathlib
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits.errors import DeploymentError, IdentityError

#: ``decide`` is for decisions, rewards, pulls and orders; ``read`` for what the party tells of
#: itself.
Scope = Literal["decide", "read"]
SCOPES: tuple[Scope, ...] = ("decide", "read")
FILE = "tokens.json"
#: What every token begins with; the name of its party follows.
LABEL = "fb"


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a token.

    Parameters
    ----------
    name
        Whose it is.
    scopes
        What it allows.
    sha256
        The digest of the whole token, which has 256 random bits: it needs no salt.
    made
        When it was made, in UTC.
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
    """Make a token, and keep its digest.

    Parameters
    ----------
    folder
        The party's.
    name
        Whose it will be. It is not a secret, and one name has one token.
    scopes
        What it allows; see :data:`SCOPES`.
    member
        The party's name, which the token shows; by default the folder's.

    Returns
    -------
    str
        The token. It is nowhere else: it cannot be shown again.

    Raises
    ------
    DeploymentError
        If there is a token of that name, or the name or scopes are none.
    IdentityError
        If the file of tokens is damaged.
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
    with _changing(folder):
        tokens = read_tokens(folder)
        if any(known.name == name for known in tokens):
            raise DeploymentError(
                f"token: the name {name!r} is in use; choose another, or revoke that token first"
            )
        _write(folder, (*tokens, Token(name, ordered, digest_of(token.encode()), made)))
    return token


def revoke_token(folder: str | pathlib.Path, name: str) -> None:
    """Forget a token. A door that is open knows it within a second.

    Raises
    ------
    DeploymentError
        If there is none of that name.
    """
    folder = pathlib.Path(folder)
    with _changing(folder):
        tokens = read_tokens(folder)
        kept = tuple(token for token in tokens if token.name != name)
        if len(kept) == len(tokens):
            known = ", ".join(repr(token.name) for token in tokens) or "there are none"
            raise DeploymentError(f"token: no token has the name {name!r}; tokens: {known}")
        _write(folder, kept)


def read_tokens(folder: str | pathlib.Path) -> tuple[Token, ...]:
    """All tokens of a party, as far as they are kept.

    Raises
    ------
    IdentityError
        If the file is damaged.
    """
    path = pathlib.Path(folder) / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).tokens
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise IdentityError(
            f"{FILE}: cannot be read ({type(error).__name__}); remove it, and make new tokens"
        ) from None


def digest_of(token: bytes) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token).hexdigest()


def _write(folder: pathlib.Path, tokens: tuple[Token, ...]) -> None:
    """Replace the file: a reader finds the old one or the new one."""
    beside = folder / f".{FILE}.new"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(_File(tokens))) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, folder / FILE)
    except OSError as error:
        raise DeploymentError(f"{FILE}: cannot be written ({error.strerror})") from None


@contextmanager
def _changing(folder: pathlib.Path) -> Iterator[None]:
    """Alone among those who change tokens: none may write back what another has revoked."""
    try:
        descriptor = os.open(folder / f".{FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DeploymentError(f"{FILE}: cannot be written ({error.strerror})") from None
    try:
        with suppress(ModuleNotFoundError):  # no POSIX: there are no such locks
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
