"""A reward that is never observed: the simulation and the parties leave out the same records."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decision
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.python_learners import LearnerSystem
from fedbandits.testing.replicates import federate, plan_of, simulate, system_of
from fedbandits.testing.restored import MortalParty
from tests.own_things import SharedRidge

ROUNDS = 40


class Silent(fb.environments.PythonEnvironment, tag="silent"):
    """Three arms at random; of some decisions nothing is ever heard."""

    agents: int = 3
    told: float = 0.5
    each: bool = False  # a model for each arm

    arm_count = 3
    dimension = 2

    @property
    def models(self):
        return 3 if self.each else 1

    def decision_set(self, world, agent, round_, draws):
        contexts = draws.uniform(6).reshape(3, 2)[: 1 if self.each else 3] - 0.4
        return contexts, draws.uniform(3)

    def draw_reward(self, world, expected, draws):
        heard = draws.bernoulli(self.told)
        return float(draws.bernoulli(expected)) if heard else None


VARIANTS = {
    "feducb": {"epsilon": 30.0},
    "feducb, raw": {"preset": "feducb", "local_view": "raw", "schedule": "every(3)"},
    "linucb-alone": {},
    "feducb-hybrid": {"epsilon": 30.0},
    "feducb-p2p-hybrid": {"graph": "ring", "gamma": 2, "schedule": "every(2)"},
    "feducb-published": {"schedule": "determinant(2.0)", "epsilon": 1e4},
    "feducb, triggered": {
        "preset": "feducb-published", "schedule": "determinant(1.0)", "privatizer": "none",
    },
    "feducb-p2p": {"graph": "ring", "gamma": 2, "schedule": "every(2)", "epsilon": 30.0},
    "feducb-p2p-published": {
        "graph": "ring", "gamma": 2, "schedule": "determinant(1.0)", "privatizer": "none",
    },
    "fedlinucb-async": {"growth": 0.1},
}  # fmt: skip


def config_of(name):
    settings = {"preset": name, **VARIANTS[name]}
    return system(settings.pop("preset"), **settings).config


@pytest.mark.parametrize("each", [False, True], ids=["one model", "a model an arm"])
@pytest.mark.parametrize("name", VARIANTS)
def test_both_drivers_agree_round_by_round(name, each):
    world, config = Silent(each=each), config_of(name)
    compiled, parties = simulate(config, world, ROUNDS, 1, 2), federate(config, world, ROUNDS, 1, 2)
    for stop in range(1, ROUNDS + 1):
        compiled.advance(stop)
        parties.advance(stop)
        for measured in ("regret", "reward", "syncs", "messages", "bytes", "epsilon"):
            ours, theirs = getattr(compiled, measured), getattr(parties, measured)
            np.testing.assert_array_equal(ours, theirs, measured)
    for agent in parties.of("agent"):
        assert not agent.state.open
        assert ROUNDS / 4 < agent.state.records < 3 * ROUNDS / 4
        assert agent.state.decisions == ROUNDS
    assert compiled.syncs > 1 or name == "linucb-alone"


@pytest.mark.parametrize("name", VARIANTS)
def test_without_any_reward_nothing_is_learned(name):
    config = config_of(name)
    quiet = simulate(config, Silent(told=0.0), ROUNDS, 1, 2)
    quiet.advance(ROUNDS)
    assert not quiet.state.statistic.any()
    assert not quiet.reward.any()
    assert (quiet.regret > 0).all()  # what is lost is lost, whether or not it is seen


@pytest.mark.parametrize("name", ["feducb, triggered", "feducb-p2p-published", "fedlinucb-async"])
def test_a_party_goes_on_from_a_decision_that_it_let_go(name):
    world, config, events = Silent(), config_of(name), Counter()
    plan, found = plan_of(config, world, ROUNDS), system_of(config)
    smooth = PartiesReplicate(found, plan, world, 1, 0)
    rough = PartiesReplicate(
        found, plan, world, 1, 0, embody=lambda make: MortalParty(make, events)
    )
    for run in (smooth, rough):
        run.advance(ROUNDS)
    assert [p.dump() for p in smooth.parties] == [p.dump() for p in rough.parties]
    assert sum(count for kind, count in events.items() if kind.endswith(".let_go")) > ROUNDS


def test_a_learner_in_plain_python_is_not_told():
    told = []

    class Listening(SharedRidge):
        """Says what it hears of."""

        def observe(self, context, arm, reward):
            told.append(reward)
            super().observe(context, arm, reward)

    found, world = LearnerSystem(Listening), Silent()
    plan = found.plan(found.config_type(), world.facts, ROUNDS)
    run = PartiesReplicate(found, plan, world, 1, 0)
    run.advance(ROUNDS)
    assert 0 < len(told) < 3 * ROUNDS
    assert not any(agent.state.open for agent in run.of("agent"))


def test_only_an_open_decision_can_be_let_go():
    run = federate(config_of("feducb"), Silent(), ROUNDS, 1, 0)
    agent = run.of("agent")[0]
    decision = agent.decide(np.eye(2, 3, dtype=np.float32))
    before = agent.dump()
    other = Decision(decision.number, (decision.action + 1) % 3)
    for wrong, says in [
        (other, "was chosen, not"),
        (Decision(7, 0), "7 is not open"),
        (3, "needs"),
    ]:
        with pytest.raises(LocalProtocolError, match=says):
            agent.let_go(wrong)
    assert agent.dump() == before
    assert agent.let_go(decision) == []
    with pytest.raises(LocalProtocolError, match="1 is not open"):
        agent.observe(decision, 1.0)


@pytest.mark.parametrize("name", ["fclub", "fclub-published"])
def test_a_server_learns_nothing_from_a_recommendation_that_it_let_go(name):
    world = fb.environments.Clustered(users=4, servers=2, clusters=2, dim=2, items=3)
    run = federate(system(name).config, world, 10, 1, 0)
    server = run.players[0]
    decision = server.decide(Arrival(1, int(server.users[0]), np.eye(2, 3, dtype=np.float32)))
    assert server.let_go(decision) == []
    assert not server.open_decisions
    assert server.state.records == 0
    with pytest.raises(LocalProtocolError, match="1 is not open"):
        server.observe(decision, 1.0)


def test_a_system_that_does_not_know_of_it_refuses():
    buyer = federate(system("pfcb").config, fb.environments.Procurement(), 10, 1, 0).players[0]
    with pytest.raises(LocalProtocolError, match="LetGo is not possible"):
        buyer.let_go(buyer.decide(None))
