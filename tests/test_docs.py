"""The documentation's code runs."""

from __future__ import annotations

import pathlib
import re
import tomllib

import pytest

import fedbandits as fb
from fedbandits.cli.help import ENDINGS
from fedbandits.deployment.door.metrics import _PRIVACY, _STATUS, _SUMS
from fedbandits.deployment.door.problems import PROBLEMS
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.process.examples import example
from fedbandits.deployment.process.own_settings import LogSettings, PartySettings, Simulated
from fedbandits.deployment.storage.store import METADATA
from fedbandits.facts import (
    ArmFacts,
    ClusteredFacts,
    ContextualFacts,
    ProcurementFacts,
)
from fedbandits.settings.experiment import environment_of
from fedbandits.settings.federation import load_federation, read_federation
from fedbandits.settings.federation_file import FederationFile, Live, Rewards, Transport
from fedbandits.settings.reference.own_data import own_data_template

ROOT = pathlib.Path(__file__).parents[1]


def code_blocks(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_example_of_parties_works():
    names: dict[str, object] = {}
    exec(code_blocks("docs/parties.md")[0].replace("1000", "50"), names)  # noqa: S102
    assert names["run"].done == 50


def test_the_example_of_a_sweep_works():
    names: dict[str, object] = {}
    exec(code_blocks("docs/sweeps.md")[0].replace("500", "30"), names)  # noqa: S102
    assert names["result"].sizes["agents"] == 2


def test_the_example_of_a_ledger_works(tmp_path, monkeypatch):
    """Twice in the same place: the second time is a restart, with nothing left to send."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for sent in (3, 0):
        exec("\n".join(code_blocks("docs/ledger.md")), names)  # noqa: S102
        assert len(names["sent"]) == sent
        assert names["statement"].charges == 3
        assert names["statement"].left_mu < 2e-3  # calibration leaves room for rounding


@pytest.mark.parametrize(
    "name", ["quickstart", "linear", "movielens", "samba", "paper-scale", "shops"]
)
def test_examples_are_valid_configurations(name):
    experiment = fb.load(ROOT / "examples" / f"{name}.toml")
    assert experiment.name == name


@pytest.mark.parametrize("name", ["clinics", "samba", "shops"])
def test_examples_of_federations_are_valid(name):
    federation = load_federation(ROOT / "examples" / "federation" / name / "federation.toml")
    assert federation.plan is not None
    assert federation.noise == "secure"


def test_tests_that_pages_name_are_there():
    named = re.compile(r"`((?:\w+/)*test_\w+\.py)::(\w+)`")
    for page in ROOT.glob("docs/*.md"):
        for file, name in named.findall(page.read_text(encoding="utf-8")):
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert re.search(rf"(?:def|class) {name}\b", text), f"{page.name}: {file}::{name}"


def test_every_exit_code_is_in_the_docs():
    page = (ROOT / "docs" / "federation-operate.md").read_text(encoding="utf-8")
    for ending in ENDINGS:
        assert f"| {ending.code} |" in page


def named_in(page, names):
    """Those names that a page has not, in code."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    return sorted(set(names) - words)


def test_the_reference_has_every_key_of_a_federation_and_a_party():
    kinds = (
        FederationFile, Live, Rewards, Transport, PartySettings, DoorSettings, LogSettings,
        Simulated, ContextualFacts, ArmFacts, ProcurementFacts, ClusteredFacts,
    )  # fmt: skip
    keys = [key for kind in kinds for key in kind.__struct_fields__]
    tables = {"system", "facts", "members", "clock", "rewards", "transport", "own", "door", "log"}
    assert set(named_in("federation-reference.md", keys)) <= {*tables, "simulated"}
    text = (ROOT / "docs" / "federation-reference.md").read_text(encoding="utf-8")
    for table in (*tables, "simulated"):
        assert f"[{table}]" in text


def test_the_reference_has_every_table_of_a_store():
    assert named_in("federation-reference.md", METADATA.tables) == []


@pytest.mark.parametrize(
    "preset",
    [
        "feducb", "feducb-secure", "feducb-p2p", "fedlinucb-async", "fclub", "fclub-published",
        "pfcb", "samba-ucb", "samba-silent-ucb",
    ],
)  # fmt: skip
def test_the_reference_has_every_message(preset):
    table = read_federation(example(preset)).roles.table
    names = {kind.__name__ for kind in table}
    assert named_in("federation-reference.md", names) == []


def test_operating_has_every_number_and_every_problem():
    numbers = [f"_{name}" for name in (*_STATUS, *_SUMS, *_PRIVACY)]
    text = (ROOT / "docs" / "federation-operate.md").read_text(encoding="utf-8")
    assert [name for name in numbers if name not in text] == []
    problems = {problem.name for problem in PROBLEMS}
    text = (ROOT / "docs" / "federation-integrate.md").read_text(encoding="utf-8")
    assert {name for name in problems if f"`{name}`" not in text} == set()


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"),
                 *ROOT.glob("examples/**/*.md")]:  # fmt: skip
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_examples_of_own_data_work(tmp_path, monkeypatch):
    """And the file that the tutorial makes is told of as the page says."""
    monkeypatch.chdir(tmp_path)
    for block in code_blocks("docs/your-data.md"):
        exec(block, {})  # noqa: S102
    page = (ROOT / "docs" / "your-data.md").read_text(encoding="utf-8")
    written = own_data_template("visits.csv", "mine.toml").text
    told = [line for line in written.splitlines() if line.startswith("#   ")]
    assert "\n".join(told) in page
    stated = tomllib.loads(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    environment_of(stated["environment"]).prepare()


def place(heading):
    """The name under which a code host links to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def places(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {place(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_links_to_a_heading_find_it():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"),
                 *ROOT.glob("examples/**/*.md")]:  # fmt: skip
        text = page.read_text(encoding="utf-8")
        for target, heading in re.findall(r"\]\(([^)#:\s]*\.md|)#([^)]*)\)", text):
            other = page.parent / target if target else page
            assert heading in places(other), f"{page.name} links to {target}#{heading}"
