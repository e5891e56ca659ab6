"""What applications may ask, and what parties bring, system by system."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Classification, Clustered, Linear
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.privacy.accounting import mu
from fedbandits.privacy.ledger import Ledger
from fedbandits.random import Purpose, integer
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.agents.application import ContextAsked
from fedbandits.systems.agents.linear_agent import Offer
from fedbandits.systems.application import RewardTold
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.pfcb.application import PurchaseTold
from fedbandits.systems.servers.application import ItemsAsked
from fedbandits.systems.terms import terms_of
from fedbandits.testing.applications import Setting
from fedbandits.testing.replicates import federate, plan_of
from fedbandits.testing.resources import FederationResources

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


@pytest.mark.parametrize("preset", ["fclub", "fclub-dc", "linucb-per-user"])
def test_nothing_that_is_not_offered_is_recommended(preset):
    """Even where all that is offered scores less than nothing."""
    config = system(preset, exploration_scale=0.0).config
    run = federate(config, CLUSTERED, 200, 0, 0)
    run.advance(200 - 1)
    application, rng = run.system.application(run.plan), np.random.default_rng(3)
    for server in run.players:
        for _ in range(20):
            item = rng.normal(size=3)
            item *= 0.9 / np.linalg.norm(item)
            for items in ([item], [-item], [item, item]):
                request = {"user": int(server.users[0]), "items": [each.tolist() for each in items]}
                assert asked_with(application, server, request) == 0


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
    with pytest.raises(LocalProtocolError, match="available arms must be"):
        agent.decide(Offer(np.full((3, 1), 0.3, np.float32), [0]))
    assert agent.dump() == before


# ------------------------------------------------------------ FCLUB: rounds that end by the clock

SERVERS = sorted(
    preset for preset in preset_names() if find_preset(preset).name in ("fclub", "fclub_published")
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
        (end,) = {server.next_end for server in run.players}
        if end is None:
            break
        run.end_round(end)
    phases = {server.state.phase for server in run.players}
    assert len(phases) == 1
    assert min(phases) >= (3 if len(run.plan.constants.phase_ends) > 3 else 0)
    assert all(server.stage == "ready" for server in run.players)
    while (end := run.players[0].next_end) is not None:
        run.end_round(end)
    for server in run.players:  # users still come when no phase ends any more
        asked = ItemsAsked(user=int(server.users[0]), items=[[0.1, 0.2, 0.3]] * 5)
        assert server.decide(application.situation(server, asked)).action in range(5)


# -------------------------------------------------------------------- what is brought, and by whom


def workplace_of(setting, ledger):
    return FederationResources(setting.system, setting.plan, ledger, setting.own())


@pytest.mark.parametrize("preset", ["feducb", "feducb-p2p"])
def test_every_agent_pays_from_its_own_budget(preset, tmp_path):
    budgets = (0.3, 1.0, 25.0)
    setting = Setting(preset, epsilon=budgets)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        supplies = workplace_of(setting, ledger).supply
        run = PartiesReplicate(setting.system, setting.plan, setting.world, 1, 0, supplies=supplies)
        run.advance(40)
        with ledger.read() as connection:
            spent = [ledger.statement(connection, p.name).spent_epsilon for p in run.players]
    assert all(0.99 * own < each <= own for own, each in zip(budgets, spent, strict=True))


@settings(max_examples=30)
@given(gamma=st.integers(1, 5), rounds=st.integers(20, 200))
def test_estimators_that_share_a_stream_cost_no_more_than_is_claimed(gamma, rounds):
    """Whichever of them are released: prices grow from release to release, up to the claim."""
    graph = {"graph": "complete", "gamma": gamma}
    config = system("feducb-p2p-published", **graph).config
    plan = plan_of(config, LINEAR, rounds)
    last = gamma * plan.constants.releases
    prices = [mu(plan.event(made)) for made in range(1, last + 1)]
    assert prices == sorted(prices)
    assert prices[-1] == find_preset("feducb-p2p-published").claim(plan).mu
    assert prices[plan.constants.releases - 1] == prices[-1]


@pytest.mark.parametrize("preset", ["samba-ucb", "distributed-ucb"])
def test_secrets_of_samba_go_to_whom_they_belong(preset, tmp_path):
    setting = Setting(preset)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = workplace_of(setting, ledger)
        brought = {
            party: workplace.supply(role, place)
            for role, parties in setting.roles.parties.items()
            for place, party in enumerate(parties)
        }
    (shared,) = setting.system.shared(setting.plan)
    channel = workplace.of(shared.maker, 0).secret(shared.name)
    owners = [brought[party] for party in setting.roles.parties["owner"]]
    assert [owner.secrets for owner in owners] == [{"channel": channel}] * len(owners)
    assert brought["comp"].secrets["channel"] == channel
    assert len({owner.draws for owner in owners}) == len(owners)
    of_controller = brought["controller"].secrets
    assert of_controller.keys() == {"controller"}
    assert not {channel, brought["comp"].secrets["comp"]} & {*of_controller.values()}
    key = brought["customer"].private_key
    bits = setting.plan.config.paillier_bits
    assert (key.public_key.bits if key else None) == (bits if preset == "samba-ucb" else None)
    with pytest.raises(LocalProtocolError, match="is given no secret"):
        workplace.of("controller", 0).shared(shared.name)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_party_that_starts_again_brings_the_same(seed, tmp_path):
    """Ties are broken alike, and places and masks are the run's."""
    setting = Setting("linucb-pooled")
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = workplace_of(setting, ledger)
        first, again = (workplace.supply("agent", seed) for _ in range(2))
    assert (first.key, first.first) == (again.key, again.first)
    arms, numbers = setting.plan.facts.arms, range(1, 200)
    ties = {int(integer(arms, first.key, seed, number, int(Purpose.TIE), 0)) for number in numbers}
    assert len(ties) == arms


