from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.errors import BoundExceededError, ConfigError
from fedbandits.random import Purpose, integer, replicate_key, uniform
from fedbandits.systems.fedlinucb_async.plan import claim, make_plan
from fedbandits.testing.replicates import federate, plan_of, simulate
from tests.worlds import decision_set

LINEAR = Linear(agents=3, dim=3, arms=4)
CLASSES = Classification(agents=3, dataset="wine", components=2)
VARIANTS = {
    "as published": {},
    "adaptive": {"confidence": "adaptive"},
    "rare": {"growth": 1.5, "exploration_scale": 0.1},
    "ridge": {"regularization": 0.3, "parameter_bound": 2.0, "confidence": "adaptive"},
}


def config(**parts):
    return fb.system("fedlinucb-async", **parts).config


class Reference:
    """He et al. 2022, Algorithm 1, in plain numpy: nothing shared but the world and named draws."""

    def __init__(self, settings, environment, rounds, seed, replicate):
        self.config, self.environment, self.rounds = settings, environment, rounds
        self.key = replicate_key(seed, replicate)
        self.world = environment.world(self.key)
        self.M, self.J, self.d = environment.agents, environment.models, environment.dimension
        S = settings.parameter_bound
        given = settings.regularization
        self.ridge = 1 / S**2 if given == "auto" else given
        self.growth = 1 / self.M**2 if settings.growth == "auto" else settings.growth
        start = np.tile(self.ridge * np.eye(self.d), (self.J, 1, 1))
        self.gram_server, self.b_server = start.copy(), np.zeros((self.J, self.d))
        self.gram = np.tile(start, (self.M, 1, 1, 1))
        self.b = np.zeros((self.M, self.J, self.d))
        self.gram_local, self.b_local = np.zeros_like(self.gram), np.zeros_like(self.b)
        self.uploads: list[tuple[int, int]] = []

    def beta(self, agent, model):
        c, S, d = self.config, self.config.parameter_bound, self.d
        if c.confidence == "published":
            T = self.M * self.rounds
            inner = (1 + T * c.context_bound**2 / (min(self.growth, 1) * self.ridge)) * self.J
            spread = c.noise_scale * math.sqrt(d * math.log(inner / c.alpha))
            root = math.sqrt(self.ridge) * S
            factor = math.sqrt(1 + self.M * self.growth) + self.M * math.sqrt(2 * self.growth)
            return root + factor * (spread + root)
        gram = self.gram[agent, model]
        log_det = np.linalg.slogdet(gram)[1] - d * math.log(self.ridge)
        bias = self.ridge * S / math.sqrt(np.linalg.eigvalsh(gram)[0])
        return c.noise_scale * math.sqrt(2 * math.log(2 * self.J / c.alpha) + log_det) + bias

    def play(self, agent, round_):
        features, expected, best = decision_set(
            self.environment, self.world, self.key, agent, round_
        )
        scores = []
        for arm in range(self.environment.arm_count):
            model, column = (0, arm) if self.J == 1 else (arm, 0)
            x = features[:, column].astype(float)
            inverse = np.linalg.inv(self.gram[agent, model])
            width = self.config.exploration_scale * self.beta(agent, model)
            scores.append(x @ inverse @ self.b[agent, model] + width * math.sqrt(x @ inverse @ x))
        scores = np.array(scores, np.float32)
        first = integer(len(scores), self.key, agent, round_, int(Purpose.TIE), 0)
        top = [a for a in range(len(scores)) if scores[a] >= scores.max() - 1e-6]
        arm = min(top, key=lambda a: (a - first) % len(scores))
        reward = float(uniform(self.key, agent, round_, int(Purpose.REWARD), 0) < expected[arm])
        model, column = (0, arm) if self.J == 1 else (arm, 0)
        x = features[:, column].astype(float)
        self.gram_local[agent, model] += np.outer(x, x)
        self.b_local[agent, model] += reward * x
        self.exchange_if_due(agent, round_)
        return float(expected[best] - expected[arm]), reward

    def exchange_if_due(self, agent, round_):
        grown = np.prod(np.linalg.det(self.gram[agent] + self.gram_local[agent]))
        if grown > (1 + self.growth) * np.prod(np.linalg.det(self.gram[agent])):
            self.uploads.append((round_, agent))
            self.gram_server = self.gram_server + self.gram_local[agent]
            self.b_server = self.b_server + self.b_local[agent]
            self.gram_local[agent], self.b_local[agent] = 0.0, 0.0
            self.gram[agent], self.b[agent] = self.gram_server, self.b_server


