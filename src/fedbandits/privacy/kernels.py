"""Compiled code of privacy: checks of records against their bounds, and noise of running sums.

Every price rests on bounds of one record: ‖x‖ ≤ L and a reward in a known range, or good units
among units within a capacity. All systems call these functions, in loops and in parties.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma, inlined, light
from fedbandits._typing import Floats, Floats32, Ints

#: Faults of a record.
NO_FAULT, CONTEXT_TOO_LONG, REWARD_TOO_LARGE, NOT_A_NUMBER, UNITS_IMPOSSIBLE = 0, 1, 2, 3, 9
#: Probability with which honest noise exceeds the limit that a receiver sets for a number.
IMPROBABLE = 1e-12
#: Share by which a context may exceed its bound. A cast to float32 moves the norm of a unit vector
#: by up to 2⁻²⁴; normalising 768 numbers in float32 moves the norm by up to 2⁻²⁰. Prices have room
#: for this share (:mod:`fedbandits.privacy.rounding`).
CAST_ROOM = 2.0**-20
#: Integer codes of the mechanisms, for compiled code.
NONE, TREE, TOEPLITZ, OPTIMAL = 0, 1, 2, 3
#: Deviations that honest noise exceeds with probability :data:`IMPROBABLE`.
_IMPROBABLE_DEVIATIONS = -NormalDist().inv_cdf(IMPROBABLE / 2.0)
#: Room for rounding in a sum: twice the room for two factors of a record.
_ROUNDING_ROOM = 1.0 + 4.0 * CAST_ROOM

#: Room for float32 in the square of a length.
_SQUARE_ROOM = (1.0 + CAST_ROOM) ** 2


@allocation_free
def all_finite(features: Floats32) -> bool:
    """Tell whether all numbers of a (d, arms) array are finite."""
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            if not math.isfinite(features[i, j]):
                return False
    return True


@allocation_free
def record_fault(
    context: Floats, reward: float, context_bound: float, lowest: float, highest: float, clip: bool
) -> tuple[int, float]:
    """Check a record against ‖x‖ ≤ L and lowest ≤ y ≤ highest; with ``clip`` correct it in place.

    A context may be longer by :data:`CAST_ROOM`, which a cast to float32 may have added.

    Clipping makes every record legal. NaN counts as 0, in a context and as a reward. In a context
    without finite length all finite entries become 0, and the rest is cut to length L. A context
    that is too long is scaled back into the ball of radius L, and the reward with it. Rewards
    outside the range, infinite ones too, move to the nearer end.

    ``context_bound`` is L; ``lowest`` and ``highest`` are -B and B, or a system's range of rewards.
    Returns ``NO_FAULT`` or the fault, and the reward to use.
    """
    square = 0.0
    for i in range(context.size):
        square += context[i] * context[i]
    if not (math.isfinite(square) and math.isfinite(reward)):
        if not clip:
            return NOT_A_NUMBER, reward
        square = _make_finite(context, context_bound)
        reward = 0.0 if math.isnan(reward) else reward
    if square > context_bound * context_bound * _SQUARE_ROOM:
        if not clip:
            return CONTEXT_TOO_LONG, reward
        # Slightly inside the ball, so that rounding cannot move the context outside.
        factor = context_bound * (1.0 - 1e-12) / math.sqrt(square)
        for i in range(context.size):
            context[i] *= factor
        reward *= factor  # (f·x, f·y) is linear in the same θ*, with less noise
    if not lowest <= reward <= highest:
        if not clip:
            return REWARD_TOO_LARGE, reward
        reward = min(max(reward, lowest), highest)
    return NO_FAULT, reward


@allocation_free
def _make_finite(context: Floats, bound: float) -> float:
    """Give a vector a finite length, in place, and return the square of the length.

    NaN entries become 0. A vector that is still infinite, or whose squared length overflows, is
    replaced by the remainder of its direction, cut to the bound.
    """
    largest = square = 0.0
    for i in range(context.size):
        if math.isnan(context[i]):
            context[i] = 0.0
        largest = max(largest, abs(context[i]))
        square += context[i] * context[i]
    if math.isfinite(square):
        return square
    square = 0.0
    for i in range(context.size):
        if math.isinf(largest):
            context[i] = math.copysign(1.0, context[i]) if math.isinf(context[i]) else 0.0
        else:
            context[i] /= largest
        square += context[i] * context[i]
    factor = bound * (1.0 - 1e-12) / math.sqrt(square)
    for i in range(context.size):
        context[i] *= factor
    return square * factor * factor


@compiled
def hold_contexts(contexts: Floats32, bound: float) -> None:
    """Cut every context of a decision set, (d, K), to ‖x‖ ≤ L, as :func:`record_fault` clips."""
    context = np.empty(contexts.shape[0])
    for k in range(contexts.shape[1]):
        for i in range(context.size):
            context[i] = contexts[i, k]
        record_fault(context, 0.0, bound, 0.0, 0.0, True)
        for i in range(context.size):
            contexts[i, k] = np.float32(context[i] * (1.0 - 1e-6))


@compiled
def contexts_fault(contexts: Floats32, context_bound: float) -> int:
    """Return the first fault of a decision set, (d, K), with the bound ‖x‖ ≤ L."""
    for k in range(contexts.shape[1]):
        square = 0.0
        for i in range(contexts.shape[0]):
            square += float(contexts[i, k]) * float(contexts[i, k])
        if not math.isfinite(square):
            return NOT_A_NUMBER
        if square > context_bound * context_bound * _SQUARE_ROOM:
            return CONTEXT_TOO_LONG
    return NO_FAULT


@compiled
def purchase_fault(units: Ints, good: Ints, capacity: Ints) -> int:
    """Check a purchase: 0 ≤ good units ≤ units ≤ capacity for each producer, (m,) each."""
    for i in range(units.size):
        if not 0 <= good[i] <= units[i] <= capacity[i]:
            return UNITS_IMPOSSIBLE
    return NO_FAULT


@compiled
def any_implausible(
    values: Floats, each: Floats, records: float, scales: Floats, deviation: float
) -> bool:
    """Tell whether a released number exceeds the limit for its records and noise.

    ``values`` (rows · size,) were released by another party. One unit of records adds at most
    ``each`` (size,) to a row, and a row holds at most ``records`` units. Its noise has deviations
    ``scales`` (size,) times ``deviation``. Gaussian noise exceeds its part of the limit with
    probability :data:`IMPROBABLE` for each number. NaN and infinity exceed the limit too.
    """
    for i in range(each.size):
        most = _ROUNDING_ROOM * records * each[i] + _IMPROBABLE_DEVIATIONS * deviation * scales[i]
        for place in range(i, values.size, each.size):
            if not abs(values[place]) <= most:
                return True
    return False


@light
@compiled
def draw_slot(mechanism: int, k: int) -> int:
    """Return the slot for the draw of release ``k`` (from 1), for the code ``mechanism``.

    The draw replaces a draw that is no longer needed.
    """
    if mechanism == TREE:
        slot = 0
        while (k >> slot) & 1 == 0:
            slot += 1
        return slot
    return k - 1


@light
@compiled
def draw_weight(mechanism: int, coefficients: Floats, k: int, slot: int) -> float:
    """Return the weight of the draw in ``slot`` at release ``k``; zero if the draw is unused.

    ``mechanism`` is the code of the mechanism, and ``coefficients`` are those of its plan.
    """
    if mechanism == TREE:
        return 1.0 if (k >> slot) & 1 else 0.0
    if mechanism == TOEPLITZ and slot < k:
        return float(coefficients[k - 1 - slot])
    if mechanism == OPTIMAL and slot < k:
        return float(coefficients[k * (k - 1) // 2 + slot])
    return 0.0


@light
@compiled
def release_deviation(mechanism: int, scale: float, coefficients: Floats, k: int) -> float:
    """Return the deviation of the noise in release ``k``, where the pattern is 1.

    ``mechanism`` is the code of the mechanism, ``scale`` the deviation of one draw, and
    ``coefficients`` those of its plan.
    """
    total = 0.0
    if mechanism == TREE:
        slots = 63
    elif mechanism in (TOEPLITZ, OPTIMAL):
        slots = k
    else:
        slots = 0
    for slot in range(slots):
        weight = draw_weight(mechanism, coefficients, k, slot)
        total += weight * weight
    return scale * math.sqrt(total)


@compiled
def add_release_noise(
    mechanism: int,
    scale: float,
    coefficients: Floats,
    pattern: Floats,
    draws: Floats,
    k: int,
    total: Floats,
) -> None:
    """Add the noise of release k, from 1, to ``total``, the exact running sum (size,), in place.

    ``mechanism`` is a code of :data:`CODES`, and ``coefficients`` are those of the plan, see
    :meth:`ContinualPlan.coefficients`. ``scale`` is the deviation s of one draw, where the pattern
    is 1. ``pattern`` (size,) has the deviations relative to s, see :func:`noise_pattern`. ``draws``
    (slots, size) are the standard normals in use, including the draw of step k.
    """
    for slot in range(draws.shape[0]):
        weight = scale * draw_weight(mechanism, coefficients, k, slot)
        if weight != 0.0:
            for i in range(total.size):
                total[i] += weight * (pattern[i] * draws[slot, i])


@inlined
def _add_product(total: float, carried: float, weight: float, value: float) -> tuple[float, float]:
    """Add ``weight`` · ``value`` to a sum and its carried error, as if in twice the precision.

    This is a step of Dot2 (Ogita, Rump & Oishi 2005).
    """
    product = weight * value
    lost = fma(weight, value, -product)
    added = total + product
    part = added - total
    lost += (total - (added - part)) + (product - part)
    return added, carried + lost


@compiled
def accurate_sum(weights: Floats, rows: Floats, out: Floats) -> None:
    """Compute Σ_j weights_j rows_j into ``out`` as if in twice the precision, see Dot2 above.

    Running sums are large, and encoded values may be small. The rounding of a record must stay
    within its margin. Extended precision would be enough, but not every machine has it.
    """
    for i in range(out.size):
        total = carried = 0.0
        for j in range(weights.size):
            total, carried = _add_product(total, carried, weights[j], rows[j, i])
        out[i] = total + carried


@light
@allocation_free
def own_weight(mechanism: int, coefficients: Floats, slot: int) -> float:
    """Return B_jj, the weight of a slot's draw at the release j for which it was drawn."""
    if mechanism == TREE:
        return 1.0
    return draw_weight(mechanism, coefficients, slot + 1, slot)


