"""Rivals of private systems: parties alone, at their best and as usual, and everything pooled.

Rivals are systems of the run, and opponents that are played beside the run, which its result keeps.
The verdict is by the best rival that learns alone. So a private system gains nothing over settings,
or a model, that a user would not choose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.experiments.baselines import SCALE, Kind, own_ridge
from fedbandits.experiments.intervals import paired
from fedbandits.experiments.measure import Measure
from fedbandits.settings.experiment import Variant

#: The attribute of a result that has its opponents, as JSON.
ATTRIBUTE = "opponents"


class Opponent(msgspec.Struct, frozen=True, kw_only=True):
    """Opponent of private systems: parties that learn without a private system.

    They meet the contexts and reward draws of a run's replicates.

    Parameters
    ----------
    name
        The learner in words: ``LinUCB on prepared rows``.
    kind
        ``alone``, or ``pooled``: all records in clear.
    losses
        Mean loss of a party by the end, in each of the first replicates.
    parties
        Numbers of the played parties, from 0. Empty for all parties.
    sampled
        Mean loss of the parties of opponents alone with a non-linear model. Empty if it equals
        ``losses``.
    linear
        Whether the model is linear in the context, like the model of private systems.
    """

    name: str
    kind: Literal["alone", "pooled"]
    losses: tuple[float, ...]
    parties: tuple[int, ...] = ()
    sampled: tuple[float, ...] = ()
    linear: bool = True

    def over(self, replicates: int, sampled: bool = False) -> Floats:
        """Return the losses, or those of ``sampled`` parties, (replicates,); NaN if not played."""
        losses = self.sampled if sampled and self.sampled else self.losses
        padded = np.full(replicates, np.nan)
        count = min(replicates, len(losses))
        padded[:count] = losses[:count]
        return padded


def noted(opponents: Sequence[Opponent]) -> dict[str, str]:
    """Return the attributes of a result with these opponents."""
    return {ATTRIBUTE: json.dumps(msgspec.to_builtins(opponents), ensure_ascii=False)}


def opponents_in(attributes: Any) -> tuple[Opponent, ...] | None:
    """Read the opponents of a result; None without a search for opponents."""
    if ATTRIBUTE not in attributes:
        return None
    return msgspec.convert(json.loads(attributes[ATTRIBUTE]), tuple[Opponent, ...])


#: A model is wrong if another model loses at most this share of its loss.
_FAR_LESS = 0.9


class Rival(NamedTuple):
    """Rival of private systems: a system of the run, or an opponent beside the run."""

    name: str  # label of a system, or name of an opponent
    kind: Kind
    losses: Floats  # (replicates,), mean of a party; NaN if not finished or not played
    sampled: Floats  # the same of the parties of non-linear opponents
    entry: Variant | None = None  # the system of the run, if the rival is one
    places: Ints | None = None  # numbers of its parties; None for all
    linear: bool = True  # whether its model is linear in the context

    @property
    def parties(self) -> int | None:
        """Number of its parties; None for all."""
        return None if self.places is None else len(self.places)

    def beside(self, measured: Measure, system: int) -> Floats:
        """Return the loss of a system of the run on the same parties, (replicates,)."""
        few = measured.parties[system][:, slice(None) if self.places is None else self.places]
        lost: Floats = measured.totals[system] if self.places is None else few.mean(axis=-1)
        return lost

    def is_clearly_worse_than(self, other: Rival) -> bool:
        """Tell whether ``other``, whose model is not linear, is better by more than chance."""
        return paired(_even(self.sampled - other.losses)).sign == 1


class RivalResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a rival: the loss of one of its parties."""

    name: str  # the learner in words, or the label of a system of the run
    kind: Kind  # ``alone`` or ``pooled``
    mean: float  # mean loss of one of its parties, in the answer's unit
    replicates: int  # number of measured replicates
    parties: int | None = None  # number of measured parties; None for all
    linear: bool = True  # whether its model is linear in the context
    #: ``exploration_scale`` of parties alone at their best; None for others.
    at_best: float | None = None
    #: ``regularization`` of parties alone at their best; None for the default.
    ridge_at_best: float | None = None


def rivals_of(
    measured: Measure, systems: Iterable[tuple[int, Variant, Kind]], opponents: Sequence[Opponent]
) -> list[Rival]:
    """Make rivals of systems of the run, each with its number, and of its opponents."""
    replicates = measured.totals.shape[1]
    few = next((known.parties for known in opponents if not known.linear and known.parties), ())
    places = np.array(few, np.int64) if few else None
    rivals = [rival_of(measured, *system, places) for system in systems]
    for known in opponents:
        parties = np.array(known.parties, np.int64) if known.parties else None
        losses, sampled = known.over(replicates), known.over(replicates, sampled=True)
        rivals.append(Rival(known.name, known.kind, losses, sampled, None, parties, known.linear))
    return rivals


def rival_of(
    measured: Measure, number: int, entry: Variant, kind: Kind, sample: Ints | None = None
) -> Rival:
    """Make a rival of a system of the run; ``sample`` are the parties of non-linear opponents."""
    totals = measured.totals[number]
    sampled = totals if sample is None else measured.parties[number][:, sample].mean(axis=-1)
    return Rival(entry.label, kind, totals, sampled, entry)


def best_alone(rivals: Sequence[Rival]) -> Rival | None:
    """Return the best rival that learns alone, the first of equals; None without such rivals.

    Rivals with linear models are compared by their means. A rival with another model must be better
    by more than chance, because it was measured on few parties.
    """
    alone = [rival for rival in rivals if rival.kind == "alone"]
    linear = [rival for rival in alone if rival.linear]
    if not linear:
        return None
    both = np.all([np.isfinite(rival.losses) for rival in linear], axis=0)
    if not both.any():
        return linear[0]
    best = min(linear, key=lambda rival: float(rival.losses[both].mean()))
    for other in alone:
        if not other.linear and best.is_clearly_worse_than(other):
            best = other
    return best


def rival_results(rivals: Sequence[Rival], best: str) -> tuple[RivalResult, ...]:
    """Return the results of rivals with a finished replicate; ``best`` names the tuned rival."""
    results = []
    for rival in rivals:
        finished = rival.losses[np.isfinite(rival.losses)]
        if len(finished):
            mean, count = float(finished.mean()), len(finished)
            entry = rival.entry if rival.name == best else None
            results.append(
                RivalResult(
                    name=rival.name,
                    kind=rival.kind,
                    mean=mean,
                    replicates=count,
                    parties=rival.parties,
                    linear=rival.linear,
                    at_best=None if entry is None else getattr(entry.config, SCALE, None),
                    ridge_at_best=None if entry is None else own_ridge(entry),
                )
            )
    return tuple(results)


def is_wrong_model(rivals: Sequence[Rival], kind: Kind) -> bool:
    """Tell whether another model loses far less than every linear model, by more than chance."""
    of_kind = [rival for rival in rivals if rival.kind == kind]
    linear = [rival for rival in of_kind if rival.linear]
    others = [rival for rival in of_kind if not rival.linear]
    return bool(linear) and any(
        all(_loses_far_less(other, rival) for rival in linear) for other in others
    )


def _loses_far_less(other: Rival, linear: Rival) -> bool:
    lost = linear.losses if other.parties is None else linear.sampled
    both = np.isfinite(lost) & np.isfinite(other.losses)
    if not both.any() or other.losses[both].mean() > _FAR_LESS * lost[both].mean():
        return False
    return paired(_even(lost - other.losses)).sign == 1


def _even(differences: Floats) -> Floats:
    """Round differences, so that rounding errors become 0."""
    return np.round(differences, 9)
