"""Applications may send raw numbers: the party prepares them, by public facts of the terms."""

from __future__ import annotations

import asyncio
import math
import re

import msgspec
import numpy as np
import pandas as pd
import pytest

import fedbandits as fb
from fedbandits.client import DoorError
from fedbandits.errors import BoundExceededError, ConfigError, LocalProtocolError
from fedbandits.facts import ContextualFacts
from fedbandits.random import replicate_key
from fedbandits.rows import Rows
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import DeployedFederation
from tests.deployment.doors import AGENTS, InMemory, agents, opened

ROWS = """
[facts.rows]
centre = [63, 78, -0.002]
spread = [13, 18, 0.0005]
"""
RAW = [[50.0, 110.0, -0.0021], [71.5, 62.0, -0.0009], [1e300, -1e300, 0.0]]
CONTEXTS = Rows(centre=(63, 78, -0.002), spread=(13, 18, 0.0005)).contexts(np.array(RAW))


def raw_agents(models: int = 3, rows: str = ROWS):
    text = AGENTS.format(models=models, noise="simulated")
    facts = f"[facts]\nparties = 2\ndimension = 4\narms = 3\nmodels = {models}\n"
    return read_federation(re.sub(r"facts = .*\n", "", text) + facts + rows)


def asked(federation, **fields):
    """What the party decides on, when it is asked so."""
    served = InMemory(federation, "north")
    request = served.application.ASKED(**fields)
    return served.application.situation(served._party, request)


class TestTerms:
    def test_they_name_rows_only_where_they_are_used(self):
        """Or members of two versions would refuse each other, about a key that neither uses."""
        terms = agents().terms
        assert "rows" not in terms.facts
        assert terms.digest == "0ed59b9cc8d21772268f0cbe5da1b1bc"  # with messages of version 8
        assert raw_agents().terms.facts["rows"] == {
            "centre": (63.0, 78.0, -0.002), "spread": (13.0, 18.0, 0.0005),
            "norm": None, "intercept": 0.25,
        }  # fmt: skip

    def test_members_that_prepare_rows_in_two_ways_refuse_each_other(self):
        mine, theirs = raw_agents().terms, raw_agents(rows=ROWS.replace("63", "64")).terms
        assert mine.digest != theirs.digest
        assert mine.difference(theirs.content).key == "facts.rows.centre"

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (ROWS.replace(", 18", ""), "spread: given 2 numbers, but centre has 3; give both for"),
            (
                ROWS.replace("18", "0"),
                "spread: number 1 (the first is 0): given 0, allowed: a numb",
            ),
            (ROWS.replace("0.0005", "inf"), "spread"),
            (ROWS.replace("63", "nan"), "centre"),
            (ROWS + "intercept = 0", "dimension: given 4, allowed: 3, for rows makes a context of"),
            (
                ROWS.replace(", 0.0005", "").replace(", -0.002", ""),
                "dimension: given 4, allowed: 3",
            ),
            (ROWS + "norm = 0", "facts.rows.norm: given 0"),
            (ROWS + "width = 0", "facts.rows.width: unknown key"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, rows, message):
        with pytest.raises(ConfigError, match=re.escape(message)) as caught:
            raw_agents(rows=rows)
        assert "facts" in str(caught.value)


class TestRows:
    def test_they_are_those_of_a_table_with_the_same_facts(self):
        frame = pd.DataFrame(RAW[:2], columns=["a", "b", "c"]).assign(y=["n", "p"])
        world = fb.environments.table(
            frame, agents=1, features=["a", "b", "c"], target="y", classes=["n", "p"],
            centre={"a": 63, "b": 78, "c": -0.002}, spread={"a": 13, "b": 18, "c": 0.0005},
        ).world(replicate_key(0, 0))  # fmt: skip
        np.testing.assert_array_equal(world.rows, CONTEXTS[:2])

    def test_the_party_decides_on_prepared_rows(self):
        context = asked(raw_agents(), context=RAW[1])
        np.testing.assert_array_equal(context, CONTEXTS[1:2].T)
        columns = asked(raw_agents(models=1), actions=RAW)
        np.testing.assert_array_equal(columns, CONTEXTS.T)
        assert np.linalg.norm(columns.astype(float), axis=0).max() <= 1.0

    def test_without_rows_contexts_are_taken_as_they_are(self):
        context = asked(agents(models=3), context=[0.5, 0.25])
        np.testing.assert_array_equal(context, [[0.5], [0.25]])

    @pytest.mark.parametrize("context", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0], []])
    def test_another_length_is_refused_with_that_of_raw_numbers(self, context):
        with pytest.raises(LocalProtocolError, match="at least one row of 3 raw numbers"):
            asked(raw_agents(), context=context)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_what_is_not_finite_is_refused_and_not_shown(self, value):
        with pytest.raises(BoundExceededError, match=r"raw number 2 \(the first is 0\) is not fin"):
            asked(raw_agents(), context=[50.0, 70.0, value])


def test_the_door_takes_raw_numbers_and_says_how_many(tmp_path):
    async def scenario():
        async with opened(InMemory(raw_agents(), "north"), tmp_path) as (door, client):
            decision = await client.decide(context=RAW[2])
            assert decision.action in range(3)
            await client.reward(decision, 1.0)
            with pytest.raises(DoorError, match="length >= 3"):
                await client.decide(context=RAW[0][:2])
            http = client._connections()
            schemas = (await http.get(f"{door.url}/openapi.json")).json()["components"]["schemas"]
            (context,) = [s["properties"]["context"] for s in schemas.values()
                          if "context" in s.get("properties", {})]  # fmt: skip
            assert (context["minItems"], context["maxItems"]) == (3, 3)

    asyncio.run(scenario())


def test_a_party_that_goes_on_from_its_journal_prepares_them_again(tmp_path):
    """The journal has requests as they came; the record that is learned from is the context."""
    federation = raw_agents()
    supply = InMemory(federation, "north")._supply

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path,
            supplies=lambda role, place: supply(place) if role == "agent" else None,
        )  # fmt: skip
        await deployed.start("north")
        node = deployed.nodes["north"]
        application = federation.system.application(federation.plan)
        decided = await node.decide(application.ASKED(context=RAW[0]), "one")
        before = deployed.state("north").open[decided.number]
        await deployed.stop("north")
        await deployed.start("north")
        again = deployed.state("north").open[decided.number]
        await deployed.nodes["north"].reward(decided.number, application.TOLD(reward=1.0))
        await deployed.stop()
        return before, again

    for found in asyncio.run(play()):
        np.testing.assert_array_equal(found.context, CONTEXTS[0].astype(np.float64))


def test_kernels_are_compiled_ahead_with_rows_as_applications_send_them():
    from fedbandits.deployment.process.rehearsal import _Rehearsal

    federation = raw_agents()
    served = InMemory(federation, "north")
    stage = _Rehearsal(federation, served.application)
    stage.players = [served._party]
    assert stage.situation(1, 0).shape == (4, 1)


def test_facts_with_rows_are_read_again():
    facts = raw_agents().facts
    assert msgspec.convert(msgspec.to_builtins(facts), ContextualFacts) == facts
