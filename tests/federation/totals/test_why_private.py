"""Why shares of one noise are enough, by brute force: whoever comes when, whoever colludes.

B is the causal factor of the mechanism that would protect one sum. Agent j's noise in total k is
(B w_j) at j's newest release in it: P_j B w_j. A record of agent i counts from the first sum k* on
that i is in, so it moves totals by the step s = 1[k ≥ k*]. What an attacker learns is
sᵀ (Σ_j P_j B Bᵀ P_jᵀ)⁺ s over the agents whose noise it does not know. Claimed: each sum has h of
them at least, each adds 1/h of the variance, and then it is at most sᵀ (B Bᵀ)⁻¹ s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fedbandits.privacy.continual import encoder, toeplitz_coefficients
from tests.federation.totals.world import World

RNG = np.random.default_rng(7)
#: Rounding of eigenvalues and inverses.
ROOM = 1.0 + 1e-6


def toeplitz(n):
    c = toeplitz_coefficients(n)
    return np.array([[c[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


def tree(n):
    """Node j is drawn at release j, and is in release k if it is one of k's blocks."""
    factor = np.zeros((n, n))
    for k in range(1, n + 1):
        block = k
        while block:
            factor[k - 1, block - 1] = 1.0
            block -= block & -block
    return factor


def optimal(n):
    return np.tril(np.ones((n, n))) @ np.linalg.inv(encoder(n, 0.9))


def unequal(n):
    return np.tril(RNG.normal(size=(n, n)), -1) * 0.5 + np.diag(RNG.uniform(0.5, 2.0, n))


FACTORS = {"toeplitz": toeplitz, "tree": tree, "optimal": optimal, "unequal": unequal}


class Case(NamedTuple):
    """Totals that were seen: ``newest[k, j]`` is j's release in total k, and ``known`` noise."""

    factor: np.ndarray
    newest: np.ndarray
    known: np.ndarray
    least: int
    colluding: int

    @property
    def honest(self):
        return self.least - self.colluding


def drawn_sets(least, releases, agents):
    """Sums of random members, none of too few."""
    newest = np.zeros((releases, agents), int)
    rate = RNG.uniform(0.2, 1.0)
    for k in range(releases):
        newest[k] = newest[k - 1] if k else 0
        members = RNG.random(agents) < rate
        if members.sum() >= least:
            newest[k, members] = k + 1
    return newest


def drawn_case(factor):
    releases, agents = int(RNG.integers(1, 12)), int(RNG.integers(2, 9))
    least = int(RNG.integers(2, agents + 1))
    colluding = int(RNG.integers(1, least))
    known = np.zeros(agents, bool)
    known[RNG.permutation(agents)[:colluding]] = True
    return Case(factor(releases), drawn_sets(least, releases, agents), known, least, colluding)


def covariance(case, shares):
    """Covariance of the noise of all totals that is left to an attacker, each agent's 1/shares."""
    found = np.zeros((len(case.newest),) * 2)
    for newest in case.newest.T[~case.known]:
        rows = np.where((newest > 0)[:, None], case.factor[newest - 1], 0.0)
        found += rows @ rows.T / shares
    return found


def squared(noise, step):
    """stepᵀ noise⁺ step; infinite where the step shows beside all noise."""
    values, vectors = np.linalg.eigh(noise)
    covered = values > 1e-11 * max(values.max(), 1e-300)
    if np.abs(vectors[:, ~covered].T @ step).max(initial=0.0) > 1e-6:
        return np.inf
    return float(((vectors[:, covered].T @ step) ** 2 / values[covered]).sum())


def losses(case, shares):
    """What is learned of records of honest agents, relative to one central mechanism's."""
    noise, central = covariance(case, shares), case.factor @ case.factor.T
    for k in range(len(case.newest)):
        opened = case.newest[k] == k + 1
        if (opened & ~case.known).any():
            step = (np.arange(len(case.newest)) >= k).astype(float)
            yield squared(noise, step) / (step @ np.linalg.solve(central, step))


@pytest.mark.parametrize("name", FACTORS)
def test_the_loss_is_at_most_that_of_one_central_mechanism(name):
    found = []
    for _ in range(400):
        case = drawn_case(FACTORS[name])
        found += losses(case, case.honest)
    assert len(found) > 1_000
    assert max(found) <= ROOM
    assert max(found) > 0.999  # no less noise would do


def test_so_it_is_for_the_sums_that_parties_make():
    """Members, skipped sums and closed ones are those of a federation, not of a formula."""
    for trial in range(25):
        agents, releases = int(RNG.integers(3, 7)), 6
        least = int(RNG.integers(2, agents + 1))
        world = World(agents, 1, 1, releases, least, trial)
        newest = []
        for k in range(1, releases + 1):
            world.play(k, np.flatnonzero(RNG.random(agents) < 0.7).tolist())
            newest.append(world.parties["controller"].state.opened.copy())
        known = np.arange(agents) < least - 1
        case = Case(toeplitz(releases), np.array(newest), known, least, least - 1)
        assert all(each <= ROOM for each in losses(case, case.honest))


def broken(shares_of):
    """Whether the claim fails for some case, with as much noise as ``shares_of`` a case says."""
    cases = (drawn_case(toeplitz) for _ in range(100))
    return any(each > ROOM for case in cases for each in losses(case, shares_of(case)))


def test_with_less_noise_the_claim_fails():
    assert broken(lambda case: case.honest * 1.01)
    assert broken(lambda case: len(case.known))  # divided by all agents
    assert broken(lambda case: case.least)  # as if nobody colluded
    assert not broken(lambda case: case.honest)


def test_a_running_sum_that_is_opened_for_two_sets_shows_one_agents_release():
    """The same k-th sum with and without agent 0: what is between them has one share of noise."""
    factor, honest = toeplitz(4), 5
    newest = np.repeat(np.arange(1, 5)[:, None], honest, axis=1)
    case = Case(factor, newest, np.zeros(honest, bool), honest + 1, 1)
    once = covariance(case, honest)
    step = np.ones(4)
    assert squared(once, step) <= squared(factor @ factor.T, step) * ROOM
    # The second opening of sum 1: the noise of all but agent 0, and nothing of its record.
    rows = np.vstack([factor, factor[:1]])
    of_others = rows @ rows.T / honest
    own = rows.copy()
    own[-1] = 0.0
    twice = (honest - 1) * of_others + own @ own.T / honest
    seen = squared(twice, np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    assert seen > 3.0 * squared(factor @ factor.T, step)


def test_noise_that_is_used_for_two_messages_of_one_sum_is_no_second_noise():
    """Were a message opened at its sum and again later, the record's step would not be covered.

    Agent 0's first release is opened in sum 1, and once more in sum 2 beside nobody new: helpers
    refuse it, as its base is not their record.
    """
    factor = toeplitz(2)
    newest = np.array([[1, 1, 1], [1, 1, 1]])
    case = Case(factor, newest, np.zeros(3, bool), 3, 0)
    noise = covariance(case, 3)
    assert np.isinf(squared(noise, np.array([0.0, 1.0])))
