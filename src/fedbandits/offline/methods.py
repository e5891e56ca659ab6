"""The four methods, for a user's own arrays, and the reward model of the doubly robust method.

All methods take a log, event by event, and the choices of the policy. A policy may learn during the
log, as long as a choice depends on earlier events alone. The reward model of an event is fitted on
earlier events alone, too. So the estimate stays unbiased, however bad the model is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.errors import DataError
from fedbandits.offline.estimates import Estimate, estimate_of, sums_of
from fedbandits.random import Purpose, replicate_key, uniforms

#: Events of the first block, and growth: a model of all earlier blocks predicts the next block.
_FIRST_BLOCK, _GROWTH = 16, 1.25


def blocks(count: int) -> Iterator[slice]:
    """Return consecutive blocks of 0 … ``count`` - 1, each a quarter of all blocks before."""
    start, stop = 0, _FIRST_BLOCK
    while start < count:
        yield slice(start, min(stop, count))
        start, stop = stop, max(stop + 1, int(stop * _GROWTH))


class RewardModel:
    """The mean reward of each action, as a linear function of the context and a constant.

    ``ridge`` is added to the diagonal of a Gram matrix: larger values keep predictions nearer to 0.
    """

    def __init__(self, arms: int, dimension: int, ridge: float = 1.0) -> None:
        size = dimension + 1
        self._gram = np.tile(ridge * np.eye(size), (arms, 1, 1))
        self._moment = np.zeros((arms, size))
        self._theta = np.zeros((arms, size))

    def predict(self, contexts: Floats, arms: Ints) -> Floats:
        """Predict the rewards of ``arms`` in (events, d) ``contexts``, (events,)."""
        theta = self._theta[arms]
        rewards: Floats = np.einsum("ij,ij->i", contexts, theta[:, :-1]) + theta[:, -1]
        return rewards

    def expect(self, contexts: Floats, shares: Floats) -> Floats:
        """Predict the mean reward of arms that are chosen with these ``shares``, (events, arms)."""
        of_arms = contexts @ self._theta[:, :-1].T + self._theta[:, -1]
        rewards: Floats = np.einsum("ij,ij->i", of_arms, shares)
        return rewards

    def fit(self, contexts: Floats, arms: Ints, rewards: Floats) -> None:
        """Learn from more events: (events, d) ``contexts``, the ``arms`` and their ``rewards``."""
        rows = np.hstack([contexts, np.ones((len(contexts), 1))])
        for arm in np.unique(arms):
            mine = rows[arms == arm]
            self._gram[arm] += mine.T @ mine
            self._moment[arm] += mine.T @ rewards[arms == arm]
            self._theta[arm] = np.linalg.solve(self._gram[arm], self._moment[arm])


def predictions(
    contexts: Floats | Floats32,
    actions: Ints,
    rewards: Floats,
    chosen: Ints | Floats,
    arms: int,
    ridge: float = 1.0,
) -> tuple[Floats, Floats]:
    """Predict rewards of logged and of ``chosen`` actions, by models of earlier events.

    ``contexts`` are (events, d), all other arrays and both predictions (events,). ``chosen`` may be
    the probabilities of all actions, (events, arms).
    """
    model = RewardModel(arms, contexts.shape[1], ridge)
    shares = chosen.astype(np.float64) if chosen.ndim > 1 else None
    taken = chosen.astype(np.int64)
    logged, of_chosen = np.zeros(len(actions)), np.zeros(len(actions))
    for block in blocks(len(actions)):
        # Rows as float64: sums of many float32 are not exact.
        rows = np.asarray(contexts[block], np.float64)
        logged[block] = model.predict(rows, actions[block])
        if shares is None:
            of_chosen[block] = model.predict(rows, taken[block])
        else:
            of_chosen[block] = model.expect(rows, shares[block])
        model.fit(rows, actions[block], rewards[block])
    return logged, of_chosen


#: Propensities may exceed 1, or fall below the smallest one, by rounding.
_ROOM = 1e-9
#: Largest distance of a sum of probabilities from 1.
_NEARLY = 1e-6
_IMPROPER = "is not above 0 and at most 1"


class Logged(NamedTuple):
    """A log as checked arrays, with a policy's choices."""

    actions: Ints  # (events,)
    rewards: Floats  # (events,)
    propensities: Floats  # (events,)
    chosen: Ints | Floats  # (events,), or probabilities of all actions, (events, arms)

    @property
    def matches(self) -> Floats:
        """Probability with which the policy takes the logged action, (events,)."""
        if self.chosen.ndim == 1:
            shares = self.actions == self.chosen
        else:
            shares = self.chosen[np.arange(len(self.actions)), self.actions]
        matches: Floats = np.asarray(shares, np.float64)
        return matches

    @property
    def weights(self) -> Floats:
        """Weights of events, (events,): the probability of a match over the propensity."""
        return self.matches / self.propensities


