"""FedUCB's theorems by hand-worked values, and beside runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Classification, Linear
from fedbandits.experiments.plots.bounds import compare
from fedbandits.experiments.run import run
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import find_system
from fedbandits.systems.agents.theory import Setting, setting_of, widest_radius
from fedbandits.systems.feducb import theory

#: M = 4, d = 2, ρ_min = 1, ρ_max = 3, κ = ½, σ = ½, S = L = 1, α = 2/e.
SMALL = Setting(4, 2, 1.0, 3.0, 0.5, 0.5, 1.0, 1.0, 2.0 / math.e)
CLEAR = SMALL._replace(rho_max=1.0, kappa=0.0)
#: With SMALL, ρ_max/ρ_min + TL²/(dρ_min) = 3 + 14/2 = 10.
ROUNDS = np.array([14.0])
WORLD = Linear(agents=4, dim=3, arms=6)


def bounds_of(preset, environment=WORLD, rounds=2000, **settings):
    entry = proved(preset, **settings)
    plan = entry.plan(environment, rounds)
    return find_system(entry.system).bounds(plan, environment)


def test_the_radius_by_hand():
    # 2 ln(2/α) = 2 and d ln 10 = 4.6052: ½ √6.6052 = 1.28503; √12 + ½ · 2 = 4.46410.
    assert widest_radius(SMALL, ROUNDS)[0] == pytest.approx(1.28503 + 4.46410, abs=1e-5)


def test_proposition_1_by_hand():
    # D = 7: dT/D = 4, ln 10 = 2.302585: 2 √9.21034 + 4 = 10.06970.
    assert theory.proposition_1(SMALL, 7.0, ROUNDS)[0] == pytest.approx(10.06970, abs=1e-5)


def test_proposition_1_mended_by_hand():
    # ln(2 · 3 - 1) = 1.609438, times 4: 6.437752. Γ = 2 ln 8 = 4.158883: 2 √(2 Γ) = 5.768107.
    found = theory.proposition_1_mended(SMALL, 7.0, ROUNDS)[0]
    assert found == pytest.approx(6.437752 + 5.768107, abs=1e-5)
    # Without noise what is left of Proposition 1 is its root: ln 8 for ln(1 + 7).
    assert theory.proposition_1_mended(CLEAR, 7.0, ROUNDS)[0] == pytest.approx(
        theory.proposition_1(CLEAR, 7.0, ROUNDS)[0] - 4.0
    )


def test_theorem_1_by_hand():
    # 2MTd = 224, ln 10 + 1 = 3.302585: √739.779 = 27.19888; 4e · 5.74913 = 62.51101.
    assert theory.theorem_1(SMALL, ROUNDS)[0] == pytest.approx(62.51101 * 27.19888, rel=1e-5)


def test_theorem_1_mended_by_hand():
    # a = ¼, c = ¼/ln 1.25 = 1.120355, Γ = 4.158883, MTΓ = 232.8974:
    # √(e · c · 232.8974) = 26.63215; at D = 7, MΓ = 16.635532, times √7.842485 + ½: 54.90465.
    found = theory.theorem_1_mended(SMALL, 7.0, ROUNDS)[0]
    assert found == pytest.approx(2.0 * 5.74913 * (26.63215 + 54.90465), rel=1e-5)


def test_the_printed_last_step_loses_up_to_d_root_m():
    """What the proof adds up, at the theorem's own D, against what its last line says of it."""
    setting = SMALL._replace(agents=100, dimension=10)
    for rounds in (1e3, 1e7):
        growth = math.log(3.0 + rounds / 10.0)
        threshold = 2.0 * rounds * 10.0 / (growth + 1.0)
        first = math.sqrt(2.0 * 100.0 * rounds * 10.0 * growth)
        second = 100.0 * math.sqrt(threshold) * (10.0 * growth + 1.0)
        said = 2.0 * math.sqrt(2.0 * 100.0 * rounds * 10.0 * (growth + 1.0))
        assert 0.5 * 10.0 * math.sqrt(100.0) * 0.7 < (first + second) / said < 10 * math.sqrt(100)
        # The display before the last, with its factor 2eβ̄, is above the printed bound.
        radius = widest_radius(setting, np.array([rounds]))[0]
        printed = theory.theorem_1(setting, np.array([rounds]))[0]
        assert 2.0 * math.e * radius * said == pytest.approx(printed)


