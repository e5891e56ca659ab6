"""Releases of linear agents as configured, for an audit. Compiled."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.kernels import TREE, draw_slot, simulate_share
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.rounds import simulate_release

_NOISE = int(Purpose.PRIVACY_NOISE)


@compiled
def release_some(
    constants: Constants, agent: int, steps: Ints, sums: Floats, draws: Floats, key: Key, run: int,
    noisy: Floats,
) -> None:  # fmt: skip
    """Make some releases of one agent, by the code of the simulation, into ``noisy`` (steps, size).

    Draws that only releases in between would have made are made too. Shares of secure sums are
    written in the units of records.

    Parameters
    ----------
    steps : (steps,) int64
        Their numbers, from 1, in order.
    sums : (steps, models, d (d + 3) / 2) float64
        The exact running sums.
    draws : (slots, size) float64
        Scratch for draws in use.
    key, run
        They name the random draws.
    """
    draws[:] = 0.0
    done = 0
    for place in range(steps.size):
        k = steps[place]
        before = k & (k - 1) if constants.mechanism == TREE else k - 1
        while before > done:
            # Of nobody's name in the simulation.
            party, name = constants.agents + before, run * constants.agents + agent
            fill_normal(draws[draw_slot(constants.mechanism, before)], key, party, name, _NOISE)
            if constants.step > 0.0:  # draws of shares are whole numbers of steps
                simulate_share(
                    constants.mechanism, constants.noise_deviation[agent], constants.step,
                    constants.coefficients, constants.entry_scale, draws, before, noisy[place],
                )  # fmt: skip
            before = before & (before - 1) if constants.mechanism == TREE else before - 1
        name = run * steps.size + place
        simulate_release(constants, sums[place], draws, k, key, agent, name, noisy[place])
        if constants.step > 0.0:
            for i in range(noisy.shape[1]):
                noisy[place, i] *= constants.step
        done = k


@compiled
def draws_of_some(
    constants: Constants, agent: int, steps: Ints, names: Ints, key: Key, run: int, draws: Floats
) -> None:  # fmt: skip
    """Write the standard normals of which :func:`release_some` makes releases, into ``draws``.

    Parameters
    ----------
    names : (draws,) int64
        The steps of the wanted draws.
    draws : (draws, size) float64
        Receives them.
    """
    for row in range(names.size):
        place = np.searchsorted(steps, names[row])
        if place < steps.size and steps[place] == names[row]:
            fill_normal(draws[row], key, agent, run * steps.size + place, _NOISE)
        else:
            name = run * constants.agents + agent
            fill_normal(draws[row], key, constants.agents + names[row], name, _NOISE)


@compiled
def sum_some(
    constants: Constants, agent: int, honest: int, steps: Ints, sums: Floats, draws: Floats,
    key: Key, run: int, noisy: Floats,
) -> None:  # fmt: skip
    """Add the noise of other honest agents to releases of one agent: their sum is a secure sum.

    Parameters
    ----------
    honest
        Number of agents with noise unknown to the attacker, this agent included.
    steps, draws, key, run
        See :func:`release_some`.
    sums : (steps, models, d (d + 3) / 2) float64
        Zeros.
    noisy : (steps, size) float64
        Releases of the agent, to which the noise is added.
    """
    share = np.zeros(noisy.shape)
    for other in range(1, honest):
        place = (agent + other) % constants.agents
        release_some(constants, place, steps, sums, draws, key, run, share)
        for k in range(noisy.shape[0]):
            for i in range(noisy.shape[1]):
                noisy[k, i] += share[k, i]
