"""Rivals of private systems: parties alone, at their best and as users have them, and pooled ones.

They are systems of the run, and opponents that are played beside the run, which its result keeps.
The verdict is by the best of those that learn alone. So nobody gains over a choice of settings, or
of a model, that a user would not make.
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

#: The attribute of a result that holds its opponents, as JSON.
ATTRIBUTE = "opponents"


class Opponent(msgspec.Struct, frozen=True, kw_only=True):
    """Parties that learn in a way that a user has without a private system.

    They meet the contexts and reward draws of a run's replicates.

    Parameters
    ----------
    name
        What they learn by, in words: ``LinUCB on prepared rows``.
    kind
        ``alone``, or ``pooled``: all records in clear.
    losses
        What one of the parties lost on average by the end, in each of the first replicates.
    parties
        Numbers of the parties that were played, from 0. Empty: all of them.
    sampled
        The same as ``losses`` of some parties only: those with which opponents whose model is not
        linear learn alone. Empty: they are the same numbers.
    linear
        Whether the model is linear in the context, as that of the private systems.
    """

    name: str
    kind: Literal["alone", "pooled"]
    losses: tuple[float, ...]
    parties: tuple[int, ...] = ()
    sampled: tuple[float, ...] = ()
    linear: bool = True

    def over(self, replicates: int, sampled: bool = False) -> Floats:
        """Return its losses, or those that are ``sampled``, (replicates,); NaN if not played."""
        losses = self.sampled if sampled and self.sampled else self.losses
        padded = np.full(replicates, np.nan)
        count = min(replicates, len(losses))
        padded[:count] = losses[:count]
        return padded


def noted(opponents: Sequence[Opponent]) -> dict[str, str]:
    """Return the attributes by which a result keeps opponents."""
    return {ATTRIBUTE: json.dumps(msgspec.to_builtins(opponents), ensure_ascii=False)}


def opponents_in(attributes: Any) -> tuple[Opponent, ...] | None:
    """Read the opponents that a result keeps; None if none were looked for."""
    if ATTRIBUTE not in attributes:
        return None
    return msgspec.convert(json.loads(attributes[ATTRIBUTE]), tuple[Opponent, ...])


#: A model is the wrong one if another loses at most so much of what it loses.
_FAR_LESS = 0.9


class Rival(NamedTuple):
    """A system of a run, or an opponent beside it, that private systems are compared with."""

    name: str  # label of a system, or name of an opponent
    kind: Kind
    losses: Floats  # (replicates,), of one of its parties; NaN if not finished or not played
    sampled: Floats  # the same of those parties that non-linear opponents were played with
    entry: Variant | None = None  # the system of the run that it is
    places: Ints | None = None  # numbers of its parties; None if they are all
    linear: bool = True  # whether its model is linear in the context

    @property
    def parties(self) -> int | None:
        """Number of its parties; None if they are all."""
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
    """An opponent of the run, and what one of its parties lost."""

    name: str  # what its parties learn by, or the label of a system of the run
    kind: Kind  # ``alone`` or ``pooled``
    mean: float  # mean loss of one of its parties, in the answer's unit
    replicates: int  # number of replicates that it was measured on
    parties: int | None = None  # number of parties that it was measured on; None if all of them
    linear: bool = True  # whether its model is linear in the context
    #: ``exploration_scale`` of parties alone at their best; None for others.
    at_best: float | None = None
    #: ``regularization`` of parties alone at their best; None where it is the default.
    ridge_at_best: float | None = None


def rivals_of(
    measured: Measure, systems: Iterable[tuple[int, Variant, Kind]], opponents: Sequence[Opponent]
) -> list[Rival]:
    """Make rivals of systems of the run, each with its number, and of its opponents."""
    replicates = measured.totals.shape[1]
    few = next((one.parties for one in opponents if not one.linear and one.parties), ())
    places = np.array(few, np.int64) if few else None
    rivals = [rival_of(measured, *one, places) for one in systems]
    for one in opponents:
        own = np.array(one.parties, np.int64) if one.parties else None
        losses, sampled = one.over(replicates), one.over(replicates, sampled=True)
        rivals.append(Rival(one.name, one.kind, losses, sampled, None, own, one.linear))
    return rivals


def rival_of(
    measured: Measure, number: int, entry: Variant, kind: Kind, sample: Ints | None = None
) -> Rival:
    """Make a rival of a system of the run; ``sample`` are parties that others were played with."""
    totals = measured.totals[number]
    sampled = totals if sample is None else measured.parties[number][:, sample].mean(axis=-1)
    return Rival(entry.label, kind, totals, sampled, entry)


def best_alone(rivals: Sequence[Rival]) -> Rival | None:
    """Return the best of those that learn alone, the first of equals; None if there are none.

    Linear ones are compared by their means. Another counts if it is better by more than chance,
    because it was measured on few parties.
    """
    alone = [one for one in rivals if one.kind == "alone"]
    linear = [one for one in alone if one.linear]
    if not linear:
        return None
    both = np.all([np.isfinite(one.losses) for one in linear], axis=0)
    if not both.any():
        return linear[0]
    best = min(linear, key=lambda one: float(one.losses[both].mean()))
    for other in alone:
        if not other.linear and best.is_clearly_worse_than(other):
            best = other
    return best


def rival_results(rivals: Sequence[Rival], best: str) -> tuple[RivalResult, ...]:
    """Return the results of rivals that have finished a replicate; ``best`` names one of them."""
    results = []
    for one in rivals:
        finished = one.losses[np.isfinite(one.losses)]
        if len(finished):
            mean, count = float(finished.mean()), len(finished)
            entry = one.entry if one.name == best else None
            results.append(
                RivalResult(
                    name=one.name,
                    kind=one.kind,
                    mean=mean,
                    replicates=count,
                    parties=one.parties,
                    linear=one.linear,
                    at_best=None if entry is None else getattr(entry.config, SCALE, None),
                    ridge_at_best=None if entry is None else own_ridge(entry),
                )
            )
    return tuple(results)


def is_wrong_model(rivals: Sequence[Rival], kind: Kind) -> bool:
    """Tell whether another model loses far less than every linear one, by more than chance."""
    own = [one for one in rivals if one.kind == kind]
    linear, others = [one for one in own if one.linear], [one for one in own if not one.linear]
    return bool(linear) and any(
        all(_loses_far_less(other, one) for one in linear) for other in others
    )


def _loses_far_less(other: Rival, linear: Rival) -> bool:
    lost = linear.losses if other.parties is None else linear.sampled
    both = np.isfinite(lost) & np.isfinite(other.losses)
    if not both.any() or other.losses[both].mean() > _FAR_LESS * lost[both].mean():
        return False
    return paired(_even(lost - other.losses)).sign == 1


def _even(differences: Floats) -> Floats:
    """Round differences, so that errors of rounding become 0."""
    return np.round(differences, 9)
