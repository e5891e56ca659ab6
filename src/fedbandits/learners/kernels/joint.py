"""One estimate from own records and what others released, with a bound on its error.

An agent has its own records (G, u) in clear, and the sums of others with noise: (Ṽ, ũ), where Ṽ =
G' + N and ũ = u' + h. The released sums are read in the eigenvectors Q of Ṽ: direction i counts
with a weight D_i = ω s_i / (s_i + κ), s_i its eigenvalue. The estimate is

    R = G + ρI + DṼ,    θ̂ = R⁻¹ (u + Dũ).

With z = R⁻¹x its error along x is zᵀ(Xᵀη) + zᵀD(X'ᵀη' + h - Nθ*) - ρ zᵀθ*, so that

    |⟨x, θ̂ - θ*⟩| ≤ r ‖z‖_{G + λI} + r' ‖Dz‖_{V' + λ'I} + w ‖Dz‖ + Sρ ‖z‖.

r and r' bound the noise of rewards, own and of others, w bounds ‖h - Nθ*‖. D and ω may depend on
what was released: the bound holds for all of them at once. Where releases say nothing, D is 0, and
what is left is a bound from own records alone. The derivation is in docs/confidence.md.

The sum of roots is at most the root of one quadratic form W (Cauchy & Schwarz), so that arms are
scored as with any other estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma, inlined
from fedbandits._typing import Bools, Floats, Floats32
from fedbandits.learners.kernels.assign import fill_diagonal, put_square
from fedbandits.learners.kernels.joint_release import (
    WEIGHTS,
    JointTerms,
    ReleasedNoise,
    ReleasedSpectrum,
    balance,
    others_radius,
    reward_radius,
    trace,
    weigh,
)
from fedbandits.learners.kernels.linucb import best_of_smaller
from fedbandits.learners.kernels.ridge import add_rank_one, add_record, apply_symmetric, unpack


class Joint(NamedTuple):
    """Knowledge of one agent from own records and others' releases, for each model."""

    statistic: Floats  # (models, d (d + 3) / 2): own records, packed
    ridge_inverse: Floats  # (models, d, d): (G + λI)⁻¹
    growth: Floats  # (models,): ln det(G + λI) - d ln λ
    inverse: Floats  # (models, d, d): R⁻¹
    estimate: Floats  # (models, d): θ̂
    own: Floats  # (models, d, d): R⁻¹ (G + λI) R⁻¹
    others: Floats  # (models, d, d): R⁻¹ K R⁻¹, K of others' rewards and noise
    shrinkage: Floats  # (models, d, d): R⁻²
    theta: Floats32  # (models, d): θ̂, which arms are scored with
    width: Floats32  # (models, d, d): c²W, as linucb.set_width has it
    cuts: Bools  # (models,): whether the bound of all releases is narrower: it cuts scores down


