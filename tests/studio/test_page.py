"""The page in a real browser: every screen, four people's paths, and what can go wrong."""

from __future__ import annotations

import contextlib
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fedbandits as fb
from fedbandits.deployment.process.examples import example
from fedbandits.deployment.process.federation_folder import init_federation
from tests.studio.in_browser import CHROMIUM, Expected, Server, Window, studio, sync_api
from tests.studio.texts import SMALL

expect = Expected
SCREENS = {
    "home": "Does learning together pay",
    "setup": "Who is protected",
    "run/small": "What each system promises",
    "compare/small/small-2": "What differs",
    "step": "What a party holds",
    "attack": "Which world is it?",
    "live": "No parties in this folder",
    "present/run/small": "Leave (Esc)",
    "present/step": "Pseudocode",
}
VISITS = "hospital,age,size,diagnosis\n" + "".join(
    f"h{i % 5},{20 + i % 60},{i % 7},{'m' if i * 7 % 3 else 'b'}\n" for i in range(300)
)
#: No renderers to spare, and nothing is drawn by a graphics card that is not there.
FRUGAL = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-features=SpareRendererForSitePerProcess",
    "--renderer-process-limit=1",
]
#: Milliseconds that the page waits at most before it tries to reach its server again.
LONGEST_PAUSE = 4_000
Opener = Callable[..., Window]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio whose folder has two runs, of which the second has less ε."""
    place = tmp_path_factory.mktemp("runs")
    for name, epsilon in (("small", "1.0"), ("small-2", "0.3")):
        file = tmp_path_factory.mktemp("files") / f"{name}.toml"
        file.write_text(SMALL.replace("epsilon = 1.0", f"epsilon = {epsilon}"), encoding="utf-8")
        fb.run(file, out=place / name)
    with studio(place) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FRUGAL)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, server: Server) -> Iterator[Opener]:
    """Open windows, each with a context of its own; none may have said anything on its console."""
    with contextlib.ExitStack() as contexts:
        windows: list[Window] = []

        def opening(screen: str = "home", at: Server = server, **how: Any) -> Window:
            context = contexts.enter_context(browser.new_context(reduced_motion="reduce", **how))
            windows.append(Window(context, at, screen))
            return windows[-1]

        yield opening
        assert [line for window in windows for line in window.said] == []


def test_the_officer_learns_what_is_promised_and_whether_it_pays(opened: Opener) -> None:
    window = opened("setup")
    page = window.page
    page.get_by_label("one visit").check()
    table = {"name": "visits.csv", "mimeType": "text/csv", "buffer": VISITS.encode()}
    page.get_by_label("A table of your own").set_input_files(table)
    window.sees("300 rows")
    expect(page.get_by_label("Kind of world")).to_have_value("table")
    # The odds that ε allows are there before anything runs.
    odds = page.get_by_role("row", name=re.compile("feducb-secure 1 \\(at worst "))
    expect(odds).to_contain_text("× 2.72")
    page.get_by_label("ε of every private system").fill("-0.5")
    expect(page.get_by_role("row", name=re.compile("feducb-secure 0.32"))).to_contain_text("× 1.38")
    expect(window.toml).to_have_value(re.compile(r"epsilon = 0.32\b.*epsilon = 0.32", re.DOTALL))
    page.get_by_label("replicates").fill("3")
    page.get_by_label("Also look for the best").uncheck()
    expect(window.toml).to_have_value(re.compile("replicates = 3"))
    window.press("Run", exact=True)
    window.finished()
    window.sees(page.locator(".verdict", has_text="earning"))
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert len(pages) == 1


def test_the_researcher_compares_and_takes_everything_along(
    opened: Opener, tmp_path: pathlib.Path
) -> None:
    window = opened("home", accept_downloads=True)
    page = window.page
    page.get_by_label("Find a preset").fill("dislinucb")
    window.press("dislinucb", exact=True)
    expect(window.toml).to_have_value(re.compile("dislinucb"))
    window.toml.fill(SMALL)
    window.press("A variant of feducb", exact=True)
    expect(window.toml).to_have_value(re.compile('label = "feducb 2"'))
    window.open("run/small")
    difference = page.get_by_role("row", name=re.compile("^feducb")).get_by_role("cell").nth(4)
    page.get_by_label("Differences, replicate by replicate").select_option("linucb-alone")
    expect(difference).to_contain_text("±")
    window.open("home")
    page.get_by_label("Compare small", exact=True).check()
    page.get_by_label("Compare small-2", exact=True).check()
    page.get_by_role("link", name="Compare these two").click()
    window.sees("systems[feducb].epsilon")
    row = page.get_by_role("row", name=re.compile("^feducb .* 4 1 → 0.3$"))
    expect(row.get_by_role("cell")).to_contain_text(["±", "±", "±", "4", "1 → 0.3"])
    expect(page.get_by_role("columnheader", name="small-2 − small, regret")).to_be_visible()
    assert page.locator(".settings tr", has_text=re.compile("replicates|rounds")).count() == 0
    window.open("run/small")
    for button, beginning in (("SVG", "<?xml"), ("CSV", "system"), ("TOML", "name")):
        with page.expect_download() as waited:
            window.press(button, exact=True)
        waited.value.save_as(tmp_path / button)
        assert beginning in (tmp_path / button).read_text(encoding="utf-8")[:400]


def test_the_student_sees_who_reads_what(opened: Opener) -> None:
    window = opened("step")
    page = window.page
    page.locator(".controls select").select_option("ScoreList")
    window.sees(page.locator(".sentence", has_text="comp"))
    window.sees(page.get_by_role("button", name="Next pull"))
    page.get_by_role("button", name=re.compile(r"\bcomp\b")).click()
    expect(page.get_by_label("Look at")).to_have_value("comp")
    expect(page.locator(".reads .viewed")).to_contain_text("comp")
    expect(page.locator(".code .lit").first).to_be_visible()
    cell = page.get_by_role("row", name=re.compile("^arm pulled")).get_by_role("cell").nth(2)
    expect(cell).to_have_text("permuted")
    page.get_by_label("permutation").uncheck()
    expect(cell).to_have_text(re.compile("^clear"))
    window.sees("Attack on this recording")
    page.get_by_label("System").select_option("feducb")
    window.sees(page.get_by_role("button", name="Next reward"))
    page.get_by_role("link", name="Attack it").click()
    page.get_by_label("Guesses").fill("200")
    window.press("Attack", exact=True)
    window.sees(re.compile("ε is at least [0-9]"), 120_000)
    window.sees(re.compile("of 200 guesses were right"))


def test_the_operator_finds_what_is_wrong_and_the_command(
    opened: Opener, tmp_path: pathlib.Path
) -> None:
    place = tmp_path / "clinics"
    (tmp_path / "clinics.toml").write_text(example("feducb"), encoding="utf-8")
    init_federation(tmp_path / "clinics.toml", place, local=True)
    with studio(place) as watched:
        window = opened("live", at=watched, permissions=["clipboard-read", "clipboard-write"])
        page = window.page
        red = page.get_by_role("alert")
        expect(red).to_contain_text("does not run")
        name = red.get_by_role("link").inner_text()
        red.get_by_role("link").click()
        party = page.locator(f"#party-{name}")
        expect(party).to_be_in_viewport()
        expect(party).to_contain_text("not running")
        window.press("Copy the command")
        window.sees("Copied")
        assert "fedbandits" in page.evaluate("navigator.clipboard.readText()")
        expect(page.locator(".node")).to_have_count(4)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_screen_opens_and_fits(opened: Opener, scheme: str, width: int) -> None:
    window = opened(color_scheme=scheme, viewport={"width": width, "height": 800})
    for screen, words in SCREENS.items():
        window.open(screen)
        window.sees(words)
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width, screen


def test_a_wrong_value_is_said_at_its_field(opened: Opener) -> None:
    window = opened("setup")
    page = window.page
    expect(window.toml).to_have_value(re.compile("preset"))
    window.toml.fill(SMALL)
    expect(page.get_by_role("heading", name="linucb-alone")).to_be_visible()
    for label, wrong, right, words in (
        ("replicates", "many", "5", "allowed: a whole number"),
        ("rounds", "-5", "70", "allowed: a whole number"),
        ("seed", "1.5", "6", "allowed: a whole number"),
        ("ε", "0", "2", "allowed: a number > 0"),
    ):
        field = page.get_by_role("textbox", name=label, exact=True).first
        field.fill(wrong)
        expect(page.locator(".field .problem")).to_contain_text(words)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
        field.fill(right)
        expect(page.locator(".problem")).to_have_count(0)
        expect(window.toml).to_have_value(re.compile(rf"= {right}(\.0)?\n"))


def test_a_wrong_value_is_found_from_the_button_that_it_stops(opened: Opener) -> None:
    window = opened("setup")
    page = window.page
    expect(window.toml).to_have_value(re.compile("preset"))
    page.get_by_label("rounds").fill("-5")
    window.sees("1 value is wrong:")
    page.get_by_role("region", name="Run it").get_by_role("button", name="rounds").click()
    expect(page.get_by_label("rounds")).to_be_focused()
    # Words of its help do not stand between a field and the next one, but are reached from it.
    page.keyboard.press("F1")
    expect(page.get_by_role("tooltip")).to_contain_text("rounds")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_label("replicates")).to_be_focused()


def test_a_run_without_a_result_contradicts_nothing(opened: Opener) -> None:
    window = opened("setup")
    expect(window.toml).to_have_value(re.compile("preset"))
    long = SMALL.replace("rounds = 40", "rounds = 2_000_000").replace("= 1.0", "= 0.7")
    window.toml.fill(long.replace('"small"', '"endless"'))
    expect(window.page.get_by_label("rounds")).to_have_value("2000000")
    window.press("Run", exact=True)
    # The look for the best alone has a progress of its own.
    window.sees(re.compile(r"^[1-9]\d*%.*looking for the best that one can do alone"))
    window.press("Stop", exact=True)
    window.sees("Stopping…")
    window.sees("Stopped before any replicate was finished. Press Resume to go on.")
    for words in ("No curve yet", "SVG", "NetCDF", "--resume"):
        expect(window.page.locator("main")).not_to_contain_text(words)
    window.open("home")
    row = window.page.locator(".run", has=window.page.get_by_role("link", name="endless"))
    expect(row).to_contain_text("ε 0.7")
    expect(row).not_to_contain_text("∞")


def test_the_folder_is_written_from_left_to_right(opened: Opener) -> None:
    page = opened("home").page
    expect(page.locator(".folder bdi")).to_have_text(re.compile("^/"))
    first, last = page.evaluate(
        """() => { const text = document.querySelector(".folder bdi").firstChild;
        const left = (at) => { const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            return range.getBoundingClientRect().left; };
        return [left(0), left(text.length - 1)]; }"""
    )
    assert first < last


def test_tables_of_a_phone_have_heads_of_few_lines_and_say_that_they_go_on(
    opened: Opener,
) -> None:
    window = opened("run/small", viewport={"width": 390, "height": 844})
    page = window.page
    window.sees("What each system promises")
    assert page.locator(".results thead").bounding_box()["height"] < 60
    caption, table = (page.locator(each).first.bounding_box() for each in (".caption", ".wide"))
    assert caption["width"] <= table["width"]
    window.open("compare/small/small-2")
    window.sees("What differs")
    menu = {box["y"] for box in (each.bounding_box() for each in page.locator("nav a").all())}
    assert len(menu) == 1
    assert page.locator(".results thead").bounding_box()["height"] < 90


def test_what_is_far_above_all_others_leaves_the_picture_and_is_named(
    opened: Opener, server: Server
) -> None:
    window = opened("run/small")
    page = window.page
    found = page.evaluate(
        """async () => { const { farAbove } = await import("/chart.js");
        const curve = (system, last) => ({ system, mean: [0, last, null], half: null });
        const cut = (...ends) => farAbove(ends.map((end, i) => curve(String(i), end)));
        const all = [cut(1, 2, 5), cut(1, 5), cut(1, 2, 7), cut(0, 0, 7)];
        return all.map((one) => one && [one.far.system, one.high]); }"""
    )
    assert found == [None, None, ["2", 2.5], None]
    name = page.get_by_role("button", name="linucb-alone", exact=True)
    window.sees("Click a name to hide it.")
    name.click()
    expect(name).to_have_attribute("aria-pressed", "false")


def test_a_text_that_is_no_toml_is_refused_and_mended(opened: Opener) -> None:
    window = opened("setup")
    expect(window.toml).to_have_value(re.compile("preset"))
    window.toml.fill("rounds = = 3")
    expect(window.page.locator("#toml-wrong")).to_contain_text("TOML")
    window.toml.fill(SMALL.replace("dim = 3", "dim = 3\nagnets = 4"))
    expect(window.page.locator("#toml-wrong")).to_contain_text("agnets")
    window.toml.fill(SMALL)
    expect(window.page.locator(".problem")).to_have_count(0)


def test_a_file_that_is_no_table_is_refused(opened: Opener) -> None:
    window = opened("setup")
    picture = {"name": "no.csv", "mimeType": "text/csv", "buffer": bytes(range(256)) * 8}
    window.page.get_by_label("A table of your own").set_input_files(picture)
    expect(window.page.locator(".drop .problem")).to_contain_text("no.csv")


def test_a_column_that_no_name_tells_is_asked_for(opened: Opener) -> None:
    window = opened("setup")
    page = window.page
    odd = VISITS.replace("diagnosis", "dx").replace("h0,20,0", "h0,unclear,0")
    table = {"name": "odd.csv", "mimeType": "text/csv", "buffer": odd.encode()}
    page.get_by_label("A table of your own").set_input_files(table)
    asked = page.get_by_label("Which column of odd.csv holds the class to name?")
    expect(asked.get_by_role("option")).to_have_text(["choose a column", "size", "dx"])
    expect(page.locator(".drop")).not_to_contain_text("--")
    asked.select_option("dx")
    window.sees("300 rows; features size")
    expect(window.toml).to_have_value(re.compile('target = "dx"'))
    # A column with an unknown mark is left out; the mark is asked for, too.
    expect(page.locator(".drop")).not_to_contain_text("--")
    page.get_by_label("Texts that stand for missing values").fill("unclear")
    page.get_by_label("Texts that stand for missing values").press("Enter")
    window.sees("300 rows; features age, size")
    expect(window.toml).to_have_value(re.compile('missing_marks = \\["unclear"\\]'))
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_a_run_is_stopped_resumed_and_removed_while_another_browser_looks(opened: Opener) -> None:
    window, other = opened("setup"), opened("home")
    long = SMALL.replace("rounds = 40", "rounds = 2_000_000").replace('"small"', '"long"')
    expect(window.toml).to_have_value(re.compile("preset"))
    window.toml.fill(long)
    expect(window.page.get_by_label("rounds")).to_have_value("2000000")
    window.page.get_by_label("Also look for the best").uncheck()
    window.press("Run", exact=True)
    status = window.page.locator(".titled .status")
    expect(status).to_have_text("running")
    other.open("run/long")
    expect(other.page.locator(".titled .status")).to_have_text("running")
    window.press("Stop", exact=True)
    expect(status).to_have_text("interrupted")
    expect(other.page.locator(".titled .status")).to_have_text("interrupted")
    for button, now in (("Resume", "running"), ("Stop", "interrupted")):
        window.press(button, exact=True)
        expect(status).to_have_text(now)
    other.open("home")
    row = other.page.get_by_role("listitem").filter(has=other.page.get_by_role("link", name="long"))
    row.get_by_role("button", name="Remove").click()
    row.get_by_role("button", name="Remove for good").click()
    expect(row).to_have_count(0)


def test_fifty_parties_are_folded_into_a_grid(opened: Opener) -> None:
    window = opened("step")
    page = window.page
    page.get_by_label("Rounds").fill("60")
    page.get_by_label("Parties", exact=True).fill("50")
    page.get_by_label("Parties", exact=True).press("Enter")
    expect(page.locator(".graph rect")).to_have_count(50)
    page.locator(".graph rect").nth(30).click()
    expect(page.get_by_label("Look at")).to_have_value(re.compile("owner-30"))


def test_the_keyboard_alone_is_enough(opened: Opener) -> None:
    window = opened("home")
    page = window.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    window.open("step")
    window.sees("1 of")
    page.keyboard.press("ArrowRight")
    window.sees("2 of")
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    for key in ("Home", "n"):
        page.keyboard.press(key)
    expect(page.locator(".sentence")).to_contain_text("pulls")
    window.open("run/small")
    chart = page.get_by_role("slider")
    chart.focus()
    page.keyboard.press("Home")
    expect(chart).to_have_attribute("aria-valuetext", re.compile("^1: feducb"))
    term = page.get_by_role("button", name="95% interval").first
    term.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tooltip")).to_contain_text("replicates")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_be_hidden()
    expect(term).to_be_focused()


def test_a_server_that_is_away_is_said_in_one_line(opened: Opener, tmp_path: pathlib.Path) -> None:
    with studio(tmp_path) as first:
        window = opened("home", at=first)
        window.page.clock.install()
        window.page.reload()
        window.sees("No runs yet")
        window.sees(window.page.get_by_role("button", name="quickstart", exact=True))
    window.press("quickstart", exact=True)
    banner = window.page.locator(".banner")
    expect(banner).to_have_text(re.compile("connection lost.*still running in your terminal"))
    with studio(tmp_path, first.port) as second:
        window.page.clock.fast_forward(LONGEST_PAUSE)
        expect(banner).to_contain_text("Open the address that it printed last")
        window.page.goto(second.address)
        window.page.reload()
        expect(window.page.locator(".banner")).to_have_count(0)
    window.said[:] = [line for line in window.said if "ERR_" not in line]
