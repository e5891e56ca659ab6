"""What FCLUB's variants promise, and whether the noise that they name is there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.privacy import gaussian
from fedbandits.random import Purpose, normals
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub_published import PRESETS
from fedbandits.systems.fclub_published.claim import claim
from fedbandits.systems.fclub_published.plan import levels_of, make_plan
from fedbandits.systems.servers.roles import GLOBAL
from fedbandits.testing.plays import federate, plan_of, simulate

WORLD = Clustered(users=8, clusters=2, servers=4, dim=3, items=4)
PUBLISHED = system("fclub-published").config


def stated(name, rounds=10_000, **parts):
    return claim(plan_of(system(name, **parts).config, WORLD, rounds))


@pytest.mark.parametrize("name", PRESETS)
def test_who_sends_something_claims_no_finite_epsilon(name):
    silent = name in ("linucb-per-user", "club", "sclub")
    found = stated(name)
    assert found.holds_for == ("interactive" if silent else "nothing")
    assert found.epsilon == (0.0 if silent else math.inf)
    assert (found.paper_claims == (1.0, 0.1)) == (name == "fclub-published")
    if not silent:
        assert any("determinant triggers read raw data" in line for line in found.not_protected)


def test_the_published_claim_composes_the_trees_of_all_phases():
    found = stated("fclub-published", 10_000)
    assert len(found.events) == 13  # phases begin after 0, 2, 6, …, 8190 rounds
    tree = found.events[0].plan
    per_tree = math.sqrt(tree.releases.bit_length()) * 2.0 / tree.scale
    assert found.mu == pytest.approx(math.sqrt(13) * per_tree)
    assert found.epsilon_contents == gaussian.epsilon_of(found.mu, 0.1)
    assert 0.0 < found.epsilon_contents < 1.0
    for words in ("split clusters by raw data", "every phase draws a fresh one"):
        assert any(words in line for line in found.not_protected)


@pytest.mark.parametrize(
    ("uploads", "levels"), [(1, 2), (2, 3), (3, 3), (4, 4), (7, 4), (8, 5), (11_571, 15)]
)
def test_levels_of_the_papers_tree(uploads, levels):
    assert levels_of(uploads) == levels == math.ceil(math.log2(uploads + 1)) + 1


def test_the_noise_of_algorithm_5():
    constants = make_plan(PUBLISHED, Clustered().facts, 100_000).constants
    uploads = math.ceil(10 * math.log(1e5) / math.log(1.01))
    nu = math.ceil(math.log2(uploads + 1)) + 1
    assert constants.most_releases == uploads + 1
    assert constants.noise_scale**2 == pytest.approx(64 * nu * math.log(20) ** 2)
    assert constants.shift == pytest.approx(
        8 * math.sqrt(2 * nu) * math.log(40) * (4 * math.sqrt(10) + 2 * math.log(2 * 25 / 0.01))
    )
    assert (constants.ridge, constants.private) == (0.0, True)


class TestNoise:
    """Uploads in the transcript of a run, less what is known to be in them."""

    def uploads(self, rounds=200, **parts):
        config = system("fclub-published", alpha1=9.0, **parts).config
        run = federate(config, WORLD, 1000, 0, 0)
        run.advance(rounds)
        return run, [m for _, m in run.network.transcript.deliveries if hasattr(m, "sums")]

    def test_it_is_in_every_upload_and_report(self):
        run, messages = self.uploads(60)
        scale, shift = run.plan.constants.noise_scale, run.plan.constants.shift
        reports = [m for m in messages if type(m).__name__ == "PhaseReport" and m.phase == 0]
        noise = np.array([np.frombuffer(m.sums)[:9] for m in reports])
        noise[:, [0, 3, 5]] -= 2 * shift  # nothing was learned yet: all else is noise
        noise[:, [0, 3, 5]] /= math.sqrt(2)
        draws = [normals(9, run.stage.key, c + 8, 0, Purpose.PRIVACY_NOISE) for c in (0, 2, 4, 6)]
        np.testing.assert_allclose(noise, scale * np.array(draws), rtol=1e-6)

    def test_running_sums_of_uploads_carry_the_trees_noise(self):
        """What one cluster has sent by its k-th upload is 2ρ + 3ρ(k-1) + records + H_k."""
        run, messages = self.uploads(120)
        constants = run.plan.constants
        trees = run.of("server")[0].local.trees
        server = run.of("server")[0]
        sent = [
            np.frombuffer(m.sums)
            for m in messages
            if m.sender == "server-0" and type(m).__name__ == "Upload"
        ]
        first = next(m for m in messages if m.sender == "server-0")
        total = np.frombuffer(first.sums) + sum(sent)
        held = server.local.trees.held[0]
        shift = np.zeros(9)
        shift[[0, 3, 5]] = (2.0 + 3.0 * len(sent)) * constants.shift
        records = (
            server.local.sums.sum(axis=0)
            - server.local.buffer[0]
            + np.append(
                np.where(shift > 0, 3.0 * constants.shift, 0.0) + trees.coming[0] - held, 0.0
            )
        )
        np.testing.assert_allclose(total[:9], (records[:9] + shift + held), rtol=1e-6, atol=1e-6)
        assert np.abs(held).min() > 0.0

    def test_a_used_up_tree_uploads_nothing_more(self):
        run, messages = self.uploads(200, privatizer="published(2)")
        sent = [m for m in messages if type(m).__name__ == "Upload" and m.sender == "server-1"]
        assert len(sent) == 1  # two more releases: one at the renewal, one after this upload
        assert run.of("server")[1].local.trees.releases[0] == 3 == run.plan.constants.most_releases

    def test_the_global_server_draws_none(self):
        run, _ = self.uploads(30)
        assert not hasattr(run.one("global"), "_noise")
        assert run.one("global").name == GLOBAL


def test_published_noise_hides_what_there_is_to_learn():
    """The published curve of the authors has no noise in it; with it, nothing is learned."""
    regret = {}
    for name in ("fclub-published", "linucb-per-user"):
        run = simulate(system(name).config, Clustered(users=10, clusters=2), 5000, 0, 0)
        run.advance(5000)
        regret[name] = run.regret.sum()
    assert regret["fclub-published"] > 3 * regret["linucb-per-user"]
