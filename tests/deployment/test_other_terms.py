"""Members of one name under other terms: told by the first key that differs, and left out."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fedbandits.deployment.process import folder as folders
from fedbandits.deployment.process.federation_folder import init_federation
from fedbandits.environments.linear import Linear
from fedbandits.errors import IdentityError
from fedbandits.testing.deployed import DeployedFederation, simulated, until
from tests.deployment.federations import clinics
from tests.deployment.machines import clinics_file

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)


def test_both_sides_name_the_key_and_both_values(tmp_path):
    ours = clinics()
    theirs = clinics(settings='schedule = "every(10)"\nepsilon = 1000.0\ndelta = 1e-5')
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()

    async def play():
        here = DeployedFederation(ours, tmp_path / "ours", supplies=simulated(ours, ENVIRONMENT, 7))
        there = DeployedFederation(
            theirs, tmp_path / "theirs", supplies=simulated(theirs, ENVIRONMENT, 7)
        )
        there.hub = here.hub
        await here.start("hub", "clinic-0", "clinic-1")
        await there.start("clinic-2")
        hub, stranger = here.nodes["hub"], there.nodes["clinic-2"]
        await until(lambda: {"clinic-0", "clinic-1"} <= set(hub.delivery.greeted))
        await until(lambda: "epsilon" in str(hub.status()["problems"].get("clinic-2")))
        await until(lambda: "epsilon" in str(stranger.status()["problems"].get("hub")))
        found = hub.status()["problems"]["clinic-2"], stranger.status()["problems"]["hub"]
        assert "clinic-2" not in hub.delivery.greeted
        assert not stranger.delivery.greeted
        assert set(hub.status()["problems"]) == {"clinic-2"}
        await there.stop()
        await here.stop()
        return found

    hub, stranger = asyncio.run(play())
    assert hub == (
        "OtherTermsError: clinic-2 has other terms: system.epsilon is 1000.0 there and 1.0 here"
    )
    assert "system.epsilon is 1.0 there and 1000.0 here" in stranger


def test_a_party_of_another_version_is_told_what_to_do(tmp_path, monkeypatch):
    """Not the first key in alphabetical order that this version has, and that one had not."""
    init_federation(clinics_file(tmp_path), tmp_path / "clinics", local=True)
    north = tmp_path / "clinics" / "north"
    _, request = folders.request_in(north)
    terms = msgspec.msgpack.decode(request.content)
    terms["wire"] -= 1
    del terms["facts"]["most_squares"]
    older = msgspec.structs.replace(request, content=msgspec.msgpack.encode(terms))
    monkeypatch.setattr(folders, "request_in", lambda path: (path, older))
    with pytest.raises(IdentityError) as refused:
        folders.load_party(north)
    said = str(refused.value)
    assert "north was admitted with another version of fedbandits (messages of version" in said
    assert f'earlier = ["{north / "store.db"}"] in party.toml counts what this store has' in said
    assert "most_squares" not in said