@pytest.mark.parametrize("name", ["theorem_1", "theorem_1_mended", "proposition_1"])
def test_bounds_grow_with_rounds(name):
    rounds = np.array([1.0, 10.0, 100.0, 1e4, 1e6, 1e8])
    given = (SMALL,) if name == "theorem_1" else (SMALL, 7.0)
    assert (np.diff(getattr(theory, name)(*given, rounds)) > 0).all()


def test_bounds_scale_as_their_formulas_do():
    many = np.array([1e10])
    four = theory.theorem_1(SMALL, 4.0 * many) / theory.theorem_1(SMALL, many)
    assert 2.0 < four[0] < 2.2  # √T, and a logarithm
    # Under noise syncs grow like T/D, without it like √(T/D).
    for setting, power in ((SMALL, 1.0), (CLEAR, 0.5)):
        sixteen = theory.proposition_1_mended(setting, 1.0, many) / theory.proposition_1_mended(
            setting, 16.0, many
        )
        assert sixteen[0] == pytest.approx(16.0**power, rel=1e-3)


def test_the_setting_is_read_from_the_plan():
    plan = proved("feducb-published", delta=0.1).plan(WORLD, 2000)
    found = setting_of(plan)
    assert found[:4] == (4, 3, plan.bounds.rho_min, plan.bounds.rho_max)
    assert found.alpha == pytest.approx(0.01)
    # In clear the ridge parameter 1 is shared out; four agents' martingales share α.
    clear = setting_of(proved("dislinucb").plan(WORLD, 2000))
    assert clear[1:5] == (3, 0.25, 0.25, 0.0)
    assert clear.alpha == pytest.approx(0.01 / 4)


def test_which_variants_have_which_bounds():
    def names(preset, **settings):
        return [b.theorem.rpartition(", ")[2] for b in bounds_of(preset, **settings)]

    everything = ["Theorem 1", "Theorem 1 mended", "Proposition 1", "Proposition 1 mended"]
    assert names("feducb-published", delta=0.1) == everything
    assert names("dislinucb") == everything
    assert names("feducb-nonprivate") == ["Theorem 1"]
    assert names("feducb-published", schedule="evenly(5)") == ["Theorem 1"]
    assert names("feducb") == names("linucb-alone") == names("ldp-silo") == []


def test_departures_are_named():
    theorem, mended, counted, _ = bounds_of("feducb-published")
    assert any("the theorem's is" in sentence for sentence in theorem.departs)
    assert mended.departs == ()
    assert any("ρ_max = ρ_min alone" in sentence for sentence in counted.departs)
    exact = bounds_of("feducb-published", schedule="determinant(theory)")[0]
    assert exact.departs == ()
    clear = bounds_of("dislinucb", exploration_scale=0.1)
    assert any("scaled by 0.1" in sentence for sentence in clear[1].departs)
    assert clear[2].departs == ()
    (fixed,) = bounds_of("feducb-nonprivate")
    assert sum("fixed in advance" in sentence for sentence in fixed.departs) == 1


def test_the_most_that_can_be_lost_is_the_worlds():
    assert bounds_of("feducb-published")[0].largest == pytest.approx(4 * 0.3)
    wide = bounds_of("feducb-published", Linear(agents=2, dim=3, arms=6, gap=0.2))
    assert wide[0].largest == pytest.approx(2 * 0.4)
    assert bounds_of("dislinucb", Classification(agents=2, dataset="wine")) == ()  # a model an arm


def test_proposition_1_fails_under_noise_and_its_mended_form_holds():
    """M = 4, d = 3, T = 2,000: the published noise makes the trigger fire at a steady pace."""
    systems = [
        proved("feducb-published", label=level, delta=0.1, schedule=f"determinant({level})")
        for level in ("M log T", "MT")
    ]
    systems.append(proved("dislinucb"))
    experiment = Experiment(rounds=2000, environment=WORLD, systems=tuple(systems), replicates=2)
    found = {
        (each.label, each.bound.theorem.rpartition(", ")[2]): each
        for each in compare(run(experiment), experiment.bounds())
    }
    assert found["MT", "Proposition 1"].verdict == "exceeded"
    assert found["MT", "Proposition 1"].measured > 5 * found["MT", "Proposition 1"].limit
    for label in ("M log T", "MT", "dislinucb"):
        mended = found[label, "Proposition 1 mended"]
        assert mended.measured <= mended.limit
    assert found["dislinucb", "Proposition 1"].verdict == "holds"
    assert found["dislinucb", "Theorem 1 mended"].measured > 0
    for (_, name), each in found.items():
        if name.startswith("Theorem 1"):
            assert each.verdict in ("holds", "vacuous")