def logged(
    actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike | float, chosen: ArrayLike
) -> Logged:
    """Check a log; see :func:`ips`. DataError names the array, and the first wrong event."""
    taken = _whole("actions", actions)
    count = len(taken)
    log = Logged(
        taken,
        np.asarray(rewards, np.float64),
        np.asarray(propensities, np.float64),
        _shares(taken, chosen) if np.ndim(chosen) == 2 else _whole("chosen", chosen),
    )
    if log.propensities.ndim == 0:
        log = log._replace(propensities=np.full(count, log.propensities))
    for name, values in log._asdict().items():
        if values.shape[:1] != (count,) or (values.ndim > 1 and name != "chosen"):
            raise DataError(
                f"{name}: given an array of shape {values.shape}, allowed: one number for each of "
                f"the {count} events"
            )
    _refuse_first("rewards", ~np.isfinite(log.rewards), "is not a finite number")
    _refuse_first("propensities", ~_proper(log.propensities), _IMPROPER)
    return log


def accepted(propensities: ArrayLike, smallest: float | None = None, seed: int = 0) -> Bools:
    """Draw the events that replay may show, so that each action is shown equally often.

    An event is accepted with probability ``smallest / propensity``. If all propensities are equal,
    every event is accepted. ``propensities`` (events,) belong to the logged actions. ``smallest``
    is the smallest probability with which the logging policy takes any action, by default the
    smallest propensity. ``seed`` determines the draws.

    Raises
    ------
    DataError
        If a propensity is outside (0, 1], or below ``smallest``.
    """
    given = np.asarray(propensities, np.float64)
    _refuse_first("propensities", ~_proper(given), _IMPROPER)
    if smallest is not None and not 0.0 < smallest <= 1.0:
        raise DataError(f"smallest: given {smallest:g}, allowed: a number above 0 and at most 1")
    least = float(given.min(initial=1.0)) if smallest is None else smallest
    _refuse_first("propensities", given < least * (1.0 - _ROOM), f"is below {least:g}")
    return uniforms(len(given), replicate_key(seed, 0), 0, 0, Purpose.REWARD) < least / given


def replay(
    actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike | float, chosen: ArrayLike,
    *, shown: ArrayLike | None = None, seed: int = 0,
) -> Estimate:  # fmt: skip
    """Estimate by replay with rejection sampling: the mean reward of accepted, matching events.

    An event counts if the policy chose the logged action, and if the event was accepted
    (:func:`accepted`). All other events are passed over. For a policy that learns from the events
    that count, the estimate is the same as of a run with that number of rounds.

    Source: Li, Chu, Langford & Wang, "Unbiased offline evaluation of contextual-bandit-based news
    article recommendation algorithms" (WSDM 2011).

    Parameters
    ----------
    actions, rewards, propensities, chosen
        See :func:`ips`.
    shown : (events,) bool, optional
        The events that were accepted, if the policy learned from them. By default they are drawn.
    seed
        The seed of these draws.

    Raises
    ------
    DataError
        If an array is malformed, or a propensity is outside (0, 1].
    """
    log = logged(actions, rewards, propensities, chosen)
    if log.chosen.ndim > 1:
        raise DataError(
            "chosen: given probabilities of all actions, allowed for replay: the actions that were "
            "chosen; draw them, or use ips, snips or doubly_robust"
        )
    drawn = accepted(log.propensities, seed=seed) if shown is None else np.asarray(shown)
    if drawn.shape != log.actions.shape or drawn.dtype != np.bool_:
        raise DataError(
            f"shown: given {drawn.dtype} of shape {drawn.shape}, allowed: True or False for each "
            f"of the {len(log.actions)} events"
        )
    return _estimate("replay", *replay_terms(log, drawn))


def ips(
    actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike | float, chosen: ArrayLike
) -> Estimate:
    """Estimate by inverse propensity scoring: matching rewards, each over its propensity.

    The estimate is unbiased. Its interval is wide if propensities are small. Source: Horvitz &
    Thompson (1952); for bandits, Dudík, Langford & Li (2011).

    Parameters
    ----------
    actions : (events,) int
        The logged actions, numbered from 0.
    rewards : (events,)
        Their rewards.
    propensities : (events,) or float
        The probability with which the logging policy took each of these actions, in (0, 1].
    chosen : (events,) int, or (events, arms)
        The actions that the policy would have taken. For a policy that draws its actions: the
        probability of each action, in rows that add up to 1.

    Raises
    ------
    DataError
        If an array is malformed, or a propensity is outside (0, 1].
    """
    log = logged(actions, rewards, propensities, chosen)
    return _estimate("ips", *ips_terms(log))


