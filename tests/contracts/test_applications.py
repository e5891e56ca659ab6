"""The way from an application to a party; see :mod:`fedbandits.testing.applications`."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Classification, Clustered, Linear
from fedbandits.errors import LocalProtocolError
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.agents.application import ContextAsked
from fedbandits.systems.agents.player import Offer
from fedbandits.systems.application import RewardTold
from fedbandits.systems.servers.application import ItemsAsked
from fedbandits.testing.applications import CHECKS
from fedbandits.testing.plays import federate

PRESETS = sorted(preset_names())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset(preset, check):
    check(preset)


# ------------------------------------------------------- actions that differ between decisions

CLUSTERED = Clustered(users=7, clusters=2, servers=3, dim=3, items=5)
LINEAR = Linear(agents=3, dim=3, arms=5)
CLASSES = Classification(agents=2, dataset="wine", components=2)
VARYING = [
    ("feducb", LINEAR),
    ("feducb-published", LINEAR),
    ("feducb-p2p", LINEAR),
    ("fedlinucb-async", LINEAR),
    ("feducb", CLASSES),
    ("fclub", CLUSTERED),
    ("fclub-published", CLUSTERED),
    ("club", CLUSTERED),
]


def half_played(preset, environment):
    run = federate(system(preset).config, environment, 60, 0, 0)
    run.advance(30)
    application = run.system.application(run.plan)
    return run, application


def asked_with(application, party, request):
    """The action for a request in JSON; the party is then as it was."""
    saved = party.dump()
    asked = msgspec.json.decode(msgspec.json.encode(request), type=application.ASKED)
    decision = party.decide(application.situation(party, asked))
    opened, _ = application.observation(party, decision.number, application.stand_in(0.5))
    assert opened == decision
    party.load(saved)
    return application.action(decision, asked)


def offered(application, user, contexts, numbers):
    """A request that offers the actions of these numbers, and their numbers in its answer."""
    if application.ASKED is ContextAsked:
        return {"context": contexts[0], "available": numbers}, {n: n for n in numbers}
    rows = [contexts[n] for n in numbers]
    request = (
        {"user": user, "items": rows} if application.ASKED is ItemsAsked else {"actions": rows}
    )
    return request, dict(enumerate(numbers))


@pytest.mark.parametrize(("preset", "environment"), VARYING)
def test_an_action_that_is_best_of_all_is_best_of_fewer(preset, environment):
    run, application = half_played(preset, environment)
    rng, facts = np.random.default_rng(1), run.plan.facts
    most = facts.items if environment is CLUSTERED else facts.arms
    for party in run.players:
        user = int(getattr(party, "users", [0])[0])
        for _ in range(30):
            contexts = rng.normal(size=(most, run.plan.constants.dimension))
            contexts *= 0.7 / np.linalg.norm(contexts, axis=1)[:, None]
            full, names = offered(application, user, contexts.tolist(), list(range(most)))
            best = names[asked_with(application, party, full)]
            others = [int(n) for n in rng.permutation(most) if n != best]
            numbers = sorted([best, *others[: int(rng.integers(0, most - 1))]])
            fewer, names = offered(application, user, contexts.tolist(), numbers)
            assert names[asked_with(application, party, fewer)] == best


def test_a_party_learns_of_fewer_actions_what_it_learns_of_all():
    """The same context and reward lead to the same state, whatever else was offered."""
    states = []
    for columns in (np.full((3, 5), 0.3), np.full((3, 1), 0.3)):
        agent = half_played("feducb", LINEAR)[0].of("agent")[0]
        decision = agent.decide(columns.astype(np.float32))
        agent.observe(msgspec.structs.replace(decision), 0.25)
        states.append(agent.dump())
    assert states[0] == states[1]


def test_offers_are_for_models_of_their_own():
    agent = half_played("feducb", LINEAR)[0].of("agent")[0]
    before = agent.dump()
    with pytest.raises(LocalProtocolError, match="arms to choose among"):
        agent.decide(Offer(np.full((3, 1), 0.3, np.float32), [0]))
    assert agent.dump() == before


# ------------------------------------------------------------ FCLUB: rounds that end by the clock

SERVERS = sorted(
    preset for preset in PRESETS if find_preset(preset).name in ("fclub", "fclub_published")
)


@pytest.mark.parametrize("preset", SERVERS)
def test_a_clock_ends_phases_whoever_has_come(preset):
    """Between machines users bring no rounds, and a phase ends on time however many came."""
    run = federate(system(preset).config, CLUSTERED, 3000, 0, 0)
    application = run.system.application(run.plan)
    rng, waiting = np.random.default_rng(2), []
    for _ in range(4):
        for server in run.players:
            for _ in range(int(rng.integers(0, 25))):
                items = rng.uniform(-0.5, 0.5, size=(int(rng.integers(1, 6)), 3))
                user = int(rng.choice(server.users))
                asked = ItemsAsked(user=user, items=items.tolist())
                decision = server.decide(application.situation(server, asked))
                waiting.append((server, decision.number, float(rng.integers(0, 2))))
        late = [each for each in waiting if rng.random() < 0.2]
        for server, number, reward in [each for each in waiting if each not in late]:
            told = RewardTold(reward)
            run.network.send(server.observe(*application.observation(server, number, told)))
        waiting = late
        ends = {server.next_end for server in run.players}
        assert len(ends) == 1
        if min(ends) > run.rounds:
            break
        run.end_round(min(ends))
    phases = {server.state.phase for server in run.players}
    assert len(phases) == 1
    assert min(phases) >= (3 if len(run.plan.constants.phase_ends) > 3 else 0)
    assert all(server.stage == "ready" for server in run.players)
