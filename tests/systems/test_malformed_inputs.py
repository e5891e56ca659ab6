"""Every party refuses malformed situations, persons and outcomes by name, and has not changed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Classification, Clustered, Linear
from fedbandits.environments.clustered import Arrival
from fedbandits.environments.open_world import Visit
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.events import Decision
from fedbandits.settings.experiment import system
from fedbandits.systems import registry
from fedbandits.systems.agents.linear_agent import Offer
from fedbandits.testing.replicates import federate
from tests.systems.private_learners import PrivateLinUCB

LINEAR = Linear(agents=3, dim=2, arms=2)
WINE = Classification(agents=3, dataset="wine", components=2)
CLUSTERED = Clustered(users=6, clusters=2, servers=3, dim=2, items=4)
GOOD = np.full((2, 2), 0.2, np.float32)
LINEAR_AGENTS = ["linucb-alone", "feducb", "feducb-p2p", "fedlinucb-async", "private-lin-ucb"]
SERVERS = ["fclub", "fclub-published"]


@pytest.fixture(autouse=True, scope="module")
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_registered", {})
        fb.register(PrivateLinUCB)
        yield


def party_of(preset, world, **parts):
    entry = fb.system(preset, **parts) if preset == "private-lin-ucb" else system(preset, **parts)
    role = "server" if world is CLUSTERED else "agent"
    return federate(entry.config, world, 60, 1, 0).of(role)[0]


def is_refused(party, call, *errors):
    before = party.dump()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors or LocalProtocolError, match=party.name):
            call()
    assert party.dump() == before


SITUATIONS = {
    "nothing": None,
    "text": "0.2",
    "rows": GOOD.tolist(),
    "objects": np.full((2, 2), None),
    "numbers as objects": GOOD.astype(object),
    "texts": GOOD.astype(str),
    "bytes": GOOD.astype(bytes),
    "complex numbers": GOOD + 1j,
    "times": GOOD.astype("m8[s]"),
    "a memory": memoryview(GOOD),
}


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("preset", LINEAR_AGENTS)
def test_a_decision_set_must_be_an_array_of_real_numbers(preset, name):
    agent = party_of(preset, LINEAR)
    is_refused(agent, lambda: agent.decide(SITUATIONS[name]))


ARMS = {
    "nothing": None, "a number": 1, "no arm": [], "text": "01", "texts": ["0"], "halves": [0.5],
    "an arm twice": [1, np.int64(1)], "too large": [3], "negative": np.array([-1]),
    "truth": [True], "truths": np.array([True]), "rows": np.array([[0, 1]]), "sets": [[0], [1]],
}  # fmt: skip


@pytest.mark.parametrize("name", ARMS)
def test_available_arms_must_be_different_integers(name):
    agent = party_of("feducb", WINE)
    context = np.full((3, 1), 0.2, np.float32)
    is_refused(agent, lambda: agent.decide(Offer(context, ARMS[name])))


@pytest.mark.parametrize("arms", [np.array([2, 0]), [np.int64(2), np.int32(0)], (2, 0)])
def test_available_arms_may_be_integers_of_numpy(arms):
    agent = party_of("feducb", WINE)
    decision = agent.decide(Offer(np.full((3, 1), 0.2, np.float32), arms))
    assert type(decision.action) is int
    assert decision.action in (0, 2)
    agent.observe(decision, 0.5)
    agent.load(agent.dump())


@pytest.mark.parametrize("offered", [[0, 2], [0, 1, 2]])
def test_ties_are_drawn_uniformly_over_available_arms(offered):
    agent = party_of("linucb-alone", WINE)  # before the first reward all arms tie
    offer = Offer(np.full((3, 1), 0.2, np.float32), offered)
    chosen = [agent.decide(offer).action for _ in range(600)]
    counts = np.bincount(chosen, minlength=3)[offered] / 600
    np.testing.assert_allclose(counts, 1.0 / len(offered), atol=0.07)


PERSONS = {
    "a number": 7, "bytes": b"Ann", "nobody": None, "a list": ["Ann"], "half": "\ud800",
    "an array": np.ones(2),
}  # fmt: skip


@pytest.mark.parametrize("name", PERSONS)
@pytest.mark.parametrize("preset", ["feducb", "feducb-p2p"])
def test_a_person_must_be_a_text(preset, name):
    agent = party_of(preset, WINE, unit="person", records_per_person=2)
    context = np.full((3, 1), 0.2, np.float32)
    is_refused(agent, lambda: agent.decide(Visit(PERSONS[name], context)))
    agent.decide(Visit("Ann", context))


ITEMS = np.full((2, 4), 0.2, np.float32)
ARRIVALS = {
    "nothing": lambda user: None,
    "items alone": lambda user: ITEMS,
    "too short": lambda user: (1, user),
    "no round": lambda user: Arrival(None, user, ITEMS),
    "a round as text": lambda user: Arrival("1", user, ITEMS),
    "half a round": lambda user: Arrival(1.5, user, ITEMS),
    "no user": lambda user: Arrival(1, None, ITEMS),
    "a user as text": lambda user: Arrival(1, str(user), ITEMS),
    "users": lambda user: Arrival(1, np.array([user, user]), ITEMS),
    "no items": lambda user: Arrival(1, user, None),
    "rows": lambda user: Arrival(1, user, ITEMS.tolist()),
    "objects": lambda user: Arrival(1, user, ITEMS.astype(object)),
    "complex numbers": lambda user: Arrival(1, user, ITEMS + 1j),
}


@pytest.mark.parametrize("name", ARRIVALS)
@pytest.mark.parametrize("preset", SERVERS)
def test_an_arrival_has_integers_and_an_array(preset, name):
    server = party_of(preset, CLUSTERED)
    is_refused(server, lambda: server.decide(ARRIVALS[name](int(server.users[0]))))


@pytest.mark.parametrize("preset", SERVERS)
def test_an_arrival_may_have_integers_of_numpy(preset):
    server = party_of(preset, CLUSTERED)
    server.observe(server.decide(Arrival(np.int64(1), server.users[0], ITEMS)), 0.5)
    server.load(server.dump())


OUTCOMES = {
    "nothing": None, "text": "good", "a complex number": 0.5 + 1j,
    "a complex number of numpy": np.complex128(0.5 + 1j), "a list": [0.5],
    "an array": np.array([0.5, 0.5]), "objects": np.full(2, None),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("preset", [*LINEAR_AGENTS, *SERVERS])
def test_an_outcome_must_be_a_real_number(preset, name):
    party = party_of(preset, CLUSTERED if preset in SERVERS else LINEAR)
    situation = Arrival(1, int(party.users[0]), ITEMS) if preset in SERVERS else GOOD
    decision = party.decide(situation)
    is_refused(
        party, lambda: party.observe(decision, OUTCOMES[name]),
        LocalProtocolError, BoundExceededError,
    )  # fmt: skip


@pytest.mark.parametrize("preset", [*LINEAR_AGENTS, *SERVERS])
def test_a_decision_must_be_numbered_and_of_one_action(preset):
    party = party_of(preset, CLUSTERED if preset in SERVERS else LINEAR)
    situation = Arrival(1, int(party.users[0]), ITEMS) if preset in SERVERS else GOOD
    number, action = (decision := party.decide(situation)).number, decision.action
    for wrong in (
        Decision([number], action), Decision(None, action), Decision(np.array([1, 1]), action),
        Decision(number, np.array([action, action])), Decision(number, None),
    ):  # fmt: skip
        is_refused(party, lambda wrong=wrong: party.observe(wrong, 0.5))
        is_refused(party, lambda wrong=wrong: party.let_go(wrong))
