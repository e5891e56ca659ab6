"""The studio's page in a real browser: first paint, a step with 50 parties, curves, bytes shipped.

Starts the studio in an empty folder, and looks at it with Playwright and the Chromium of the
system. Each line has what is asked for and what was measured: medians, and for what is drawn over
and over also the 95th percentile.

    python benchmarks/studio.py
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

#: Names under which Chromium is installed.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAINTS, STEPS = 7, 120
PARTIES, ROUNDS = 50, 60
SYSTEMS, REPLICATES, POINTS = 5, 3, 20_000
#: Waits for a frame, and for what is done after it.
FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
SMALL = """name = "small"
rounds = 300
replicates = 12
[environment]
kind = "linear"
agents = 4
dim = 3
arms = 4
[[systems]]
preset = "feducb"
[[systems]]
preset = "linucb-alone"
"""


@contextlib.contextmanager
def studio(folder: pathlib.Path) -> Iterator[str]:
    """Start the studio on a free port; its address, with the token."""
    command = [sys.executable, "-m", "fedbandits", "studio", str(folder), "--no-browser"]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            line = next(line for line in process.stdout if "#token=" in line)
            yield line[line.index("http") :].strip()
        finally:
            process.terminate()


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start the Chromium of the system."""
    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


def durations(page: Page, name: str) -> list[float]:
    """Durations of a measure of the page, in milliseconds."""
    found: list[float] = page.evaluate(
        "name => performance.getEntriesByName(name, 'measure').map(one => one.duration)", name
    )
    return found


def high(values: Sequence[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def row(what: str, asked: str, found: str) -> None:
    print(f"{what:52} {asked:>9} {found:>22}", flush=True)


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} (95%: {high(values):.1f})"


def paint(chromium: Browser, address: str) -> None:
    times, shipped, unpacked = [], 0, 0
    for _ in range(PAINTS):
        with chromium.new_context() as context:
            page = context.new_page()
            page.goto(address)
            expect(page.get_by_role("heading", name="Runs")).to_be_visible()
            times.append(
                page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            )
            sizes = page.evaluate(
                "performance.getEntries().filter(one => one.encodedBodySize && !one.name.includes("
                "'/api/')).map(one => [one.encodedBodySize, one.decodedBodySize])"
            )
            shipped, unpacked = (sum(size[i] for size in sizes) for i in (0, 1))
    row("first paint, ms", "≤ 500", f"{statistics.median(times):.0f}")
    row("bytes shipped, kB", "≤ 150", f"{shipped / 1e3:.0f} ({unpacked / 1e3:.0f} unpacked)")


def step(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    page.goto(address)
    page.goto(address.split("#")[0] + "#step")
    expect(page.get_by_text("1 of")).to_be_visible()
    page.get_by_label("Rounds").fill(str(ROUNDS))
    page.get_by_label("Parties", exact=True).fill(str(PARTIES))
    page.get_by_label("Parties", exact=True).press("Enter")
    expect(page.get_by_role("button", name="owner-49")).to_be_attached()
    page.get_by_role("heading", name="Step").click()
    page.evaluate("performance.clearMeasures()")
    for _ in range(STEPS):
        page.keyboard.press("ArrowRight")
        page.evaluate(FRAME)
    expect(page.get_by_text(f"{STEPS + 1} of")).to_be_visible()
    row(f"a step with {PARTIES} parties, key to frame, ms", "≤ 16", spread(durations(page, "step")))
    row("script of a step, ms", "≤ 8", spread(durations(page, "step script")))
    page.close()


def run(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    page.goto(address)
    page.goto(address.split("#")[0] + "#setup")
    page.get_by_role("textbox", name="The same as TOML").fill(SMALL)
    expect(page.get_by_role("heading", name="linucb-alone")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("complete", exact=True).first).to_be_visible()
    told = durations(page, "event script")
    row(f"script of an event of a run ({len(told)} events), ms", "≤ 8", spread(told))
    row("script of drawing its curves, ms", "≤ 8", spread(durations(page, "chart script")))
    page.close()


def curves() -> list[dict[str, Any]]:
    """Curves of a run that is larger than runs are."""
    rounds = list(range(1, POINTS + 1))
    line = [round(k**0.5, 4) for k in rounds]
    return [
        {"system": f"system {i}", "rounds": rounds, "mean": [x + i for x in line], "n": 3,
         "half": [0.1 * x for x in line], "deviation": 1.0, "error": 0.5,
         "replicates": [[x + i + 0.3 * k for x in line] for k in range(REPLICATES)]}
        for i in range(SYSTEMS)
    ]  # fmt: skip


def large(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    told = {"id": "large", "name": "large", "status": "complete", "systems": [], "rounds": POINTS,
            "replicates": REPLICATES, "done": 1, "total": 1, "why": "", "lines": ["Large."],
            "how": "", "claims": {}, "log": [], "unit": "regret", "decisions": "rounds",
            "toml": "", "curves": curves()}  # fmt: skip
    body = json.dumps(told)
    page.route(
        "**/api/runs/large", lambda route: route.fulfill(body=body, content_type="application/json")
    )
    page.goto(address)
    page.goto(address.split("#")[0] + "#run/large")
    expect(page.get_by_role("slider")).to_be_visible()
    for _ in range(6):
        page.get_by_role("button", name="system 4").click()
    first, *again = durations(page, "chart script")
    row(f"script of drawing {SYSTEMS} bands of {POINTS:,} points, ms", "", spread([first, *again]))
    page.close()


def main() -> None:
    expect.set_options(timeout=120_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        browser() as chromium,
        studio(pathlib.Path(folder)) as address,
    ):
        print(f"{'':52} {'asked':>9} {'measured':>22}")
        paint(chromium, address)
        step(chromium, address)
        run(chromium, address)
        large(chromium, address)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
