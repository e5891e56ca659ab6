"""The systems that private ones are compared with: parties alone, and everything pooled."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from fedbandits.settings.experiment import Experiment, Variant, load, system
from fedbandits.settings.written import plain
from fedbandits.systems import Preset, System, find_system, systems

if TYPE_CHECKING:  # baselines are chosen before anything is priced
    from fedbandits.privacy.claims import PrivacyClaim


#: What a system can be compared with.
Kind = Literal["alone", "pooled"]


class Claimed(NamedTuple):
    """The part of a privacy claim that a verdict needs."""

    #: The ε that accounting supports: infinite if there is none, 0 if nothing is sent.
    epsilon: float
    encrypted: bool  # whether encryption protects, so that there is no ε
    stated: bool  # whether a paper states an ε

    @classmethod
    def of(cls, claim: PrivacyClaim) -> Claimed:
        """Take the needed part of ``claim``."""
        return cls(claim.epsilon, bool(claim.encrypted), claim.paper_claims is not None)

    @property
    def is_private(self) -> bool:
        """True if something is sent, and a finite ε is claimed for it."""
        return 0.0 < self.epsilon < math.inf


def stands_for(entry: Variant, claim: Claimed) -> str:
    """Return what ``entry`` stands for in comparisons: ``alone``, ``pooled`` or nothing.

    Its preset says so, and its ``claim`` agrees: alone nothing is sent, pooled all is in clear.
    """
    said = find_system(entry.system).presets[entry.preset].stands_for
    agrees = {
        "alone": claim.epsilon == 0.0,
        "pooled": math.isinf(claim.epsilon) and not claim.encrypted,
    }
    return said if agrees.get(said) else ""


def counterpart(judged: Variant, name: str, other: System[Any], label: str) -> Variant:
    """Make preset ``name`` of the system ``other`` a fair counterpart of ``judged``.

    It has the settings of ``judged``, except those that its preset names as ``sharing``. Only
    settings that both systems inherit from one declaration are the same setting.
    """
    shared = _shared_keys(judged, other.config_type) - _own_keys(other.presets[name])
    settings = {key: getattr(judged.config, key) for key in sorted(shared)}
    return system(name, label=label, **settings)


def differing_keys(judged: Variant, baseline: Variant) -> tuple[str, ...]:
    """List settings that differ between ``judged`` and ``baseline`` and are not about sharing.

    Systems that have no setting in common differ in their ``algorithm``.
    """
    shared = _shared_keys(judged, type(baseline.config))
    if not shared and judged.system != baseline.system:
        return ("algorithm",)
    keys = shared - _own_keys(find_system(baseline.system).presets[baseline.preset])
    return tuple(
        key
        for key in msgspec.structs.asdict(judged.config)
        if key in keys and _value(judged, key) != _value(baseline, key)
    )


def closest(judged: Variant, candidates: Iterable[Variant]) -> Variant | None:
    """Choose the fairest candidate: the same system, then the fewest differing settings."""
    return min(
        candidates,
        key=lambda c: (c.system != judged.system, len(differing_keys(judged, c))),
        default=None,
    )


def presets_for(kind: Kind, entry: Variant) -> Iterator[tuple[str, System[Any]]]:
    """List presets that stand for ``kind``, with their systems; the entry's system comes first."""
    own = find_system(entry.system)
    yield from _standing_for(kind, own)
    for other in systems():
        if other.name != own.name:
            yield from _standing_for(kind, other)


def _standing_for(kind: Kind, found: System[Any]) -> Iterator[tuple[str, System[Any]]]:
    for name, preset in found.presets.items():
        if preset.stands_for == kind:
            yield name, found


def _own_keys(preset: Preset) -> set[str]:
    """Return the settings in which two sides of a fair comparison may differ."""
    return set(preset.sharing or preset.settings)


def _shared_keys(judged: Variant, other: type[Any]) -> set[str]:
    """Return the settings that two configuration types inherit from the same class."""
    mine, theirs = _declared(type(judged.config)), _declared(other)
    return {key for key, where in mine.items() if theirs.get(key) is where}


def _declared(config: type[Any]) -> dict[str, type]:
    """Find for each setting the class that declares it."""
    found: dict[str, type] = {}
    for cls in reversed(config.__mro__):
        found |= dict.fromkeys(vars(cls).get("__annotations__", {}), cls)
    return found


def _value(entry: Variant, key: str) -> Any:
    return msgspec.to_builtins(getattr(entry.config, key), enc_hook=plain)


_LABEL = "alone"


def with_alone(experiment: Experiment | str | os.PathLike[str]) -> Experiment:
    """Add a system whose parties learn alone, if the experiment has none.

    The new system has the settings of the first system that claims a finite ε. Settings that say
    what is sent, when, and with which noise are its own. It is labelled ``alone``.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file.

    Returns
    -------
    Experiment
        The same experiment, if it has such a system, if no system claims a finite ε, or if no
        system whose parties learn alone plays in this environment.

    Raises
    ------
    ConfigError, DataError
        If the experiment cannot be run.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    with warnings.catch_warnings():  # whoever runs it is warned then
        warnings.simplefilter("ignore")
        plans = experiment.check()
    claims = [
        Claimed.of(find_system(entry.system).claim(plan))
        for entry, plan in zip(experiment.systems, plans, strict=True)
    ]
    pairs = list(zip(experiment.systems, claims, strict=True))
    judged = next((entry for entry, claim in pairs if claim.is_private), None)
    if judged is None or any(stands_for(*pair) == "alone" for pair in pairs):
        return experiment
    added = _alone(experiment, judged)
    if added is None:
        return experiment
    return msgspec.structs.replace(experiment, systems=(*experiment.systems, added))


def _alone(experiment: Experiment, judged: Variant) -> Variant | None:
    """Make a fair *alone* for ``judged``; None if no system has one for this environment."""
    taken = {entry.label for entry in experiment.systems}
    label = next(name for name in _labels() if name not in taken)
    for preset, found in presets_for("alone", judged):
        if found.plays_in(type(experiment.environment)):
            return counterpart(judged, preset, found, label)
    return None


def _labels() -> Iterator[str]:
    yield _LABEL
    yield from (f"{_LABEL} {number}" for number in itertools.count(2))
