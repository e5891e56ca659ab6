"""Guards of the page: the token and the host of requests, and the security policy of browsers.

There is no cookie. So a page of another site cannot send an authorised request, and a name that is
bound to this machine's address (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedbandits.errors import FedbanditsError
from fedbandits.studio.processes import error_of

_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
#: Sites from which a browser may ask, as ``Sec-Fetch-Site`` names them.
_SITES = ("same-origin", "none")


def policy_for(page: str) -> str:
    """Return the content security policy of a page: own files alone, its import map by hash."""
    import_map = _IMPORT_MAP.search(page)
    inline = ""
    if import_map:
        digest = hashlib.sha256(import_map[1].encode()).digest()
        inline = f" 'sha256-{base64.b64encode(digest).decode()}'"
    return (
        f"default-src 'none'; script-src 'self'{inline}; style-src 'self'; "
        "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )


def refusal(status: int, message: str) -> JSONResponse:
    """Make the answer to a refused request, in the form that the page reads."""
    return JSONResponse({"error": error_of(FedbanditsError(message))}, status)


class Guard:
    """Guard that refuses requests of other pages, and adds headers of security to all answers.

    Parameters
    ----------
    app
        The application that answers all other requests.
    token
        The token of every request below ``/api/``.
    port
        The port of this server, which a browser names in ``Host``.
    policy
        The content security policy.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, policy: str) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{host}:{port}" for host in _HOSTS}
        if port == 80:
            self._hosts |= set(_HOSTS)
        self._headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refused = self._refused(scope["path"], Headers(scope=scope))
        await (refused or self._app)(scope, receive, with_headers)

    def _refused(self, path: str, headers: Headers) -> JSONResponse | None:
        if headers.get("host", "").lower() not in self._hosts:
            return refusal(421, "this address is not the studio's: open the one that it printed")
        if headers.get("sec-fetch-site", "none") not in _SITES and path.startswith("/api/"):
            return refusal(403, "another site has asked")
        if not path.startswith("/api/"):
            return None
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind == "Bearer" and hmac.compare_digest(shown.encode(), self._token):
            return None
        return refusal(401, "open the address that the studio printed; it has the key in it")
