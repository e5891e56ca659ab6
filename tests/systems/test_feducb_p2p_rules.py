from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.privacy import gaussian
from fedbandits.reproduce.feducb import proved
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.feducb.plan import claim as central_claim
from fedbandits.systems.feducb.plan import make_plan as central_plan
from fedbandits.systems.feducb_p2p.kernels.state import next_arrival
from fedbandits.systems.feducb_p2p.plan import claim, make_plan
from fedbandits.testing.replicates import plan_of, simulate

ENVIRONMENT = Linear(agents=10, dim=10, arms=20)


def config_of(preset="feducb-p2p", **parts):
    return proved(preset, **{"delta": 0.1} | parts).config


def experiment(environment=ENVIRONMENT, **parts):
    return fb.Experiment(
        rounds=100, environment=environment, systems=(proved("feducb-p2p", **parts),)
    )


def test_on_the_complete_graph_the_plan_is_the_controller_s():
    mine = make_plan(config_of(), ENVIRONMENT.facts, 5000)
    central = central_plan(proved("feducb", delta=0.1).config, ENVIRONMENT.facts, 5000)
    assert mine.release == central.release
    for name, value in central.constants._asdict().items():
        np.testing.assert_array_equal(getattr(mine.constants, name), value, name)
    assert set(mine.peers.base) == {central.constants.base}
    assert set(mine.peers.log_term) == {central.constants.log_term}


def test_a_small_neighbourhood_has_a_small_ridge_parameter():
    star = make_plan(config_of(graph="star"), ENVIRONMENT.facts, 5000).peers
    assert star.base[0] == pytest.approx(star.base[1] * math.sqrt(10 / 2))
    assert set(star.base[1:]) == {star.base[1]}


def test_the_noise_does_not_depend_on_the_graph_but_through_the_first_release():
    parts = {"schedule": "growing(1.5, 40)"}
    deviations = {
        make_plan(config_of(graph=graph, gamma=gamma, **parts), ENVIRONMENT.facts, 5000).release
        for graph, gamma in (("complete", 1), ("ring", 2), ("line", 9))
    }
    assert len(deviations) == 1
    auto = [
        int(make_plan(config_of(graph=graph), ENVIRONMENT.facts, 50_000).constants.sync_times[0])
        for graph in ("complete", "ring")
    ]
    assert auto[0] < auto[1]  # fewer agents need longer to stand out from the noise


@given(
    st.sampled_from(["every(1)", "every(4)", "growing(1.3, 1)", "growing(2, 3)"]),
    st.integers(0, 9), st.integers(0, 120),
)  # fmt: skip
def test_arrivals_are_releases_that_are_late_by_some_lag(schedule, reach, round_):
    constants = make_plan(
        config_of(schedule=schedule, privatizer="none"), ENVIRONMENT.facts, 150
    ).constants
    releases, last = set(), 0
    while last < 300:
        last = int(next_sync(constants, last))
        releases.add(last)
    due = {r + lag for r in releases for lag in range(reach + 1)}
    assert next_arrival(constants, reach, round_) == min(t for t in due if t > round_)


@given(
    st.sampled_from(["every(1)", "every(4)", "growing(1.3, 1)", "growing(1.05, 3)"]),
    st.integers(1, 9),
)
def test_as_many_releases_are_kept_as_can_be_in_use(schedule, gamma):
    config = config_of(schedule=schedule, privatizer="none", graph="line", gamma=gamma)
    plan = make_plan(config, ENVIRONMENT.facts, 60)
    longest = int(plan.peers.reach.max())
    releases = [t for t in range(1, 60) if int(next_sync(plan.constants, t - 1)) == t]
    needed = max(1 + sum(t - longest < r <= t for r in releases) for t in range(60))
    assert plan.peers.depth == needed