def empty_joint(agents: int, models: int, dimension: int) -> Joint:
    """Make arrays of so many agents, with one more axis in front."""
    square = (agents, models, dimension, dimension)
    return Joint(
        statistic=np.zeros((agents, models, dimension * (dimension + 3) // 2)),
        ridge_inverse=np.zeros(square),
        growth=np.zeros(square[:2]),
        inverse=np.zeros(square),
        estimate=np.zeros(square[:3]),
        own=np.zeros(square),
        others=np.zeros(square),
        shrinkage=np.zeros(square),
        theta=np.zeros(square[:3], np.float32),
        width=np.zeros(square, np.float32),
        cuts=np.zeros(square[:2], np.bool_),
    )


def copy_joint(joint: Joint) -> Joint:
    """Copy the knowledge into arrays of its own."""
    copied = {name: array.copy() for name, array in joint._asdict().items()}
    return Joint(**copied)


@inlined
def one_joint(joint: Joint, agent: int) -> Joint:
    """Return what one agent knows, as arrays that share memory with those of all."""
    return Joint(
        joint.statistic[agent],
        joint.ridge_inverse[agent],
        joint.growth[agent],
        joint.inverse[agent],
        joint.estimate[agent],
        joint.own[agent],
        joint.others[agent],
        joint.shrinkage[agent],
        joint.theta[agent],
        joint.width[agent],
        joint.cuts[agent],
    )


@compiled
def begin_joint(terms: JointTerms, joint: Joint) -> None:
    """Set what is known before the first record and the first release."""
    ridge, larger = terms.ridge, terms.martingale_ridge
    for m in range(joint.growth.size):
        fill_diagonal(joint.ridge_inverse, m, 1.0 / larger)
        fill_diagonal(joint.inverse, m, 1.0 / ridge)
        fill_diagonal(joint.own, m, larger / (ridge * ridge))
        fill_diagonal(joint.others, m, 0.0)
        fill_diagonal(joint.shrinkage, m, 1.0 / (ridge * ridge))
        refresh_joint(terms, joint, m)


@inlined
def refresh_joint(terms: JointTerms, joint: Joint, m: int) -> None:
    """Rewrite what arms of one model are scored with."""
    reward = reward_radius(terms.reward_noise, terms.own_log_term, joint.growth[m])
    bias = terms.parameter_bound * terms.ridge
    own = reward * math.sqrt(trace(joint.own[m]))
    others = math.sqrt(trace(joint.others[m]))
    shrinkage = bias * math.sqrt(trace(joint.shrinkage[m]))
    total = terms.scale * terms.scale * (own + others + shrinkage)
    a, c = total * reward * reward / own, total * bias * bias / shrinkage
    b = total / others if others > 0.0 else 0.0
    dimension = joint.estimate.shape[1]
    for i in range(dimension):
        joint.theta[m, i] = joint.estimate[m, i]
        # Only the upper triangle is read; whole rows are quicker to write.
        for j in range(dimension):
            entry = fma(a, joint.own[m, i, j], c * joint.shrinkage[m, i, j])
            joint.width[m, i, j] = 2.0 * fma(b, joint.others[m, i, j], entry)
        joint.width[m, i, i] *= np.float32(0.5)


@inlined
def observe_joint(
    terms: JointTerms, joint: Joint, m: int, context: Floats, reward: float, rounding: float,
    gain: Floats, moved: Floats,
) -> None:  # fmt: skip
    """Let an own record count at once.

    ``terms`` are those of the bound; ``joint`` changes. ``m``, ``context`` and ``reward`` are the
    record; ``rounding`` is that of :func:`~fedbandits.learners.kernels.ridge.add_record`. ``gain``
    and ``moved`` (d,) are buffers.
    """
    add_record(joint.statistic, m, context, reward, rounding)
    joint.growth[m] += add_rank_one(joint.ridge_inverse, m, context, gain)
    add_rank_one(joint.inverse, m, context, gain)
    residual = reward
    for i in range(context.size):
        residual -= joint.estimate[m, i] * context[i]
    for i in range(context.size):
        joint.estimate[m, i] += residual * gain[i]
    _shrink(joint.own, m, context, gain, moved, 1.0)
    if trace(joint.others[m]) > 0.0:  # without releases it is zero
        _shrink(joint.others, m, context, gain, moved, 0.0)
    _shrink(joint.shrinkage, m, context, gain, moved, 0.0)
    refresh_joint(terms, joint, m)


@allocation_free
def _shrink(
    squares: Floats, m: int, context: Floats, gain: Floats, moved: Floats, added: float
) -> None:
    """Turn R⁻¹BR⁻¹ into R₁⁻¹(B + added · xxᵀ)R₁⁻¹, R₁ = R + xxᵀ and gain = R₁⁻¹x.

    R₁⁻¹ = (I - gain xᵀ)R⁻¹ (Sherman & Morrison 1950).
    """
    apply_symmetric(squares, m, context, moved)
    quadratic = added
    for i in range(context.size):
        quadratic = fma(moved[i], context[i], quadratic)
    for i in range(context.size):
        a, b = quadratic * gain[i] - moved[i], -gain[i]
        for j in range(context.size):
            squares[m, i, j] = fma(b, moved[j], fma(a, gain[j], squares[m, i, j]))


@inlined
def load_joint(terms: JointTerms, joint: Joint, sums: Floats, noise: ReleasedNoise) -> None:
    """Take up new sums of what others released; all but own records is made anew.

    The weight ω is the one with the smallest c·(width) + (deviation of the estimate), both for a
    random direction. At c = 1 that is the width of the theorem, for a small c the error. ``sums``
    are of the newest releases of others, packed: (models, d (d + 3) / 2). ``noise`` is theirs.
    """
    dimension = joint.estimate.shape[1]
    gram, moment = np.zeros((dimension, dimension)), np.zeros(dimension)
    mine, mine_moment = np.zeros((dimension, dimension)), np.zeros(dimension)
    total = np.zeros(dimension)
    for m in range(joint.growth.size):
        unpack(sums[m], gram, moment)
        unpack(joint.statistic[m], mine, mine_moment)
        values, vectors = np.linalg.eigh(gram)
        released = ReleasedSpectrum(values, vectors, moment)
        reward = others_radius(terms, values, noise)
        kappa, best = balance(reward, noise), np.inf
        for weight in WEIGHTS:
            found = weigh(terms, mine, joint.growth[m], released, noise, kappa, reward, weight)
            if found.cost < best:
                best = found.cost
                put_square(found.inverse, joint.inverse, m)
                put_square(found.own, joint.own, m)
                put_square(found.others, joint.others, m)
                put_square(found.shrinkage, joint.shrinkage, m)
                for i in range(dimension):
                    total[i] = mine_moment[i] + found.moment[i]
                apply_symmetric(joint.inverse, m, total, joint.estimate[m])
        refresh_joint(terms, joint, m)


@allocation_free
def best_where_cut(
    cuts: Bools, theta: Floats32, width: Floats32, features: Floats32, first: int, arm: int,
    scores: Floats32,
) -> int:  # fmt: skip
    """Find the arm of the highest score of two, if the second one counts anywhere.

    ``cuts`` (models,) says where it does; the rest is as in
    :func:`~fedbandits.learners.kernels.linucb.best_of_smaller`.
    """
    some = False
    for m in range(cuts.size):
        some |= cuts[m]
    return best_of_smaller(features, theta, width, cuts, first, arm, scores) if some else arm
