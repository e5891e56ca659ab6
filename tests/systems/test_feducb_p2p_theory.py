"""FedUCB's theorem without a controller, by hand-worked values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Linear
from fedbandits.reproduce.feducb import proved
from fedbandits.systems import find_system
from fedbandits.systems.agents.theory import Setting
from fedbandits.systems.feducb.theory import theorem_1
from fedbandits.systems.feducb_p2p.theory import theorem_2

#: M = 4, d = 2, ρ_min = 1, ρ_max = 3, κ = ½, σ = ½, S = L = 1, α = 2/e.
SMALL = Setting(4, 2, 1.0, 3.0, 0.5, 0.5, 1.0, 1.0, 2.0 / math.e)
WORLD = Linear(agents=6, dim=3, arms=6)


def bounds_of(preset, **settings):
    entry = proved(preset, **settings)
    return find_system(entry.system).bounds(entry.plan(WORLD, 1000), WORLD)


def test_theorem_2_by_hand():
    # T = 28, γ = 2, three cliques: 3 + (28/2)/2 = 10, so β̄ = 5.74913 as for Theorem 1.
    # 2 · 4 · 3 · 2 · 28 · 2 = 2,688; times ln 10 + 1 = 3.302585: √8,877.35 = 94.21970.
    found = theorem_2(SMALL, 3, 2, np.array([28.0]))[0]
    assert found == pytest.approx(4 * math.e * 5.74913 * 94.21970, rel=1e-5)


def test_on_the_complete_graph_it_is_theorem_1():
    rounds = np.array([1.0, 50.0, 1e6])
    np.testing.assert_allclose(theorem_2(SMALL, 1, 1, rounds), theorem_1(SMALL, rounds))


def test_it_grows_with_rounds_cliques_and_delay():
    rounds = np.array([10.0, 1e3, 1e6])
    assert (np.diff(theorem_2(SMALL, 2, 3, rounds)) > 0).all()
    four = theorem_2(SMALL, 8, 3, rounds) / theorem_2(SMALL, 2, 3, rounds)
    np.testing.assert_allclose(four, 2.0)
    later = theorem_2(SMALL, 2, 9, rounds * 3.0) / theorem_2(SMALL, 2, 3, rounds)
    np.testing.assert_allclose(later, 3.0)  # T/γ is what it was, γT is nine times as much


def test_cliques_come_from_the_plan():
    # On a ring of six with γ = 1 the largest cliques are pairs: three cover it.
    (ring,) = bounds_of("feducb-p2p-published", graph="ring", schedule="determinant(theory)")
    assert "χ = 3" in ring.statement
    assert ring.departs == ()
    assert ring.largest == pytest.approx(6 * 0.3)
    (complete,) = bounds_of("feducb-p2p-published", schedule="determinant(theory)")
    rounds = np.array([1000.0])
    assert ring.at(rounds)[0] == pytest.approx(math.sqrt(3.0) * complete.at(rounds)[0])


def test_other_variants_have_none():
    assert bounds_of("feducb-p2p") == ()
    assert bounds_of("feducb-p2p-published", schedule="growing(1.5)") == ()
    (named,) = bounds_of("feducb-p2p-published")
    assert any("D is another" in sentence for sentence in named.departs)
