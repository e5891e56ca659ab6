"""Lower bounds on ε from attacks: play a mechanism many times in two neighbouring worlds.

An attack is a rule that guesses the world from a transcript. It is chosen on training runs. Then
its errors are counted on other runs, and bounded by Clopper & Pearson (1934). These error rates
give two bounds on ε:

* *direct* (Jagielski, Ullman & Oprea 2020): every (ε, δ)-private mechanism has 1 - FNR ≤ e^ε FPR +
  δ.
* *Gaussian* (Nasr et al. 2023): a μ-GDP mechanism has Φ⁻¹(1 - FPR) - Φ⁻¹(FNR) ≤ μ. This bound is
  sharper, but valid only for statistics that are Gaussian by construction: linear functions of
  contents whose price is μ, if every run has as many messages. Counts of messages are not Gaussian:
  from a few hundred runs, the bound would give an ε that so few runs cannot show.

All bounds of one audit hold together with the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

import msgspec
import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound
from fedbandits.privacy.sizes import Tick, unheard

#: Runs that are looked at together.
_CHUNK = 2000
#: Runs of whole parties that are played between two reports of how far a game is.
_PIECE = 20
#: Runs with the same noise in both worlds, to measure μ on.
_PAIRED = 100
#: Most numbers of a transcript from which an attack is learned.
MOST_LEARNED = 2000


Sees = Literal["contents", "messages"]


class Transcripts(NamedTuple):
    """What an attacker sees in a number of runs."""

    scores: Floats  # (runs, m): likelihood ratios of contents
    values: Floats  # (runs, f): contents; as many numbers every run, 0 where nothing was sent
    patterns: Ints  # (runs,): a number for which messages there were, when, from whom, how long
    others: Floats  # (runs, c): statistics that are Gaussian in no case, such as counts


class Game(Protocol):
    """A mechanism or a system in two neighbouring worlds, 0 and 1."""

    @property
    def neighbours(self) -> Literal["fixed log", "interactive"]:
        """Whether other records are fixed, or may react to the record that is changed."""

    @property
    def sees(self) -> Sees:
        """What the attacker sees: only contents of releases, or all messages with their times."""

    @property
    def looks_at(self) -> str:
        """A description of what the attacker sees."""

    @property
    def gaussian(self) -> bool:
        """Whether scores and values are Gaussian in every run, as the price of contents assumes.

        The sharper bound is then used, if all runs have the same messages.
        """

    @property
    def runs(self) -> int:
        """Largest number of runs in each world in an audit of the usual size."""

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Play ``count`` runs of ``world``, from number ``first`` on.

        Runs with different numbers are independent.
        """


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one game.

    Parameters
    ----------
    neighbours, sees, looks_at
        The values of the game, see :class:`Game`.
    epsilon_low
        Lower bound on ε at the given δ, with the stated confidence.
    attack
        Description of the attack that gave this bound.
    runs
        Number of runs in each world on which errors were counted.
    confidence
        Probability with which all bounds of this game hold together.
    mu
        An estimate of μ, not a bound. It is the distance between the two worlds in the likelihood
        ratio of contents, in standard deviations. NaN if there is no likelihood ratio, and for
        messages.
    """

    neighbours: str
    sees: Sees
    looks_at: str
    epsilon_low: float
    attack: str
    runs: int
    confidence: float
    mu: float = math.nan


class _Learned(NamedTuple):
    """Directions in which training runs of the two worlds lie apart, (f, 1) or (f, 0) each."""

    values: Floats
    others: Floats


class _Attack(NamedTuple):
    """A rule that guesses world 1; ``column`` picks a statistic, or the pattern where it is -1."""

    name: str
    column: int
    threshold: float
    sign: float
    suspects: frozenset[int]  # patterns that are taken for world 1
    gaussian: bool


def audit(
    game: Game,
    runs: int,
    delta: float,
    confidence: float = 0.99,
    training: int | None = None,
    tick: Tick = unheard,
) -> Finding:
    """Attack a game, and compute a lower bound on ε.

    Parameters
    ----------
    game
        The game that is attacked.
    runs : int
        Number of runs in each world on which errors are counted.
    delta : float
        The δ at which ε is bounded.
    confidence : float
        Probability with which all bounds hold together.
    training : int, optional
        Number of runs in each world on which attacks are chosen. By default a tenth of ``runs``,
        but at least 200 (or ``runs``, if smaller), and at most 5,000.
    tick
        A function that is told how much is done.
    """
    training = training or max(min(200, runs), min(runs // 10, 5000))
    meter = _Meter(game, 2 * (training + runs), tick)
    attacks, learned, usual = _choose(meter, training, delta)
    errors, moments = np.zeros((len(attacks), 2), dtype=np.int64), np.zeros(2)
    unusual = False  # messages that training did not show: what is Gaussian without them is not now
    for world in (0, 1):
        for transcripts in meter.chunks(world, training, runs):
            scores = _with_learned(transcripts, learned)
            unusual |= not set(transcripts.patterns.tolist()) <= usual
            if world == 0:
                first = transcripts.scores[:, :1]
                moments += first.sum(), (first**2).sum()
            for i, attack in enumerate(attacks):
                guesses = _guess(attack, scores, transcripts.patterns)
                errors[i, world] += int((guesses != bool(world)).sum())
    # Two rates an attack, and all must hold together.
    failure = (1.0 - confidence) / (2 * max(1, len(attacks)))
    best, name = 0.0, "none told the worlds apart"
    for attack, (positive, negative) in zip(attacks, errors.tolist(), strict=True):
        if attack.gaussian and unusual:
            continue
        rates = rate_bound(positive, runs, failure), rate_bound(negative, runs, failure)
        bound = (gaussian_bound if attack.gaussian else direct_bound)(rates, delta)
        if bound > best:
            best = bound
            name = f"{attack.name}: {positive:,} and {negative:,} errors in {runs:,} runs each"
    return Finding(
        neighbours=game.neighbours,
        sees=game.sees,
        looks_at=game.looks_at,
        epsilon_low=best,
        attack=name,
        runs=runs,
        confidence=confidence,
        mu=_measured_mu(game, moments / runs),
    )


def _measured_mu(game: Game, moments: Floats) -> float:
    """Distance of the likelihood ratio's means in deviations.

    The deviation is that of the counted runs, of which ``moments`` has the first two moments. Means
    are compared on runs with the same noise in both worlds, where it cancels.
    """
    variance = float(moments[1] - moments[0] ** 2)
    if game.sees != "contents" or not variance > 0.0:
        return math.nan
    means = [float(game.play(world, 0, _PAIRED).scores[:, 0].mean()) for world in (0, 1)]
    return abs(means[1] - means[0]) / math.sqrt(variance)


class _Meter(NamedTuple):
    """Plays a game, and tells how far it is."""

    game: Game
    total: int  # runs, of both worlds
    tick: Tick

    def chunks(self, world: int, first: int, count: int) -> Iterator[Transcripts]:
        """Runs of one world; those of the two worlds have different numbers.

        Runs of whole parties are played a few at a time: they take long, and are independent.
        """
        done = 2 * first + world * count  # what comes first is played in both worlds first
        piece = _CHUNK if self.game.sees == "contents" else _PIECE
        for start in range(first, first + count, _CHUNK):
            size = min(_CHUNK, first + count - start)
            for begun in range(0, size, piece):
                played = min(piece, size - begun)
                yield self.game.play(world, 2 * start + world * size + begun, played)
                done += played
                self.tick(done / self.total)


def _choose(
    meter: _Meter, training: int, delta: float
) -> tuple[list[_Attack], _Learned, frozenset[int]]:
    """Attacks, chosen on runs of their own, what was learned for them, and patterns seen."""
    seen = [_joined(list(meter.chunks(world, 0, training))) for world in (0, 1)]
    zero, one = seen
    learned = _Learned(_learn(zero.values, one.values), _learn(zero.others, one.others))
    usual = frozenset(np.concatenate([zero.patterns, one.patterns]).tolist())
    suspects = _suspects(zero.patterns, one.patterns)
    attacks = []
    if suspects:
        attacks.append(_Attack("which messages there are, and when", -1, 0.0, 1.0, suspects, False))
    scores = [_with_learned(side, learned) for side in seen]
    # Without a δ a Gaussian price is infinite, whatever was found.
    gaussian = meter.game.gaussian and len(usual) == 1 and delta > 0.0
    names = [("likelihood ratio", gaussian)] * zero.scores.shape[1]
    names += [("learned", gaussian)] * learned.values.shape[1]
    names += [("counted", False)] * learned.others.shape[1]
    for column, (name, is_gaussian) in enumerate(names):
        sides = scores[0][:, column], scores[1][:, column]
        sign = 1.0 if np.mean(sides[1]) >= np.mean(sides[0]) else -1.0
        ordered = sign * sides[0], sign * sides[1]
        for rule in (gaussian_bound, direct_bound) if is_gaussian else (direct_bound,):
            threshold = _best_threshold(ordered, rule is gaussian_bound, delta)
            kind = "Gaussian" if rule is gaussian_bound else "direct"
            attacks.append(
                _Attack(
                    f"{name} ({kind})", column, threshold, sign, frozenset(), kind == "Gaussian"
                )
            )
    return attacks, learned, usual


def _joined(parts: list[Transcripts]) -> Transcripts:
    return Transcripts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _learn(zero: Floats, one: Floats) -> Floats:
    """Fisher's direction between two samples of transcripts; none where there is none to learn.

    Numbers that hardly vary get a large weight: that is where noise is missing.
    """
    features = zero.shape[1]
    if not 0 < features <= MOST_LEARNED:
        return np.zeros((features, 0))
    gap = one.mean(axis=0) - zero.mean(axis=0)
    spread = np.sqrt(0.5 * (zero.var(axis=0) + one.var(axis=0)))
    floor = 1e-9 * (1.0 + np.abs(zero).max(axis=0))
    scale = np.maximum(spread, floor)
    both = np.concatenate([zero - zero.mean(axis=0), one - one.mean(axis=0)]) / scale
    covariance = both.T @ both / len(both)
    covariance[np.diag_indices(features)] += 1e-10
    direction = np.linalg.solve(covariance, gap / scale) / scale
    return np.asarray(direction, dtype=np.float64)[:, None]


def _with_learned(transcripts: Transcripts, learned: _Learned) -> Floats:
    """(runs, m + at most 2): scores, and what learned directions make of contents and others."""
    made = transcripts.values @ learned.values, transcripts.others @ learned.others
    return np.concatenate([transcripts.scores, *made], axis=1)


def _best_threshold(sides: tuple[Floats, Floats], is_gaussian: bool, delta: float) -> float:
    """Where training runs are best told apart; world 1 lies higher.

    Candidates lie half way between neighbouring scores, so that discrete ones are cut cleanly.
    """
    both = np.unique(np.concatenate(sides))
    if len(both) == 1:
        return float(both[0])
    if is_gaussian:  # every threshold shows the same μ; the middle one is the surest
        return float(0.5 * (np.median(sides[0]) + np.median(sides[1])))
    middles = 0.5 * (both[1:] + both[:-1])
    candidates = middles[np.unique(np.linspace(0, len(middles) - 1, 400).astype(np.int64))]
    best, found = -1.0, float(candidates[0])
    runs = len(sides[0])
    for threshold in candidates:
        positive, negative = int((sides[0] > threshold).sum()), int((sides[1] <= threshold).sum())
        rates = rate_bound(positive, runs, 0.01), rate_bound(negative, runs, 0.01)
        bound = direct_bound(rates, delta)
        if bound > best:
            best, found = bound, float(threshold)
    return found


def _suspects(zero: Ints, one: Ints) -> frozenset[int]:
    """Patterns that training runs show more often in world 1; none if there is one pattern only."""
    patterns = np.unique(np.concatenate([zero, one]))
    if len(patterns) == 1:
        return frozenset()
    return frozenset(int(p) for p in patterns if (one == p).sum() > (zero == p).sum())


def _guess(attack: _Attack, scores: Floats, patterns: Ints) -> Bools:
    """Whether each run is taken for world 1."""
    if attack.column < 0:
        return np.isin(patterns, list(attack.suspects))
    return np.asarray(attack.sign * scores[:, attack.column] > attack.threshold, dtype=np.bool_)
