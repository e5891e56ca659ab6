"""The place of a door, and how it is asked."""

from __future__ import annotations

import math
import re
from typing import Any

import httpx

from fedbandits.client.tries import MOST_RETRIES
from fedbandits.errors import ConfigError

#: Seconds that an answer may take.
TIMEOUT = 30.0
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Place:
    """A door's address, what is shown to it, how long it is waited for, and how often it is tried.

    Raises ConfigError if it cannot be so. The error shows neither url nor token.
    """

    def __init__(self, url: str, token: str, timeout: float, verify: Any, retries: int) -> None:
        if not isinstance(url, str) or not _is_address(url):
            raise ConfigError(
                "url: http:// or https:// and a host, such as http://127.0.0.1:8420, without "
                "blanks, line breaks, a user's name, a query or a fragment"
            )
        if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
            raise ConfigError(
                "token: letters, digits and - . _ ~ + / = alone, as fedbandits party token prints "
                "it: strip line breaks and blanks; leave out quotes and the word Bearer"
            )
        if not 0.0 < timeout < math.inf:
            raise ConfigError("timeout: a number of seconds above 0")
        if not isinstance(retries, int) or not 0 <= retries <= MOST_RETRIES:
            raise ConfigError(f"retries: a whole number from 0 to {MOST_RETRIES}")
        self._url, self._token, self._verify = url.rstrip("/"), token, verify
        self.timeout, self.retries = timeout, retries

    def arguments(self, transport: Any) -> dict[str, Any]:
        """Return the arguments for httpx; ``transport`` is a class of it.

        Authorities are not loaded where there are no certificates.
        """
        verify = self._verify if self._url.lower().startswith("https:") else False
        return {
            "base_url": self._url,
            "headers": {"authorization": f"Bearer {self._token}", "user-agent": "fedbandits"},
            "transport": transport(verify=verify),
        }


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return False
    more = parts.userinfo or parts.query or parts.fragment or url != url.strip()
    port = parts.port is None or 0 < parts.port < 65_536
    return parts.scheme in ("http", "https") and bool(parts.host) and port and not more
