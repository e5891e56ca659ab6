"""A run whose systems are compared: the pairs, and the loss that each pair saves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import xarray as xr

from fedbandits._typing import Floats
from fedbandits.experiments.answers.rivals import (
    Rival,
    RivalResult,
    best_alone,
    rival_of,
    rival_results,
    rivals_of,
)
from fedbandits.experiments.answers.sentences import Comparison
from fedbandits.experiments.baselines import (
    SCALE,
    Claimed,
    Kind,
    as_people_explore,
    closest,
    differing_keys,
    own_ridge,
    stands_for,
)
from fedbandits.experiments.intervals import LEVEL, estimated_difference, paired
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.measure import Measure, measure
from fedbandits.experiments.opponents.opponent import opponents_in
from fedbandits.settings.experiment import Experiment, Variant


def _claimed(stored: dict[str, Any]) -> Claimed:
    """Read from a stored claim the part that a verdict needs."""
    stated = stored["paper_claims"] is not None
    return Claimed(float(stored["epsilon"]), bool(stored["encrypted"]), stated)


class ComparedRun(NamedTuple):
    """A run, ready to be compared."""

    experiment: Experiment
    claims: dict[str, Claimed]
    found: Measure
    syncs: Floats  # (systems, replicates)
    level: float
    rivals: Sequence[Rival]  # all that private systems could be compared with
    decisive: Rival | None  # the best that learns alone; None if nobody looked for it

    @classmethod
    def of(cls, experiment: Experiment, result: xr.Dataset) -> ComparedRun:
        """Make a run from its experiment and result."""
        labels = labels_of(result)
        claims = {label: _claimed(claim) for label, claim in labels.claims.items()}
        several = max(1, sum(claim.is_private for claim in claims.values()))
        found = measure(labels.words, labels.decisions, result)
        syncs = np.asarray(result.syncs.isel(round=-1).values, np.float64)
        rivals = rivals_of(found, _standing(experiment, claims), opponents_in(result.attrs) or ())
        named = experiment.best_alone
        decisive = best_alone(sorted(rivals, key=lambda one: one.name != named)) if named else None
        level = 1.0 - (1.0 - LEVEL) / several
        return cls(experiment, claims, found, syncs, level, rivals, decisive)

    @property
    def opponents(self) -> tuple[RivalResult, ...]:
        """The opponents and their numbers; none if nobody looked for the best alone."""
        return rival_results(self.rivals, self.experiment.best_alone) if self.decisive else ()

    @property
    def private(self) -> tuple[str, ...]:
        """Labels of the systems that claim a finite ε."""
        return tuple(label for label, claim in self.claims.items() if claim.is_private)

    @property
    def broken(self) -> tuple[str, ...]:
        """Labels of those for which a paper states an ε, and accounting supports none."""
        return tuple(
            label
            for label, claim in self.claims.items()
            if claim.stated and math.isinf(claim.epsilon)
        )

    def pairs(self) -> Iterator[tuple[Variant, Rival]]:
        """List the pairs that are compared."""
        systems, kinds = self.experiment.systems, get_args(Kind)
        for judged, kind in itertools.product(systems, kinds):
            claim = self.claims[judged.label]
            others = [e for e in systems if stands_for(e, self.claims[e.label]) == kind]
            baseline = closest(judged, others)
            if baseline is judged:
                continue
            if kind == "alone" and self.decisive is not None and claim.is_private:
                yield judged, self.decisive
                if baseline is None or as_people_explore(baseline) == baseline:
                    continue  # beside a radius that is proved, those with that radius count too
            if baseline is None:
                continue
            # Where encryption protects, only the very same algorithm is a counterpart.
            same = baseline.system == judged.system and not differing_keys(judged, baseline)
            if claim.is_private or (claim.encrypted and kind == "pooled" and same):
                yield judged, rival_of(self.found, systems.index(baseline), baseline, kind)

    def compare(self, judged: Variant, rival: Rival) -> Comparison:
        """Compare a pair over the replicates that both have finished."""
        systems, found, entry = self.experiment.systems, self.found, rival.entry
        own, claim, decides = (
            systems.index(judged),
            self.claims[judged.label],
            rival is self.decisive,
        )
        mine = rival.beside(found, own)
        differences = found.saved(rival.losses, mine)
        both = np.isfinite(differences)
        difference = paired(differences, self.level)
        other = None if entry is None else systems.index(entry)
        if found.errors is not None and other is not None:
            # All replicates use one log, whose chance they do not show.
            difference = estimated_difference(difference, found.errors[[own, other]], self.level)
        base = _mean(rival.losses[both])
        best = entry is not None and entry.label == self.experiment.best_alone
        return Comparison(
            system=judged.label,
            kind=rival.kind,
            baseline=rival.name,
            epsilon=claim.epsilon if claim.is_private else None,
            replicates=difference.replicates,
            system_mean=_mean(mine[both]),
            baseline_mean=base,
            saves=difference.mean if difference.replicates else None,
            half_width=difference.half_width,
            level=self.level,
            share=difference.mean / base if base is not None and base > 0.0 else None,
            pays=None if difference.sign is None else difference.sign > 0,
            worse_off=None if other is None else _worse_off(found, own, other, both),
            syncs_less=other is not None and self._syncs_less(own, other, both),
            differs_in=() if entry is None else differing_keys(judged, entry, decides),
            decides=decides,
            at_best=getattr(entry.config, SCALE, None) if best and entry is not None else None,
            ridge_at_best=own_ridge(entry) if best and entry is not None else None,
            own_scale=getattr(judged.config, SCALE, None) if decides else None,
        )

    def _syncs_less(self, own: int, other: int, both: Any) -> bool:
        less = (self.syncs[own] < self.syncs[other])[both]
        return bool(len(less) and less.all())


def _standing(
    experiment: Experiment, claims: dict[str, Claimed]
) -> Iterator[tuple[int, Variant, Kind]]:
    """List systems of the run, with their numbers, that stand for learning alone or pooled.

    Those that learn alone explore as people would: others have lines of their own.
    """
    for number, entry in enumerate(experiment.systems):
        for kind in get_args(Kind):
            if stands_for(entry, claims[entry.label]) != kind:
                continue
            if kind == "pooled" or as_people_explore(entry) == entry:
                yield number, entry, kind


def _worse_off(found: Measure, own: int, other: int, both: Any) -> float | None:
    """Return the share of parties, over replicates, for which the system is worse."""
    gains = found.direction * (found.parties[other][both] - found.parties[own][both])
    known = gains[np.isfinite(gains)]  # of some parties a log may tell nothing
    return float((known < 0.0).mean()) if known.size and gains.shape[-1] > 1 else None


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None