class TestPublished:
    def test_noise_and_bounds_are_those_of_remark_6(self):
        """T = 60,000, γ = 3: m = 1 + ⌈log₂ 20,000⌉ = 16 for each of γ estimators."""
        config = config_of("feducb-p2p-published", graph="ring", gamma=3)
        plan = make_plan(config, ENVIRONMENT.facts, 60_000)
        assert plan.release.releases == 20_000
        assert plan.release.scale**2 == pytest.approx(16 * 16 * 4 * math.log(20) ** 2)
        spread = math.log(2 * 60_000 * 10 / 0.01)
        bound = math.sqrt(32) * 16 * 2 * math.log(40) * (4 * math.sqrt(10) + 2 * spread)
        assert plan.bounds.rho_min == pytest.approx(bound)
        assert set(plan.peers.base) == {plan.constants.base}
        assert plan.constants.base == pytest.approx(10 * bound)

    def test_the_threshold_is_divided(self):
        given_number = config_of("feducb-p2p-published", schedule="determinant(8)")
        assert (
            make_plan(given_number, ENVIRONMENT.facts, 100).constants.threshold == 4.0
        )  # 1 + L² = 2
        theory = config_of("feducb-p2p-published", schedule="determinant(theory)", gamma=2)
        plan = make_plan(theory, ENVIRONMENT.facts, 1000)
        growth = math.log(3 + 500 / (10 * plan.bounds.rho_min))
        assert plan.constants.threshold == pytest.approx(2 * 500 * 10 / (growth + 1) / 2)

    def test_named_thresholds_sync_an_estimator_about_as_often_as_they_say(self):
        for threshold, expected in (("M log T", 10), ("M^1.5", 4)):
            config = config_of(
                "feducb-p2p-published", graph="ring", gamma=2,
                schedule=f"determinant({threshold})",
            )  # fmt: skip
            simulation = simulate(config, ENVIRONMENT, 2000, 0, 0)
            simulation.advance(2000)
            mean = simulation.state.releases.made.mean()
            assert 0.5 * expected <= mean <= 1.5 * expected

    def test_cliques_cover_the_graph_and_nobody_pools_beyond_its_own(self):
        config = config_of("feducb-p2p-published", graph="line", gamma=2)
        lag = make_plan(config, ENVIRONMENT.facts, 100).peers.lag
        pooled = lag >= 0
        np.testing.assert_array_equal(pooled, pooled.T)
        np.testing.assert_array_equal(pooled @ pooled > 0, pooled)  # cliques do not overlap
        assert (pooled.sum(axis=1) <= 3).all()


class TestClaims:
    def test_the_sound_variant_holds_for_interactive_data_from_all_others(self):
        config = config_of(graph="ring", gamma=3, epsilon=0.5, delta=1e-6)
        stated = claim(plan_of(config, ENVIRONMENT, 1000))
        assert stated.holds_for == "interactive"
        assert stated.epsilon == pytest.approx(0.5, rel=5e-5)
        assert stated.epsilon <= 0.5 * (1 + 1e-12)
        assert "all other agents together" in stated.from_whom
        assert "controller" not in stated.from_whom
        assert any("graph, γ and the rounds" in c for c in stated.conditional_on)
        assert stated.paper_claims is None

    def test_the_price_is_one_running_sum_whatever_the_graph(self):
        releases = make_plan(config_of(graph="line", gamma=9), ENVIRONMENT.facts, 1000).release
        stated = claim(plan_of(config_of(graph="line", gamma=9), ENVIRONMENT, 1000))
        ratio = math.sqrt(0.5)  # of the noise of the two sums, where L = B = S = 1
        assert stated.mu == pytest.approx(releases.mu(ratio + 1 / ratio), rel=1e-12)
        assert gaussian.epsilon_of(stated.mu, 0.1) == stated.epsilon

    @pytest.mark.parametrize("view", ["raw", "joint"])
    def test_who_learns_at_once_has_a_claim_for_a_fixed_log(self, view):
        config = config_of(local_view=view, confidence="deviations")
        stated = claim(plan_of(config, ENVIRONMENT, 1000))
        assert stated.holds_for == "fixed log"

    def test_the_published_variant_leaks_timing(self):
        config = config_of("feducb-p2p-published", gamma=1, epsilon=1.0)
        stated = claim(plan_of(config, ENVIRONMENT, 1000))
        assert (stated.holds_for, stated.epsilon) == ("nothing", math.inf)
        assert stated.paper_claims == (1.0, 0.1)
        assert any("trigger" in limit.why for limit in stated.not_protected)
        assert not any("rounds of release" in c for c in stated.conditional_on)

    def test_contents_of_the_published_one_cost_a_single_estimator_s_sum(self):
        config = config_of("feducb-p2p-published", gamma=3, graph="line", privatizer="tree")
        stated = claim(plan_of(config, ENVIRONMENT, 900))
        assert stated.epsilon_contents == pytest.approx(1.0, rel=5e-5)
        central = proved("feducb-published", privatizer="tree", delta=0.1).config
        central = central_claim(plan_of(central, ENVIRONMENT, 300))
        assert stated.events == central.events  # 300 rounds an estimator


