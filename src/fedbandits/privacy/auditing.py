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
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, Protocol

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.attacks import Transcripts, choose, guess, with_learned
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound

#: Names for users of the package; all other names are internal.
__all__ = ["Finding", "Game", "audit"]

#: Number of runs in a chunk.
_CHUNK = 2000
#: Number of runs of whole parties between two reports of progress.
_PIECE = 20
#: Number of runs with the same noise in both worlds, for the estimate of μ.
_PAIRED = 100
#: A callback for progress, from 0 to 1. It may raise an error to end the work.
Tick = Callable[[float], None]

Sees = Literal["contents", "messages"]


def scaled(usual: int, scale: float, least: int) -> int:
    """Return ``usual`` × ``scale`` runs, but at least ``least``, or ``usual`` if smaller."""
    return max(min(usual, least), round(usual * scale))


def unheard(share: float) -> None:
    """Discard a report of progress."""
    del share


class Game(Protocol):
    """A mechanism or a system in two neighbouring worlds, 0 and 1."""

    @property
    def neighbours(self) -> Literal["fixed log", "interactive"]:
        """``fixed log`` if other records stay fixed, ``interactive`` if they may react."""

    @property
    def sees(self) -> Sees:
        """The attacker's view: only contents of releases, or all messages with their times."""

    @property
    def looks_at(self) -> str:
        """A description of what the attacker sees."""

    @property
    def gaussian(self) -> bool:
        """True if scores and values are Gaussian in every run, as the price of contents assumes.

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
        The game to attack.
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
        A callback for progress.
    """
    training = training or max(min(200, runs), min(runs // 10, 5000))
    meter = _Meter(game, 2 * (training + runs), tick)
    zero, one = (_joined(list(meter.chunks(world, 0, training))) for world in (0, 1))
    attacks, learned, usual = choose(zero, one, game.gaussian, delta)
    errors, moments = np.zeros((len(attacks), 2), dtype=np.int64), np.zeros(2)
    unusual = False  # a message pattern absent from training: the Gaussian rule is then not valid
    for world in (0, 1):
        for transcripts in meter.chunks(world, training, runs):
            scores = with_learned(transcripts, learned)
            unusual |= not set(transcripts.patterns.tolist()) <= usual
            if world == 0:
                first = transcripts.scores[:, :1]
                moments += first.sum(), (first**2).sum()
            for i, attack in enumerate(attacks):
                guesses = guess(attack, scores, transcripts.patterns)
                errors[i, world] += int((guesses != bool(world)).sum())
    # Each attack has two error rates, and all bounds must hold together.
    failure = (1.0 - confidence) / (2 * max(1, len(attacks)))
    best, name = 0.0, "no attack distinguished the worlds"
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
    """Return the distance between the means of the likelihood ratio, in deviations.

    The deviation is that of the counted runs, of which ``moments`` has the first two moments. Means
    are compared on runs with the same noise in both worlds, where the noise cancels.
    """
    variance = float(moments[1] - moments[0] ** 2)
    if game.sees != "contents" or not variance > 0.0:
        return math.nan
    means = [float(game.play(world, 0, _PAIRED).scores[:, 0].mean()) for world in (0, 1)]
    return abs(means[1] - means[0]) / math.sqrt(variance)


class _Meter(NamedTuple):
    """Plays the runs of a game, and reports progress."""

    game: Game
    total: int  # runs, of both worlds
    tick: Tick

    def chunks(self, world: int, first: int, count: int) -> Iterator[Transcripts]:
        """Yield runs of a world; runs of the two worlds have different numbers.

        Runs of whole parties are played a few at a time: they take long, and are independent.
        """
        done = 2 * first + world * count  # training runs of both worlds come first
        piece = _CHUNK if self.game.sees == "contents" else _PIECE
        for start in range(first, first + count, _CHUNK):
            size = min(_CHUNK, first + count - start)
            for begun in range(0, size, piece):
                played = min(piece, size - begun)
                yield self.game.play(world, 2 * start + world * size + begun, played)
                done += played
                self.tick(done / self.total)


def _joined(parts: list[Transcripts]) -> Transcripts:
    return Transcripts(*(np.concatenate(column) for column in zip(*parts, strict=True)))
