"""The page shows parties as they are, and the command that mends what is wrong."""

from __future__ import annotations

import pathlib

import pytest

from fedbandits.deployment.process.federation_folder import init_federation
from fedbandits.deployment.process.folder import load_party
from fedbandits.deployment.process.local_doors import LocalDoor, PartyReport
from fedbandits.studio.live import _trouble, live
from tests.deployment.machines import clinics_file
from tests.privacy.ledgers import EPSILON, ledger_at, single


@pytest.fixture
def clinics(tmp_path: pathlib.Path) -> pathlib.Path:
    """Make the folders of a federation whose parties do not run."""
    made = tmp_path / "clinics"
    init_federation(clinics_file(tmp_path), made, local=True)
    return made


def test_a_folder_without_parties_has_none(tmp_path: pathlib.Path) -> None:
    assert live(str(tmp_path)) == {"federation": None, "parties": [], "worst": None}


def test_who_does_not_run_is_shown_with_the_command_that_starts_it(clinics: pathlib.Path) -> None:
    found = live(str(clinics))
    assert len(found["parties"]) > 1
    for party in found["parties"]:
        assert not party["running"]
        assert party["problem"] == "does not run"
        assert party["remedy"] == f"fedbandits party run {clinics / party['name']}"
    assert found["worst"]["remedy"].startswith("fedbandits party run ")


def test_nobody_is_said_to_wait_for_who_is_no_peer(clinics: pathlib.Path) -> None:
    found = {each["name"]: each for each in live(str(clinics))["parties"]}
    peers = {name: [peer["name"] for peer in each["peers"]] for name, each in found.items()}
    agents = [name for name, each in found.items() if each["role"] == "agent"]
    (hub,) = found.keys() - set(agents)
    assert peers == {hub: agents} | {name: [hub] for name in agents}


def test_the_worst_trouble_comes_first(clinics: pathlib.Path) -> None:
    name = live(str(clinics))["parties"][0]["name"]
    door = LocalDoor(load_party(clinics / name))
    usual = {"connected": True, "ready": True, "problems": {}, "waits_for": []}
    statuses = (
        usual,
        usual | {"waits_for": ["south"]},
        usual | {"problems": {"clock": "runs backwards"}},
        usual | {"exhausted": True},
        usual | {"connected": False},
        usual | {"problems": {"store": "the disk is full"}},
    )
    found = [
        _trouble(door, PartyReport(party=name, role="agent", running=True, status=status))
        for status in statuses
    ]
    weights = [weight for weight, _, _ in found]
    assert weights == sorted(weights)
    assert found[0] == (0, None, None)
    assert all(problem for _, problem, _ in found[1:])


def test_who_does_not_run_has_its_account(clinics: pathlib.Path) -> None:
    name = live(str(clinics))["parties"][0]["name"]
    store = pathlib.Path(load_party(clinics / name).store)
    with ledger_at(store, name) as ledger, ledger.begin() as connection:
        ledger.charge(connection, name, "releases", 1, single(0.1))
    (party,) = (each for each in live(str(clinics))["parties"] if each["name"] == name)
    assert party["releases"] == 1
    assert party["epsilon"] == EPSILON
    assert 0.0 < party["epsilon_spent"] < EPSILON
    assert party["epsilon_left"] < EPSILON
    assert party["since"] is not None
    store.write_bytes(b"no ledger")
    (party,) = (each for each in live(str(clinics))["parties"] if each["name"] == name)
    assert party["problem"].startswith("does not run; its account cannot be read: ")
