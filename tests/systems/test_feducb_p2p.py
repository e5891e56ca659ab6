from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Classification, Linear
from fedbandits.experiments.checkpoint import _leaves
from fedbandits.reproduce.feducb import proved
from fedbandits.systems.feducb_p2p import PeerFedUCB
from fedbandits.testing.replicates import simulate
from tests.systems.peer_reference import PeerReference

LINEAR = Linear(agents=5, dim=3, arms=4)
CLASSES = Classification(agents=4, dataset="wine", components=2)
# At ε = 1 scores of untried arms differ by 1e-9, which float32 scoring takes for a tie.
QUIET = {"epsilon": 300.0}
VARIANTS = {
    "complete": {},
    "ring": {"graph": "ring", "gamma": 2, "schedule": "growing(1.3, 1)"},
    "line, all the way": {"graph": "line", "gamma": 9, "schedule": "every(3)"},
    "star": {"graph": "star", "gamma": 1, "delta": 0.1},
    "star, twice": {"graph": "star", "gamma": 2, "privatizer": "tree", "schedule": "every(2)"},
    "random": {"graph": "erdos-renyi(0.4, 1)", "gamma": 3, "privatizer": "none"},
    "raw": {"graph": "line", "gamma": 3, "local_view": "raw", "schedule": "every(4)", **QUIET},
    "raw, every round": {"graph": "ring", "gamma": 2, "local_view": "raw", "schedule": "every(1)"},
    "published confidence": {"graph": "line", "gamma": 2, "confidence": "published", **QUIET},
    "alone": {"graph": "line", "schedule": "never", "local_view": "raw", "privatizer": "none"},
    "published": {"preset": "feducb-p2p-published", **QUIET},
    "published, line": {
        "preset": "feducb-p2p-published", "graph": "line", "gamma": 2, "epsilon": 1e4,
        "schedule": "determinant(8.0)", "exploration_scale": 0.01,
    },
    "published, ring, many calls": {
        "preset": "feducb-p2p-published", "graph": "ring", "gamma": 3,
        "schedule": "determinant(2.0)", **QUIET,
    },
    "triggered in clear": {
        "preset": "feducb-p2p-published", "graph": "star", "gamma": 2, "privatizer": "none",
        "schedule": "determinant(3.0)",
    },
    "triggered, adaptive": {
        "preset": "feducb-p2p-published", "graph": "ring", "gamma": 2, "privatizer": "tree",
        "confidence": "adaptive", "schedule": "determinant(6.0)", **QUIET,
    },
}  # fmt: skip


def variant(name: str, **changes) -> PeerFedUCB:
    settings = {"preset": "feducb-p2p", **VARIANTS[name], **changes}
    return proved(settings.pop("preset"), **settings).config


