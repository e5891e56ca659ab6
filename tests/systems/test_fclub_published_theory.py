"""FCLUB's theorems by hand-worked values, and what they depend on."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import draw_items
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub_published.theory import (
    Clusters,
    bounds,
    clusters_of_world,
    item_regularity,
    item_variance,
    theorem_1,
    theorem_2,
)
from fedbandits.testing.replicates import plan_of

WORLD = Clustered(users=8, clusters=2, servers=2, dim=10, gap=0.5)


def of(name, rounds=1000, world=WORLD, **parts):
    return {
        bound.theorem.rpartition(", ")[2]: bound
        for bound in bounds(plan_of(system(name, **parts).config, world, rounds), world)
    }


def test_theorem_1_by_hand():
    """T = e: ln T = 1. With n = 4, m = 9, L = 2, d = 3, γ = ½, λₓ = ½ and ln(1/δ) = ε = 1:
    4 (4 + ¼·3·8 + 8) = 72 and 3·2·√(9e) = 18 √e."""
    world = Clusters(users=4, clusters=9, servers=2, dimension=3, gap=0.5, regularity=0.5)
    found = theorem_1(np.array([math.e]), world, 1.0, math.exp(-1.0))
    assert found == pytest.approx([72.0 + 18.0 * math.sqrt(math.e)])


def test_theorem_2_by_hand():
    assert theorem_2(np.array([8.0]), 3, 5, 7, 2.0) == pytest.approx([3 * 5 * 7 * 3])


def test_theorem_1_grows_as_printed():
    world = Clusters(40, 5, 5, 10, 0.3, item_regularity(10))
    rounds = np.geomspace(2, 1e7, 30)
    assert (np.diff(theorem_1(rounds, world, 1.0, 0.1)) > 0).all()
    tighter = theorem_1(rounds, world, 4.0, 0.1)
    looser = theorem_1(rounds, world._replace(servers=10), 1.0, 0.1)
    assert (tighter < theorem_1(rounds, world, 1.0, 0.1)).all()
    assert (looser > theorem_1(rounds, world, 1.0, 0.1)).all()


def test_what_items_are_like():
    """λₓ and the variance of Assumption 2, against drawn items."""
    world = WORLD.world(replicate_key(3, 0))
    items = np.zeros((10, 10), np.float32)
    drawn = []
    for round_ in range(1, 4001):
        draw_items(world, replicate_key(3, 0), round_, items)
        drawn.append(items.T.astype(float))
    x = np.concatenate(drawn)
    eigenvalues = np.linalg.eigvalsh(x.T @ x / len(x))
    assert eigenvalues[0] == pytest.approx(item_regularity(10), rel=0.05)
    largest = max(
        ((math.cos(angle) * x[:, 0] + math.sin(angle) * x[:, -1]) ** 2).var()
        for angle in np.linspace(0.0, math.pi / 2, 50)
    )
    assert largest == pytest.approx(item_variance(10), rel=0.03)


def test_which_presets_have_which():
    assert set(of("fclub-published")) == {"Theorem 1", "Theorem 2"}
    assert set(of("fclub-dc")) == set(of("fclub-authors")) == {"Theorem 2"}
    for name in ("fclub-sync", "club", "sclub", "linucb-per-user", "homo", "homo-dc"):
        assert of(name) == {}
    assert of("fclub-dc", sharing="delayed(1, 1)") == {}  # ln 1 bounds nothing


def test_the_gap_is_that_of_the_world():
    found = clusters_of_world(plan_of(system("fclub-published").config, WORLD, 1000), WORLD)
    theta = np.unique(WORLD.world(replicate_key(0, 0)).theta, axis=0)
    assert found.gap == pytest.approx(np.linalg.norm(theta[0] - theta[1]))
    assert found.gap >= 0.5
    alone = Clustered(users=4, clusters=1, servers=2, dim=4)
    lonely = clusters_of_world(plan_of(system("fclub-published").config, alone, 10), alone)
    assert lonely.gap == 1.0  # nobody is different


def test_the_gap_of_many_users_takes_little_memory(tmp_path):
    """Given users are a cluster each: all pairs of 3,000 would take 720 MB."""
    path = tmp_path / "users.npy"
    np.save(path, Clustered(users=3000, clusters=3000, dim=10).world(replicate_key(0, 0)).theta)
    world = Clustered(preferences=str(path), servers=5)
    plan = plan_of(system("fclub-published").config, world, 10)
    tracemalloc.start()
    found = clusters_of_world(plan, world)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    theta = np.load(path)
    assert found.gap == pytest.approx(
        min(np.sort(np.linalg.norm(theta - row, axis=1))[1] for row in theta)
    )
    assert peak < 20e6


def test_what_of_theorem_1_a_run_does_not_meet():
    departs = " ".join(of("fclub-published")["Theorem 1"].departs)
    assert "fail with probability 3.1e-05" in departs  # 1 / (8 · 2 · 2 · 1000)
    assert "Assumption 2" in departs
    assert "scaled" not in departs
    spoiled = of("fclub-published", acts_on="buffered", exploration_scale=0.5)["Theorem 1"].departs
    assert any("S alone" in line for line in spoiled)
    assert any("scaled by 0.5" in line for line in spoiled)
    exact = of("fclub-published", failure_probability=1e-6)["Theorem 1"].departs
    assert not any("fail with probability" in line for line in exact)
