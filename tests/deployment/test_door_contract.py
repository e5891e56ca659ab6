"""The door keeps to its own description: schemathesis makes requests from it, good and bad."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import threading
from concurrent.futures import Future
from functools import partial

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from fedbandits.client.calls import ERRORS
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.deployment.door.problems import PROBLEMS
from fedbandits.settings.federation import read_federation
from tests.deployment.doors import SAMBA, Buyer, InMemory, agents, durable

CHECKS = settings(
    max_examples=20, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
)  # fmt: skip


#: A context's norm has a bound that no schema can say.
NOT_SAID = [schemathesis.checks.positive_data_acceptance]
#: One of every kind of parties that decide.
PRESETS = ["feducb", "feducb-p2p", "fedlinucb-async", "fclub", "fclub-published", "pfcb"]


@contextlib.asynccontextmanager
async def in_memory(make):
    """A party that is there at once, and does not wait for pulls."""
    served = make()
    served.patience = 0.0
    yield served


SERVED = {
    "each": lambda _: in_memory(lambda: InMemory(agents(models=3), "north")),
    "hub": lambda _: in_memory(lambda: InMemory(agents(), "hub")),
    "owner": lambda _: in_memory(lambda: InMemory(read_federation(SAMBA), "left")),
    "customer": lambda _: in_memory(lambda: Buyer(read_federation(SAMBA), "buyer")),
    **{preset: partial(durable, preset) for preset in PRESETS},
}


@contextlib.contextmanager
def behind(make, folder):
    """The url of an open door, served by a thread of its own, and a token."""
    opened, ending = Future(), Future()

    async def serve():
        async with make(folder) as served:
            token = make_token(folder, "tests", member=served.member)
            async with Door(served, folder, DoorSettings(port=0)) as door:
                opened.set_result((door.url, token))
                await asyncio.wrap_future(ending)

    def run():
        try:
            asyncio.run(serve())
        except BaseException as error:
            opened.set_exception(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield opened.result(60)
    finally:
        ending.set_result(None)
        thread.join(60)


@pytest.mark.parametrize("kind", SERVED)
def test_no_answer_is_a_fault_or_not_described(kind, tmp_path):
    with behind(SERVED[kind], tmp_path) as (url, token):
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        headers = {"Authorization": f"Bearer {token}"}
        made = []
        for operation in schema.get_all_operations():
            keep_to_it(operation.ok(), headers, made)
        if kind in PRESETS:
            assert made, "nothing that is described has led to a decision"


def keep_to_it(operation, headers, made):
    """Ask for what is described, and for what is not."""
    ask(operation, headers, made, schemathesis.GenerationMode.POSITIVE)
    if operation.body or operation.query or operation.path_parameters:
        ask(operation, headers, made, schemathesis.GenerationMode.NEGATIVE)


def ask(operation, headers, made, mode):
    """Ask for many things; good rewards are of a decision that was made."""
    good = mode is schemathesis.GenerationMode.POSITIVE

    @CHECKS
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case):
        if good and made and operation.path == "/v1/rewards":
            case.body["decision_id"] = made[0]
        # A first decision may compile its kernels.
        answer = case.call_and_validate(headers=headers, timeout=300, excluded_checks=NOT_SAID)
        if answer.status_code == 200 and operation.path == "/v1/decisions":
            made.append(answer.json()["decision_id"])

    call()


def test_every_problem_has_an_error_at_the_client():
    assert set(ERRORS) == {problem.name for problem in PROBLEMS}


def test_a_client_that_is_made_from_the_description_works(tmp_path):
    """In another language, with nothing but the document: it knows the key, and the server."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here")
    program = pathlib.Path(__file__).with_name("generated.mjs")
    with behind(SERVED["feducb"], tmp_path) as (url, token):
        document = httpx.get(f"{url}/openapi.json", trust_env=False).json()
        count = document["components"]["schemas"]["DecisionAsked"]["properties"]["actions"]
        row = count["anyOf"][0]["items"] if "anyOf" in count else count["items"]
        actions = [[0.1] * row["minItems"]] * 3
        ran = subprocess.run(
            [node, str(program), f"{url}/openapi.json", token],
            env={**os.environ, "ACTIONS": json.dumps(actions)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["first"] == told["again"]
    assert told["other"]["decision_id"] != told["first"]["decision_id"]
    assert (told["key"], told["told"], told["ready"]) == ("one-request", 204, True)
    assert told["twice"].endswith(":duplicate")
    assert told["decisions"] == 2