@pytest.mark.parametrize("environment", [LINEAR, CLASSES], ids=["linear", "classification"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_compiled_loop_agrees_with_messages_sent_one_by_one(name, environment):
    config, rounds = variant(name), 36
    simulation = simulate(config, environment, rounds, 3, 1)
    reference = PeerReference(config, environment, rounds, 3, 1)
    planned = simulation.sync_rounds()
    regret = np.zeros(environment.agents)
    reward = np.zeros(environment.agents)
    for t in range(1, rounds + 1):
        simulation.advance(t)
        for i, (_, lost, earned) in enumerate(reference.play(t, planned)):
            regret[i] += lost
            reward[i] += earned
        np.testing.assert_array_equal(simulation.reward, reward)
        np.testing.assert_allclose(simulation.regret, regret, atol=1e-5)
        assert (simulation.messages, simulation.bytes) == (reference.messages, reference.bytes)
    made = [[e.made for e in own] for own in reference.estimators]
    assert simulation.state.releases.made.reshape(-1, reference.G).tolist() == made
    simulation.refresh()
    for cell, own in enumerate(e for agent in reference.estimators for e in agent):
        if own.news:
            reference.pool(cell // reference.G, own)
        if own.heard:
            gram, terms = simulation.state.pools.gram[cell], simulation.state.pools.terms[cell]
            np.testing.assert_allclose(gram, own.V, rtol=1e-9, atol=1e-7)
            biases = [bias for _, _, bias in own.terms]
            np.testing.assert_allclose(terms[:, 2], biases, rtol=1e-7)


@pytest.mark.parametrize("local_view", ["released", "raw"])
@pytest.mark.parametrize("agents", [1, 2, 7])
@pytest.mark.parametrize("parts", [{}, {"schedule": "every(3)"}, {"privatizer": "tree"}])
def test_on_the_complete_graph_with_one_hop_it_is_the_controller_s_bit_for_bit(
    local_view, agents, parts
):
    environment = Linear(agents=agents, dim=4, arms=6)
    settings = {"delta": 0.1, "local_view": local_view, **parts}
    central = simulate(proved("feducb", **settings).config, environment, 300, 4, 0)
    peers = simulate(proved("feducb-p2p", **settings).config, environment, 300, 4, 0)
    for stop in (1, 2, 40, 177, 300):
        central.advance(stop)
        peers.advance(stop)
        np.testing.assert_array_equal(central.regret, peers.regret)
        np.testing.assert_array_equal(central.state.statistic, peers.state.statistic)
        assert (central.syncs, central.epsilon) == (peers.syncs, peers.epsilon)
    peers.refresh()
    for agent in range(agents):
        np.testing.assert_array_equal(central.state.pool.gram, peers.state.pools.gram[agent])
        np.testing.assert_array_equal(central.state.pool.terms, peers.state.pools.terms[agent])
        shared = central.state.views.estimate[agent if local_view == "raw" else 0]
        np.testing.assert_array_equal(shared, peers.state.views.estimate[agent])


@pytest.mark.parametrize("gamma", [2, 3])
def test_further_hops_change_nothing_but_messages_on_the_complete_graph(gamma):
    one, more = (simulate(variant("complete", gamma=g), LINEAR, 200, 0, 0) for g in (1, gamma))
    one.advance(200)
    more.advance(200)
    np.testing.assert_array_equal(one.regret, more.regret)
    assert one.messages == one.syncs * 5 * 4
    assert more.messages == more.syncs * (5 * 4 + 5 * 4 * 3)  # in vain: nobody is further away


@pytest.mark.parametrize("gamma", [1, 2, 4])
def test_news_travels_one_hop_a_round_and_no_further_than_gamma(gamma):
    """One agent's first release is disturbed: who notices, and when."""
    config = (
        variant("line", gamma=gamma)
        if "line" in VARIANTS
        else variant("line, all the way", gamma=gamma, schedule="growing(30, 5)", privatizer="none")
    )
    environment = Linear(agents=6, dim=3, arms=4)
    calm, disturbed = (simulate(config, environment, 60, 0, 0) for _ in range(2))
    calm.advance(4)
    disturbed.advance(4)
    disturbed.state.statistic[1] *= 2.0
    noticed = {}
    for t in range(5, 20):
        calm.advance(t)
        disturbed.advance(t)
        calm.refresh()
        disturbed.refresh()
        for agent in range(6):
            if not np.array_equal(calm.state.pools.gram[agent], disturbed.state.pools.gram[agent]):
                noticed.setdefault(agent, t)
    # Released at the end of round 5: at h hops it can be acted on from round 5 + h on.
    expected = {j: 5 + max(abs(j - 1) - 1, 0) for j in range(6) if abs(j - 1) <= gamma}
    assert noticed == expected


def test_the_newest_release_of_a_peer_replaces_the_older():
    """Without noise and on released statistics a pool is exactly what was played until then."""
    config = variant("line, all the way", privatizer="none", schedule="every(2)", gamma=4)
    simulation = simulate(config, LINEAR, 40, 0, 0)
    history = [simulation.state.statistic.copy()]
    for t in range(1, 40):
        simulation.advance(t)
        history.append(simulation.state.statistic.copy())
        simulation.refresh()
        for agent in range(5):
            total = np.zeros(9)
            for other in range(5):
                known = t - max(abs(agent - other) - 1, 0)
                total += history[max(known - known % 2, 0)][other, 0]
            if simulation.state.heard[agent]:
                pool = simulation.state.pools
                moment = pool.moment[agent, 0]
                np.testing.assert_allclose(moment, total[6:], atol=1e-9)
                trace = np.trace(pool.gram[agent, 0]) - 3.0  # the ridge parameter is 1
                assert trace == pytest.approx(total[[0, 3, 5]].sum())


@pytest.mark.parametrize("name", VARIANTS)
def test_neither_chunks_nor_threads_change_a_bit(name, monkeypatch):
    from fedbandits.systems.agents import batches

    monkeypatch.setattr(batches, "_WORTH_SHARING", 1)
    config, rounds = variant(name), 150
    whole = simulate(config, LINEAR, rounds, 0, 0)
    whole.advance(rounds)
    pieces = simulate(config, LINEAR, rounds, 0, 0, threads=2)
    for stop in (1, 2, 3, 17, 18, 64, 99, 150):
        pieces.advance(stop)
    np.testing.assert_array_equal(whole.regret, pieces.regret)
    np.testing.assert_array_equal(whole.state.statistic, pieces.state.statistic)
    whole.refresh()
    pieces.refresh()
    np.testing.assert_array_equal(whole.state.views.estimate, pieces.state.views.estimate)
    assert (whole.syncs, whole.messages, whole.bytes) == (
        pieces.syncs,
        pieces.messages,
        pieces.bytes,
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_messages_under_way_survive_a_restart(name):
    """Stopped after any round, another process that loads the state goes on to the same bits."""
    config, rounds = variant(name), 40
    whole = simulate(config, LINEAR, rounds, 5, 0)
    whole.advance(rounds)
    for stop in (1, 4, 6, 7, 8, 13, 26, 39):
        run, resumed = (simulate(config, LINEAR, rounds, 5, 0) for _ in range(2))
        run.advance(stop)
        saved = {name: array.copy() for name, array in _leaves(run.state, "")}
        for name, array in _leaves(resumed.state, ""):
            np.copyto(array, saved[name])
        resumed.advance(rounds)
        np.testing.assert_array_equal(whole.state.statistic, resumed.state.statistic)
        np.testing.assert_array_equal(whole.regret, resumed.regret)
        assert (whole.messages, whole.bytes, whole.epsilon) == (
            resumed.messages, resumed.bytes, resumed.epsilon,
        )  # fmt: skip


def test_estimators_take_turns():
    """Round t is played with estimator t mod γ, and its record enters that one's sum alone."""
    config = variant("published, line", gamma=3)
    simulation = simulate(config, LINEAR, 30, 0, 0)
    for t in range(1, 31):
        before = simulation.state.statistic.copy()
        simulation.advance(t)
        changed = np.abs(simulation.state.statistic - before).sum(axis=(1, 2)) > 0
        assert (np.flatnonzero(changed) % 3 == t % 3).all()
        assert changed.sum() == 5


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_a_call_is_answered_by_the_clique_hop_by_hop_and_by_nobody_else(gamma):
    config = variant("published, line", gamma=gamma, schedule="determinant(1e300)")
    simulation = simulate(config, Linear(agents=9, dim=3, arms=4), 40, 0, 0)
    state, t = simulation.state, 10
    cliques = simulation.plan.peers.lag >= 0
    caller = int(cliques.sum(axis=1).argmax())
    simulation.advance(t)
    state.calls[caller, t % (gamma + 1)] = t  # as if its trigger had fired in round t
    state.clock.asked[0] = t
    released = {}
    for round_ in range(t + 1, t + 8):
        before = state.releases.made.copy()
        simulation.advance(round_)
        for cell in np.flatnonzero(state.releases.made > before):
            assert cell % gamma == t % gamma  # the estimator that the call is for
            assert cell // gamma not in released
            released[int(cell) // gamma] = round_
    members = np.flatnonzero(cliques[caller])
    assert len(members) == gamma + 1
    assert released == {int(m): t + abs(m - caller) for m in members if m != caller}


def test_epsilon_grows_to_the_budget_and_no_further():
    simulation = simulate(variant("ring", epsilon=0.7, delta=0.01), LINEAR, 300, 0, 0)
    spent = [simulation.epsilon]
    for round_ in simulation.sync_rounds():
        simulation.advance(round_)
        spent.append(simulation.epsilon)
    assert spent == sorted(spent)
    assert spent[0] == 0.0
    assert spent[-1] == pytest.approx(0.7, rel=5e-5)
    assert spent[-1] <= 0.7


def test_pooling_with_neighbours_beats_learning_alone_and_the_complete_graph_beats_the_ring():
    environment = Linear(agents=16, dim=4, arms=6)
    settings = {
        "alone": {"schedule": "never", "local_view": "raw"},
        "ring": {"graph": "ring", "gamma": 2},
        "complete": {},
    }
    regret = {}
    for name, parts in settings.items():
        config = proved("feducb-p2p", privatizer="none", **parts).config
        runs = [simulate(config, environment, 1500, 1, r) for r in (0, 1)]
        for run in runs:
            run.advance(1500)
        regret[name] = np.mean([run.regret.mean() for run in runs])
    assert 2 * regret["complete"] < regret["ring"] < 0.7 * regret["alone"]


def failures(config: PeerFedUCB, environment: Linear, rounds: int, replicates: int) -> int:
    """In how many replicates ‖θ* - θ̃‖_V ever exceeded β, looking at all agents after any news."""
    count = 0
    for replicate in range(replicates):
        simulation = simulate(config, environment, rounds, 17, replicate)
        truth = environment.true_parameters(simulation.world)
        worst = 0.0
        for round_ in [*simulation.arrivals(), rounds]:
            simulation.advance(round_)
            worst = max(worst, simulation.confidence_ratio(truth))
        count += worst > 1.0
    return count


@pytest.mark.parametrize(
    "parts",
    [
        {"graph": "line", "gamma": 2},
        {"graph": "star", "gamma": 2, "epsilon": 50.0},
        {"graph": "ring", "gamma": 1, "local_view": "raw"},
        {"graph": "line", "gamma": 4, "regularization": 0.01, "schedule": "growing(2, 3)"},
        {"graph": "ring", "gamma": 2, "privatizer": "tree", "schedule": "every(40)"},
        {"graph": "line", "gamma": 3, "privatizer": "none"},
    ],
    ids=["line", "little noise", "raw view", "small ridge", "tree", "no noise"],
)
def test_the_bound_fails_at_most_as_often_as_alpha(parts):
    config = proved("feducb-p2p", delta=0.1, alpha=0.2, **parts).config
    replicates = 80
    failed = failures(config, Linear(agents=4, dim=3, arms=4), 250, replicates)
    margin = 3.0 * math.sqrt(0.2 * 0.8 / replicates)
    assert failed / replicates <= 0.2 + margin


def test_the_coverage_test_would_notice_a_radius_that_is_too_small():
    """A guard against a test that cannot fail: at a tenth of the bound, most runs do."""
    environment = Linear(agents=4, dim=3, arms=4)
    config = proved("feducb-p2p", delta=0.1, alpha=0.2, graph="line", gamma=2).config
    exceeded = 0
    for replicate in range(50):
        simulation = simulate(config, environment, 250, 17, replicate)
        simulation.advance(250)
        truth = environment.true_parameters(simulation.world)
        exceeded += simulation.confidence_ratio(truth) > 0.1
    assert exceeded > 25


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("agents", [1, 2])
def test_the_smallest_runs_work(name, rounds, agents):
    simulation = simulate(variant(name), Linear(agents=agents, dim=1, arms=2), rounds, 0, 0)
    simulation.advance(rounds)
    assert simulation.done == rounds
    assert np.isfinite(simulation.regret).all()


def test_memory_does_not_grow_with_the_horizon():
    def size(rounds):
        state = simulate(variant("ring"), LINEAR, rounds, 0, 0).state
        return sum(a.nbytes for a in [state.draws, *state.releases, *state.views, *state.pools])

    assert size(10**9) < 5 * size(10**3)


@pytest.mark.parametrize("threshold", [1e-300, 1e12, 1e300])
def test_thresholds_that_always_or_never_fire(threshold):
    config = variant("published, line", schedule=f"determinant({threshold})", epsilon=1.0)
    simulation = simulate(config, LINEAR, 30, 0, 0)
    simulation.advance(30)
    assert simulation.syncs == (30 if threshold < 1 else 0)
    assert (simulation.messages > 0) == (threshold < 1)