class TestConfiguration:
    @pytest.mark.parametrize(
        ("graph", "kind"),
        [
            ("ring", {"kind": "ring"}), ("grid", {"kind": "grid", "rows": "auto"}),
            ("grid(2)", {"kind": "grid", "rows": 2}),
            ("erdos-renyi(0.4)", {"kind": "erdos-renyi", "p": 0.4, "seed": 0}),
            ("barabasi-albert(2, 7)", {"kind": "barabasi-albert", "links": 2, "seed": 7}),
            ("net/edges.txt", {"kind": "file", "path": "net/edges.txt"}),
            ("edges.txt", {"kind": "file", "path": "edges.txt"}),
            ("file(edges)", {"kind": "file", "path": "edges"}),
        ],
    )  # fmt: skip
    def test_graphs_are_written_short(self, graph, kind):
        table = experiment(graph=graph).to_table()["systems"][0]["graph"]
        assert table == kind
        assert experiment(graph=table).to_table()["systems"][0]["graph"] == kind

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({"graph": "rng"}, r"system\.graph: given 'rng', allowed: complete, ring, .*file"),
            ({"graph": "erdos-reny(0.1)"}, r"system\.graph: given 'erdos-reny\(0.1\)'"),
            ({"graph": "erdos-renyi"}, r"system\.graph\.p: missing"),
            ({"graph": "erdos-renyi(0)"}, r"system\.graph\.p: given 0"),
            ({"graph": "barabasi-albert(0)"}, r"system\.graph\.links: given 0"),
            ({"gamma": 0}, r"system\.gamma: given 0, allowed: a whole number ≥ 1"),
            ({"gamma": 1.5}, r"system\.gamma: given 1.5"),
            ({"schedule": "determinant(3)"}, "optimal"),
        ],
    )
    def test_what_cannot_be_is_named(self, parts, message):
        with pytest.raises(ConfigError, match=message):
            proved("feducb-p2p", **parts)

    @pytest.mark.parametrize(
        ("parts", "kind", "message"),
        [
            ({"graph": "erdos-renyi(0.001)"}, ConfigError, r"systems\[0\]\.graph: none of"),
            ({"graph": "barabasi-albert(10)"}, ConfigError, r"systems\[0\]\.graph: barabasi"),
            ({"graph": "grid(3)"}, ConfigError, r"systems\[0\]\.graph: 10 agents"),
            ({"graph": "no/such.txt"}, DataError, r"no/such\.txt: no such file"),
        ],
    )
    def test_graphs_that_do_not_fit_are_named_before_anything_runs(self, parts, kind, message):
        with pytest.raises(kind, match=message):
            experiment(**parts).check()

    def test_more_estimators_than_memory_are_refused(self):
        with pytest.raises(ConfigError, match="gamma: given 1,000,000"):
            make_plan(config_of("feducb-p2p-published", gamma=10**6), ENVIRONMENT.facts, 100)
        make_plan(config_of(gamma=10**6), ENVIRONMENT.facts, 100)  # one estimator whatever γ

    @pytest.mark.parametrize(
        ("parts", "told"),
        [
            ({"graph": "ring", "gamma": 5}, None),
            ({"graph": "ring", "gamma": 6}, r"systems\[0\]\.gamma: given 6, .* more than 5 hops"),
            ({"gamma": 2}, r"systems\[0\]\.gamma: given 2, .* more than 1 hops"),
        ],
    )
    def test_a_gamma_beyond_the_diameter_is_warned_of(self, parts, told):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            experiment(**parts).check()
        assert bool(caught) == bool(told)
        if told:
            with pytest.warns(ConfigWarning, match=told):
                experiment(**parts).check()

    def test_one_agent_is_not_warned_of_its_one_hop(self):
        experiment(environment=Linear(agents=1, dim=2, arms=3)).check()


def test_a_graph_s_file_is_read_anew_for_every_run(tmp_path):
    file = tmp_path / "edges.txt"

    def messages():
        experiment = fb.Experiment(
            rounds=30, environment=Linear(agents=4, dim=2, arms=3),
            systems=(proved("feducb-p2p", graph=str(file), schedule="every(10)"),),
        )  # fmt: skip
        return int(fb.run(experiment).messages.isel(round=-1).sum())

    file.write_text("0 1\n1 2\n2 3\n", encoding="utf-8")
    line = messages()
    file.write_text("0 1\n1 2\n2 3\n0 2\n0 3\n1 3\n", encoding="utf-8")
    assert messages() == 2 * line
