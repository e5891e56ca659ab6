"""The door keeps to its own description: schemathesis makes requests from it, good and bad."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from fedbandits.client.problems import ERRORS
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.deployment.door.problems import PROBLEMS
from fedbandits.settings.federation import read_federation
from tests.deployment.doors import SAMBA, InMemory, agents

CHECKS = settings(
    max_examples=20, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
)  # fmt: skip


def impatient():
    owner = InMemory(read_federation(SAMBA), "left")
    owner.patience = 0.0
    return owner


#: A context's norm has a bound that no schema can say.
NOT_SAID = [schemathesis.checks.positive_data_acceptance]
SERVED = {
    "north": lambda: InMemory(agents(), "north"),
    "each": lambda: InMemory(agents(models=3), "north"),
    "hub": lambda: InMemory(agents(), "hub"),
    "owner": impatient,
    "customer": lambda: InMemory(read_federation(SAMBA), "buyer"),
}


@contextlib.contextmanager
def behind(served, folder):
    """The url of an open door, served by a thread of its own, and a token."""
    token, opened, ending = make_token(folder, "tests", member=served.member), Future(), Future()

    async def serve():
        async with Door(served, folder, DoorSettings(port=0)) as door:
            opened.set_result(door.url)
            await asyncio.wrap_future(ending)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        yield opened.result(60), token
    finally:
        ending.set_result(None)
        thread.join(60)


@pytest.mark.parametrize("kind", SERVED)
def test_no_answer_is_a_fault_or_not_described(kind, tmp_path):
    with behind(SERVED[kind](), tmp_path) as (url, token):
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        headers = {"Authorization": f"Bearer {token}"}
        for operation in schema.get_all_operations():
            keep_to_it(operation.ok(), headers)


def keep_to_it(operation, headers):
    """Ask for what is described, and for what is not."""
    modes = [schemathesis.GenerationMode.POSITIVE]
    if operation.body or operation.query or operation.path_parameters:
        modes.append(schemathesis.GenerationMode.NEGATIVE)
    for mode in modes:

        @CHECKS
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            case.call_and_validate(headers=headers, excluded_checks=NOT_SAID)

        ask()


def test_every_problem_has_an_error_at_the_client():
    assert set(ERRORS) == {problem.name for problem in PROBLEMS}