def snips(
    actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike | float, chosen: ArrayLike
) -> Estimate:
    """Estimate by self-normalised propensity scoring: a weighted mean of matching rewards.

    The estimate has a small bias, which vanishes with more events. It is often more exact than that
    of :func:`ips`, and never leaves the range of the rewards. Source: Swaminathan & Joachims, "The
    self-normalized estimator for counterfactual learning" (NeurIPS 2015).

    Parameters
    ----------
    actions, rewards, propensities, chosen
        See :func:`ips`.

    Raises
    ------
    DataError
        If an array is malformed, or a propensity is outside (0, 1].
    """
    log = logged(actions, rewards, propensities, chosen)
    return _estimate("snips", *snips_terms(log))


def doubly_robust(
    actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike | float, chosen: ArrayLike,
    contexts: ArrayLike, *, ridge: float = 1.0,
) -> Estimate:  # fmt: skip
    """Estimate doubly robustly: by a reward model, corrected by matching events.

    The model is ridge regression for each action, fitted on earlier events alone. The estimate is
    unbiased if the propensities are right. A good model makes its interval narrow. Source: Dudík,
    Langford & Li, "Doubly robust policy evaluation and learning" (ICML 2011).

    Parameters
    ----------
    actions, rewards, propensities, chosen
        See :func:`ips`.
    contexts : (events, d)
        The contexts.
    ridge
        A number that is added to the diagonal of the model's Gram matrices.

    Raises
    ------
    DataError
        If an array is malformed, or a propensity is outside (0, 1].
    """
    log = logged(actions, rewards, propensities, chosen)
    rows = np.asarray(contexts, np.float64)
    if rows.ndim != 2 or len(rows) != len(log.actions):
        raise DataError(
            f"contexts: given an array of shape {rows.shape}, allowed: a row for each of the "
            f"{len(log.actions)} events"
        )
    _refuse_first("contexts", ~np.isfinite(rows).all(axis=1), "is not finite")
    if not 0.0 < ridge < math.inf:
        raise DataError(f"ridge: given {ridge:g}, allowed: a finite number above 0")
    # A model for each action of the log: numbers may be large, such as numbers of articles.
    if log.chosen.ndim > 1:
        return _estimate("dr", *dr_terms(log, rows, log.chosen.shape[1], ridge))
    known, codes = np.unique([log.actions, log.chosen], return_inverse=True)
    actions, chosen = codes.reshape(2, -1)
    log = log._replace(actions=actions, chosen=chosen)
    return _estimate("dr", *dr_terms(log, rows, len(known), ridge))


def replay_terms(log: Logged, shown: Bools) -> tuple[Floats, Floats, Floats]:
    """Return the terms of each event in numerator, denominator and weights of replay."""
    counts = log.matches * shown
    return counts * log.rewards, counts, counts


def ips_terms(log: Logged) -> tuple[Floats, Floats, Floats]:
    """Return the terms of each event in numerator, denominator and weights of IPS."""
    weights = log.weights
    return weights * log.rewards, np.ones(len(weights)), weights


def snips_terms(log: Logged) -> tuple[Floats, Floats, Floats]:
    """Return the terms of each event in numerator, denominator and weights of SNIPS."""
    weights = log.weights
    return weights * log.rewards, weights, weights


def dr_terms(
    log: Logged, contexts: Floats | Floats32, arms: int, ridge: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Return the terms of each event in numerator, denominator and weights of doubly robust."""
    of_logged, of_chosen = predictions(contexts, log.actions, log.rewards, log.chosen, arms, ridge)
    weights = log.weights
    terms = of_chosen + weights * (log.rewards - of_logged)
    return terms, np.ones(len(weights)), weights


def _proper(propensities: Floats) -> Bools:
    proper: Bools = (propensities > 0.0) & (propensities <= 1.0 + _ROOM)
    return proper


def _estimate(method: str, u: Floats, v: Floats, w: Floats) -> Estimate:
    return estimate_of(sums_of(u, v, w, np.zeros(len(u), np.int64), 1)[0], method)


def _whole(name: str, values: ArrayLike) -> Ints:
    given = np.asarray(values)
    if not np.issubdtype(given.dtype, np.integer):
        raise DataError(f"{name}: given numbers of type {given.dtype}, allowed: whole numbers ≥ 0")
    whole = given.astype(np.int64)
    if whole.ndim == 1:
        _refuse_first(name, whole < 0, "is negative")
    return whole


def _shares(actions: Ints, chosen: ArrayLike) -> Floats:
    """Check the probabilities of a policy that draws its actions, (events, arms)."""
    given = np.asarray(chosen, np.float64)
    if len(given) == len(actions):
        wrong = ~(given >= 0.0).all(axis=1) | ~(np.abs(given.sum(axis=1) - 1.0) <= _NEARLY)
        _refuse_first("chosen", wrong, "has no probabilities that add up to 1")
        _refuse_first("actions", actions >= given.shape[1], "is not among the columns of chosen")
    return given


def _refuse_first(name: str, wrong: Any, says: str) -> None:
    if wrong.any():
        event = int(np.flatnonzero(wrong)[0])
        raise DataError(f"{name}: event {event} {says} ({int(wrong.sum())} such events)")
