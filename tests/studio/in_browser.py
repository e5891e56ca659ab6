"""A studio, and a real browser that looks at it; skipped where there is no browser."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: install fedbandits[test]"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip("no Chromium: install the package of the system", allow_module_level=True)

#: Milliseconds until something must be seen; a first run compiles kernels.
PATIENCE, LONG = 40_000, 180_000
#: Milliseconds that Playwright itself waits. It looks twice a second where it may wait for long,
#: and twenty times where it may not.
_BRIEF = 400


class Expected:
    """What Playwright expects of a page or a part of it, until there is no more patience."""

    def __init__(self, seen: Any) -> None:
        self._expected = sync_api.expect(seen)

    def __getattr__(self, name: str) -> Any:
        holds = getattr(self._expected, name)

        def wait(*given: Any, timeout: int = PATIENCE) -> None:
            end = time.monotonic() + timeout / 1000
            while time.monotonic() < end:
                with contextlib.suppress(AssertionError):
                    return holds(*given, timeout=_BRIEF)
            return holds(*given, timeout=_BRIEF)

        return wait


class Server(NamedTuple):
    """A studio that was started for a test."""

    process: subprocess.Popen[str]
    address: str  # with the token

    @property
    def root(self) -> str:
        """The address without the token."""
        return self.address.split("#")[0]

    @property
    def port(self) -> int:
        """The port."""
        found = re.search(r":(\d+)/", self.address)
        assert found is not None
        return int(found[1])


@contextlib.contextmanager
def studio(folder: pathlib.Path, port: int = 0) -> Iterator[Server]:
    """Start a studio in a folder, on a free port by default."""
    command = [sys.executable, "-m", "fedbandits", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = next(line for line in process.stdout if "#token=" in line)
            yield Server(process, line[line.index("http") :].strip())
        finally:
            process.send_signal(signal.SIGINT)


class Window:
    """A page, and what its console said: errors, and breaches of the security policy."""

    def __init__(self, context: Any, server: Server, screen: str = "home") -> None:
        self.server, self.said = server, list[str]()
        self.page = context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(server.address)
        self.open(screen)

    def _note(self, message: Any) -> None:
        # That a request was refused is said by the browser itself, and is what some tests want.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.said.append(message.text)

    def open(self, screen: str) -> None:
        """Go to a screen."""
        self.page.goto(f"{self.server.root}#{screen}")

    def sees(self, what: Any, patience: int = PATIENCE) -> None:
        """Wait until something is seen: a text, or a locator."""
        found = self.page.get_by_text(what).first if isinstance(what, (str, re.Pattern)) else what
        Expected(found).to_be_visible(timeout=patience)

    @property
    def toml(self) -> Any:
        """The text of the experiment that is set up."""
        return self.page.get_by_role("textbox", name="The same as TOML")

    def finished(self) -> None:
        """Wait for the end of the run that is shown."""
        self.sees(self.page.locator(".titled .status", has_text="complete"), LONG)

    def press(self, name: str, exact: bool = False) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=exact).first.click()