@light
@allocation_free
def share_deviation(
    mechanism: int, scale: float, step: float, coefficients: Floats, relative: float, k: int
) -> float:
    """Return the deviation of the new draw w of release k, in whole steps.

    The deviation is s |B_kk| / q times ``relative``, rounded up: s is ``scale``, q is ``step``.
    """
    unit = scale * own_weight(mechanism, coefficients, draw_slot(mechanism, k)) / step
    return float(math.ceil(unit * relative))


@allocation_free
def mixed_draws(mechanism: int, coefficients: Floats, draws: Floats, k: int, i: int) -> float:
    """Return the earlier part of a share's noise, ⌊Σ_{j<k} (B_kj / B_jj) w_j⌉, for entry i.

    ``draws`` (slots, size) are whole numbers. The sum is computed as if in twice the precision, and
    rounded once: the result is the same on every machine.
    """
    newest, total, carried = draw_slot(mechanism, k), 0.0, 0.0
    for slot in range(draws.shape[0]):
        weight = draw_weight(mechanism, coefficients, k, slot)
        if slot == newest or weight == 0.0:
            continue
        weight /= own_weight(mechanism, coefficients, slot)
        total, carried = _add_product(total, carried, weight, draws[slot, i])
    return float(np.rint(total + carried))


@allocation_free
def simulate_share(
    mechanism: int, scale: float, step: float, coefficients: Floats, pattern: Floats, draws: Floats,
    k: int, share: Floats,
) -> None:  # fmt: skip
    """Turn an exact running sum into a share, R + N in whole steps, in place: ``share`` (size,).

    The row of ``draws`` (slots, size) for release k holds standard normals, which are replaced by
    the whole numbers w. See :mod:`fedbandits.privacy.shares`.
    """
    newest = draw_slot(mechanism, k)
    for i in range(share.size):
        deviation = share_deviation(mechanism, scale, step, coefficients, pattern[i], k)
        draws[newest, i] = np.rint(deviation * draws[newest, i])
        mixed = mixed_draws(mechanism, coefficients, draws, k, i)
        share[i] = (share[i] / step + mixed) + draws[newest, i]


@allocation_free
def add_share(share: Floats, total: Ints) -> None:
    """Add a share, whole numbers in float64, to a total of 64-bit whole numbers, in place."""
    for i in range(share.size):
        total[i] += np.int64(share[i])