@pytest.mark.parametrize("environment", [LINEAR, CLASSES], ids=["linear", "classification"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_compiled_loop_agrees_with_the_reference_round_by_round(name, environment):
    settings, rounds = config(**VARIANTS[name]), 60
    simulation = simulate(settings, environment, rounds, 3, 1)
    reference = Reference(settings, environment, rounds, 3, 1)
    regret, reward = np.zeros(3), np.zeros(3)
    for t in range(1, rounds + 1):
        simulation.advance(t)
        for agent in range(3):
            lost, earned = reference.play(agent, t)
            regret[agent] += lost
            reward[agent] += earned
        np.testing.assert_array_equal(simulation.reward, reward)
        np.testing.assert_allclose(simulation.regret, regret, atol=1e-5)
        assert simulation.syncs == len(reference.uploads)
    assert 3 < len(reference.uploads) < 3 * rounds
    for agent in range(3):
        inverse = np.linalg.inv(reference.gram[agent])
        np.testing.assert_allclose(simulation.state.views.inverse[agent], inverse, rtol=1e-9)
        estimate = np.einsum("mij,mj->mi", inverse, reference.b[agent])
        views = simulation.state.views
        np.testing.assert_allclose(views.estimate[agent], estimate, rtol=1e-9, atol=1e-12)


def test_chunks_do_not_change_a_bit():
    whole, pieces = (simulate(config(), LINEAR, 90, 0, 0) for _ in range(2))
    whole.advance(90)
    for stop in (1, 2, 17, 64, 90):
        pieces.advance(stop)
    np.testing.assert_array_equal(whole.regret, pieces.regret)
    np.testing.assert_array_equal(whole.state.views.inverse, pieces.state.views.inverse)


def test_growth_is_one_over_m_squared_by_default():
    for agents in (1, 4, 10):
        constants = make_plan(config(), Linear(agents=agents, dim=3, arms=4).facts, 100).constants
        assert constants.threshold == pytest.approx(math.log(1 + agents**-2))
    assert make_plan(config(growth=3.0), LINEAR.facts, 100).constants.threshold == pytest.approx(
        math.log(4)
    )


def test_the_radius_is_that_of_the_theorem():
    """M = 4, α = 1/16, λ = 1/S² = 1/4, σ = 1/2, δ = 0.01, d = 3, T = 4 · 250."""
    environment = Linear(agents=4, dim=3, arms=4)
    constants = make_plan(config(parameter_bound=2.0), environment.facts, 250).constants
    logarithm = math.log((1 + 1000 * 16 * 4) / 0.01)
    factor = math.sqrt(1.25) + 4 * math.sqrt(0.125)
    expected = 1 + factor * (0.5 * math.sqrt(3 * logarithm) + 1)
    assert constants.published_bias == pytest.approx(expected)
    assert constants.base == 0.25


def test_an_exchange_concerns_one_agent_and_the_server():
    run = federate(config(), LINEAR, 60, 0, 0)
    run.advance(60)
    counts = run.network.transcript.messages
    assert counts["Upload"] == counts["Download"] == run.syncs
    assert run.messages == 2 * run.syncs
    assert run.bytes == run.network.transcript.payload_bytes == 2 * run.syncs * 8 * 9
    per_agent = run.one("server").state.exchanges.tolist()
    assert min(per_agent) > 0
    assert len(set(per_agent)) > 1  # not in step


def test_others_do_not_notice_an_exchange():
    """Between own exchanges what an agent acts on stays the same, whatever others upload."""
    simulation = simulate(config(growth=2.0), LINEAR, 200, 0, 0)
    views, exchanged = simulation.state.views, 0
    for stop in range(1, 201):
        before, syncs = views.theta.copy(), simulation.syncs
        held = simulation.state.statistic[:, 0, 0].copy()
        simulation.advance(stop)
        emptied = simulation.state.statistic[:, 0, 0] < held
        changed = (views.theta != before).any(axis=(1, 2))
        assert not (changed & ~emptied & (held > 0)).any()
        exchanged += simulation.syncs - syncs
    assert exchanged > 9


def test_a_later_agent_gets_what_was_uploaded_in_the_same_round():
    """α tiny: everybody exchanges in round 1, in order; the last one knows all three records."""
    simulation = simulate(config(growth=1e-9), LINEAR, 10, 0, 0)
    simulation.advance(1)
    assert simulation.syncs == 3
    traces = [np.trace(np.linalg.inv(simulation.state.views.inverse[i, 0])) for i in range(3)]
    assert traces == sorted(traces)
    assert traces[2] == pytest.approx(3 + simulation.state.total[0, [0, 3, 5]].sum())


def test_nothing_is_lost_or_counted_twice():
    simulation = simulate(config(), LINEAR, 150, 0, 0)
    simulation.advance(150)
    held = simulation.state.total[0] + simulation.state.statistic[:, 0].sum(axis=0)
    records = federate(config(), LINEAR, 150, 0, 0)
    seen = []
    for agent in records.of("agent"):

        def note(decision, reward, agent=agent, observe=agent.observe):
            x = agent.state.open[decision.number].context
            seen.append(np.append(np.outer(x, x)[np.triu_indices(3)], reward * x))
            return observe(decision, reward)

        agent.observe = note
    records.advance(150)
    assert len(seen) == 450
    np.testing.assert_allclose(held, np.sum(seen, axis=0), rtol=1e-9)


@pytest.mark.parametrize("confidence", ["published", "adaptive"])
def test_the_radius_holds(confidence):
    environment = Linear(agents=4, dim=3, arms=5)
    settings = config(confidence=confidence, alpha=0.1)
    worst = []
    for replicate in range(60):
        run = simulate(settings, environment, 200, 5, replicate)
        truth = environment.true_parameters(run.world)
        ratios = []
        for stop in range(20, 201, 20):
            run.advance(stop)
            ratios.append(run.confidence_ratio(truth))
        worst.append(max(ratios))
    assert np.mean(np.array(worst) > 1.0) <= 0.1


def test_it_learns_together():
    environment = Linear(agents=9, dim=4, arms=6)
    alone = fb.system("linucb-alone")
    shared = fb.system("fedlinucb-async", confidence="adaptive")
    regret = {}
    for entry in (alone, shared):
        run = simulate(entry.config, environment, 1500, 1, 0)
        run.advance(1500)
        regret[entry.label] = run.regret.mean()
    assert regret["fedlinucb-async"] < regret["linucb-alone"] / 2


def test_fewer_exchanges_the_larger_the_growth():
    counts = []
    for growth in (0.01, 0.3, 3.0):
        run = simulate(config(growth=growth), LINEAR, 400, 0, 0)
        run.advance(400)
        counts.append(run.syncs)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 4 * counts[2] > 0


def test_nothing_is_private_and_it_says_so():
    stated = claim(plan_of(config(), LINEAR, 100))
    assert (stated.holds_for, stated.epsilon, stated.epsilon_contents) == (
        "nothing", math.inf, math.inf,
    )  # fmt: skip
    assert "nobody" in stated.from_whom
    assert stated.headline == "no finite ε: statistics leave in clear"
    assert any("exact sum" in limit.why for limit in stated.not_protected)
    public = claim(plan_of(config(), CLASSES, 100)).conditional_on
    assert public == CLASSES.facts.public


def test_epsilon_is_infinite_from_the_first_exchange_on():
    simulation = simulate(config(), LINEAR, 50, 0, 0)
    assert simulation.epsilon == 0.0
    simulation.advance(1)
    assert simulation.syncs > 0
    assert simulation.epsilon == math.inf


def test_records_out_of_bounds_are_refused_or_clipped():
    with pytest.raises(ConfigError, match="context_bound"):
        make_plan(config(context_bound=0.9), LINEAR.facts, 100)
    simulation = simulate(config(), LINEAR, 100, 0, 0)
    narrow = simulation.plan.constants._replace(context_bound=0.7)
    simulation.plan = msgspec.structs.replace(simulation.plan, constants=narrow)
    with pytest.raises(BoundExceededError, match=r"agent \d, round \d+: a context is longer"):
        simulation.advance(100)
    clipped = simulate(config(context_bound=0.6, out_of_bounds="clip"), LINEAR, 50, 0, 0)
    clipped.advance(50)
    held = clipped.state.total[0] + clipped.state.statistic[:, 0].sum(axis=0)
    assert held[[0, 3, 5]].sum() <= 3 * 50 * 0.36


@pytest.mark.parametrize(
    ("key", "value"),
    [("growth", 0.0), ("growth", -1.0), ("epsilon", 1.0), ("schedule", "every(3)"), ("alpha", 1.0)],
)
def test_impossible_settings_name_their_key(key, value):
    with pytest.raises(ConfigError, match=rf"system\.{key}"):
        config(**{key: value})


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_smallest_runs_work(rounds):
    simulation = simulate(config(), Linear(agents=1, dim=1, arms=2), rounds, 0, 0)
    simulation.advance(rounds)
    assert simulation.done == rounds
    assert np.isfinite(simulation.regret).all()