@pytest.mark.parametrize(
    "costs", [None, [], "x", [1.0], [-1.0] * 5, [float("nan")] * 5, [True] * 5]
)
def test_costs_that_are_none_are_refused_unseen(costs, tmp_path):
    setting = Setting("pfcb")
    own = {("buyer", 0): {"costs": costs}}
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        means = FederationResources(setting.system, setting.plan, ledger, own).of("buyer", 0)
        with pytest.raises(ConfigError, match=r"own\.costs: allowed: 5 numbers ≥ 0"):
            setting.system.supply(setting.plan, "buyer", 0, means)


@pytest.mark.parametrize(
    "capacities",
    [((1, 2),), ((1, 2, 3, 4, 5),) * 2, ((1, 2, 3, 4),) * 3, ((-1, 2, 3, 4, 5),) * 3],
)
def test_capacities_are_stated_for_all_or_not_at_all(capacities, tmp_path):
    setting = Setting("pfcb")
    facts = msgspec.structs.replace(
        setting.plan.facts, capacities=capacities, largest_capacity=max(map(max, capacities))
    )
    with pytest.raises(ConfigError, match="capacities: allowed: a row for each of 3 buyers"):
        setting.system.plan(setting.plan.config, facts, 40)
    none = msgspec.structs.replace(facts, capacities=())
    plan = setting.system.plan(setting.plan.config, none, 40)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = FederationResources(setting.system, plan, ledger, setting.own())
        with pytest.raises(ConfigError, match=r"facts\.capacities: missing"):
            workplace.supply("buyer", 0)


def test_capacities_are_part_of_the_terms():
    setting = Setting("pfcb")
    other = list(map(list, setting.plan.facts.capacities))
    other[0][0], other[0][1] = other[0][1], other[0][0]
    facts = msgspec.structs.replace(setting.plan.facts, capacities=tuple(map(tuple, other)))
    plan = setting.system.plan(setting.plan.config, facts, 40)
    ours = terms_of(setting.system, setting.plan, "secure")
    theirs = terms_of(setting.system, plan, "secure")
    assert ours.difference(theirs.content).key == "facts.capacities"


# --------------------------------------------------------------------------- P-FCB's open purchases


def test_a_purchase_is_known_when_its_outcome_comes_after_a_restart():
    setting = Setting("pfcb")
    buyers = setting.begin(lambda party: party)
    buyer, other = buyers.players[0], setting.begin(lambda party: party).players[0]
    application = setting.application
    decision = buyer.decide(None)
    other.load(buyer.dump())
    opened, good = application.observation(
        other, decision.number, PurchaseTold(reward=decision.action.tolist())
    )
    np.testing.assert_array_equal(opened.action, decision.action)
    other.observe(opened, good)
    np.testing.assert_array_equal(other.state.books.own[0], decision.action)
    decision.action[:] = -1  # what was handed out is the caller's
    assert (buyer.state.open[1].units >= 0).all()


def test_other_units_than_those_decided_on_can_be_told():
    setting = Setting("pfcb")
    buyer = setting.begin(lambda party: party).players[0]
    decision = buyer.decide(None)
    fewer = np.maximum(decision.action - 1, 0).tolist()
    told = PurchaseTold(reward=[0] * 5, units=fewer)
    buyer.observe(*setting.application.observation(buyer, decision.number, told))
    assert buyer.state.books.own[0].tolist() == fewer
    again = buyer.decide(None)
    stand_in = setting.application.stand_in(0.0)
    buyer.observe(*setting.application.observation(buyer, again.number, stand_in))
    assert buyer.state.books.own[0].tolist() == fewer
    with pytest.raises(ConfigError, match=r"rewards\.default"):
        setting.application.stand_in(0.5)
