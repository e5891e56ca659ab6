"""Who may ask the studio: its own page, with its token, under its own address."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Mapping

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from fedbandits.studio.guard import Guard, policy_for

PORT, TOKEN = 8600, "right"
OWN = {"host": "127.0.0.1:8600", "authorization": "Bearer right"}


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    assert Request(scope).url.path
    await PlainTextResponse("inside")(scope, receive, send)


def ask(path: str, headers: Mapping[str, str]) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(Guard(_app, TOKEN, PORT, "default-src 'none'"))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get(path, headers=dict(headers))

    return asyncio.run(asked())


@pytest.mark.parametrize("host", ["127.0.0.1:8600", "localhost:8600", "[::1]:8600"])
def test_the_page_may_ask(host: str) -> None:
    assert ask("/api/runs", OWN | {"host": host}).text == "inside"


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "evil.example:8600"}, 421),
        ({"host": "127.0.0.1:8601"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic right"}, 401),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer right "}, 401),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_others_may_not(changed: dict[str, str], status: int) -> None:
    answer = ask("/api/runs", OWN | changed)
    assert answer.status_code == status
    assert "inside" not in answer.text
    assert TOKEN not in answer.text


def test_files_of_the_page_need_no_token_but_its_address() -> None:
    assert ask("/", {"host": OWN["host"]}).text == "inside"
    assert ask("/", {"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", ["/", "/api/runs"])
def test_every_answer_has_the_policy(path: str) -> None:
    for headers in (OWN, {"host": "evil.example"}):
        answer = ask(path, headers)
        assert answer.headers["content-security-policy"] == "default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_the_policy_allows_the_import_map_by_its_hash_and_no_other_script() -> None:
    inside = '{"imports": {}}'
    policy = policy_for(f'<script type="importmap">{inside}</script>')
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
