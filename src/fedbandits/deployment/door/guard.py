"""Access to the door: a request needs a token of this party."""

from __future__ import annotations

import hmac
import pathlib
import time

from fedbandits.deployment.door.problems import FORBIDDEN, OTHER_PARTY, UNAUTHORISED, Refused
from fedbandits.deployment.door.tokens import FILE, LABEL, Scope, digest_of, read_tokens

#: Seconds after which tokens are looked at again.
_LOOK_AGAIN = 1.0


class Guard:
    """Lets in whoever shows a token.

    Parameters
    ----------
    folder
        The party's.
    member
        The party's name.
    """

    def __init__(self, folder: pathlib.Path, member: str) -> None:
        self._folder, self._member = folder, member
        self._seen: tuple[int, int, int] | None = None
        self._look()

    def admit(self, authorization: bytes, scope: Scope) -> None:
        """Let a request pass, or not.

        Parameters
        ----------
        authorization
            The header of that name, empty if there is none.
        scope
            What the token must allow.

        Raises
        ------
        Refused
            If no token of this party is shown, or one that does not allow this.
        """
        if time.monotonic() >= self._look_again:
            self._look_if_changed()
        kind, _, shown = authorization.partition(b" ")
        shown = shown.strip()
        if kind.lower() != b"bearer" or not shown:
            raise self._unauthorised("send the header Authorization: Bearer TOKEN")
        digest = digest_of(shown)
        found = None
        for known, scopes in self._tokens:
            if hmac.compare_digest(known, digest):
                found = scopes
        if found is None:
            raise self._unknown(shown)
        if scope not in found:
            raise Refused(FORBIDDEN, f"this token does not have the scope {scope!r}")

    def _unknown(self, shown: bytes) -> Refused:
        """Why a token is not known. The name that it shows is no secret, and proves nothing."""
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
        self._tokens: list[tuple[str, tuple[Scope, ...]]] = []  # none, should they be unreadable
        self._look_again = 0.0
        seen = self._stamp()
        self._tokens = [(token.sha256, token.scopes) for token in read_tokens(self._folder)]
        self._seen, self._look_again = seen, time.monotonic() + _LOOK_AGAIN

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = (self._folder / FILE).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
