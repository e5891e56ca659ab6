"""Pictures of the studio's screens, of real runs, a real recording and a real federation.

Plays the quickstart twice, records SAMBA, attacks FedUCB, and runs a federation with one party
away. Takes about two minutes, and writes ``docs/images/studio-*.png``.

    python benchmarks/studio_pictures.py
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from playwright.sync_api import Browser, Page, expect

from studio import browser, studio

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 860}
LONG = 300_000
COMMAND = [sys.executable, "-m", "fedbandits", "federation"]


def picture(page: Page, name: str) -> None:
    path = IMAGES / f"studio-{name}.png"
    page.evaluate("scrollTo(0, 0)")
    # A temporary folder's path tells nobody anything.
    page.evaluate("document.querySelectorAll('.folder').forEach((e) => { e.hidden = true; })")
    page.screenshot(path=path)
    print(path.name, f"{path.stat().st_size / 1e3:.0f} kB", flush=True)


def visit(chromium: Browser, address: str, screen: str) -> Page:
    page = chromium.new_page(viewport=SIZE, reduced_motion="reduce")
    page.goto(address)
    page.goto(f"{address.split('#')[0]}#{screen}")
    return page


def set_up(page: Page, slider: float) -> None:
    expect(page.get_by_role("heading", name="feducb-published")).to_be_visible(timeout=LONG)
    page.get_by_label("ε of every private system").fill(str(slider))
    expect(page.get_by_role("textbox", name="The same as TOML")).to_have_value(
        re.compile(f"epsilon = {10**slider:.2g}")
    )


def runs(chromium: Browser, address: str) -> None:
    for slider in (0.0, -0.5):
        page = visit(chromium, address, "setup")
        set_up(page, slider)
        if slider:
            picture(page, "setup")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".titled .status")).to_have_text("complete", timeout=LONG)
        if not slider:
            page.get_by_role("button", name="feducb-published").click()
            picture(page, "run")
        page.close()
    page = visit(chromium, address, "compare/quickstart/quickstart-2")
    expect(page.get_by_role("slider").first).to_be_visible(timeout=LONG)
    picture(page, "compare")
    page.close()


def steps(chromium: Browser, address: str) -> None:
    page = visit(chromium, address, "step")
    expect(page.get_by_text("1 of")).to_be_visible(timeout=LONG)
    page.locator(".controls select").select_option("ScoreList")
    page.get_by_role("button", name=re.compile(r"\bcomp\b")).click()
    expect(page.locator(".reads .viewed")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 1180})
    picture(page, "step")
    page.close()


def attack(chromium: Browser, address: str) -> None:
    page = visit(chromium, address, "attack/feducb")
    page.get_by_label("ε").fill("4")
    page.get_by_role("button", name="Attack", exact=True).click()
    expect(page.get_by_text(re.compile("ε is at least [0-9]"))).to_be_visible(timeout=LONG)
    picture(page, "attack")
    page.close()


@contextlib.contextmanager
def one_away(place: pathlib.Path) -> Iterator[None]:
    """Run a federation, of which one party does not run."""
    file, absent = place.with_suffix(".toml"), place.with_name("away")
    example = subprocess.run([*COMMAND, "example", "feducb"], check=True, capture_output=True)  # noqa: S603
    file.write_bytes(example.stdout)
    made = [*COMMAND, "init", str(file), "--out", str(place), "--local"]
    subprocess.run(made, check=True, capture_output=True)  # noqa: S603
    (place / "east").rename(absent)
    with subprocess.Popen(  # noqa: S603
        [*COMMAND, "up", str(place)], stdout=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        next(line for line in up.stdout if line.startswith("ready"))
        absent.rename(place / "east")
        yield
        up.send_signal(signal.SIGINT)


def live(chromium: Browser, address: str) -> None:
    page = visit(chromium, address, "live")
    expect(page.get_by_role("alert")).to_contain_text("east", timeout=LONG)
    picture(page, "live")
    page.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        here = pathlib.Path(folder)
        with studio(here / "runs") as address:
            runs(chromium, address)
            steps(chromium, address)
            attack(chromium, address)
        with one_away(here / "clinics"), studio(here / "clinics") as address:
            live(chromium, address)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
