"""Baselines of private systems: parties alone, and everything pooled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from fedbandits.experiments.tuning import Place
from fedbandits.settings.experiment import Experiment, Variant, system
from fedbandits.settings.written import plain
from fedbandits.systems import Preset, System, find_system, systems

if TYPE_CHECKING:  # baselines are chosen without the code that prices claims
    from fedbandits.privacy.claims import PrivacyClaim


#: Settings of parties alone that are tried: their exploration scale α, and their ridge λ.
SCALE, RIDGE = "exploration_scale", "regularization"
#: Most replicates of every tried value.
MOST_REPLICATES = 4
#: Kinds of baselines.
Kind = Literal["alone", "pooled"]


class Claimed(NamedTuple):
    """The facts of a privacy claim that a verdict needs."""

    #: The ε that accounting supports: infinite without a guarantee, 0 without messages.
    epsilon: float
    encrypted: bool  # whether encryption protects, without an ε
    stated: bool  # whether a paper states an ε

    @classmethod
    def of(cls, claim: PrivacyClaim) -> Claimed:
        """Take the facts from ``claim``."""
        return cls(claim.epsilon, bool(claim.encrypted), claim.paper_claims is not None)

    @property
    def is_private(self) -> bool:
        """True if messages are sent, and a finite ε is claimed for them."""
        return 0.0 < self.epsilon < math.inf


def stands_for(entry: Variant, claim: Claimed) -> str:
    """Return the kind of baseline that ``entry`` is: ``alone``, ``pooled``, or empty.

    The preset names the kind, and the ``claim`` must agree: parties alone send nothing, and pooled
    data are in clear.
    """
    kind = find_system(entry.system).presets[entry.preset].stands_for
    agrees = {
        "alone": claim.epsilon == 0.0,
        "pooled": math.isinf(claim.epsilon) and not claim.encrypted,
    }
    return kind if agrees.get(kind) else ""


def counterpart(judged: Variant, name: str, other: System[Any], label: str) -> Variant:
    """Make preset ``name`` of the system ``other`` a fair counterpart of ``judged``.

    The counterpart has the settings of ``judged``, except settings that its preset names as
    ``sharing``. Two settings are the same if both systems inherit them from one class.
    """
    shared = _shared_keys(judged, other.config_type) - _own_keys(other.presets[name])
    settings = {key: getattr(judged.config, key) for key in sorted(shared)}
    return system(name, label=label, **settings)


def differing_keys(judged: Variant, baseline: Variant, best: bool = False) -> tuple[str, ...]:
    """List settings that differ between ``judged`` and ``baseline`` and are not about sharing.

    The tried settings of a baseline at its ``best`` do not count. Systems without common settings
    differ in their ``algorithm``.
    """
    shared = _shared_keys(judged, type(baseline.config))
    if not shared and judged.system != baseline.system:
        return ("algorithm",)
    preset = find_system(baseline.system).presets[baseline.preset]
    keys = shared - _own_keys(preset)
    if best:
        keys -= {SCALE, RIDGE, *preset.at_best}
    if _explores_as_its_preset(judged) and _explores_as_its_preset(baseline):
        keys -= {SCALE}
    return tuple(
        key
        for key in msgspec.structs.asdict(judged.config)
        if key in keys and _value(judged, key) != _value(baseline, key)
    )


def _explores_as_its_preset(entry: Variant) -> bool:
    """Tell whether an entry has the ``exploration_scale`` of its preset."""
    preset = find_system(entry.system).presets[entry.preset]
    usual = preset.settings.get(SCALE, getattr(type(entry.config)(), SCALE, None))
    return bool(getattr(entry.config, SCALE, None) == usual)


def closest(judged: Variant, candidates: Iterable[Variant]) -> Variant | None:
    """Choose the fairest candidate: the same system, then the fewest differing settings."""
    return min(
        candidates,
        key=lambda c: (c.system != judged.system, len(differing_keys(judged, c))),
        default=None,
    )


def presets_for(kind: Kind, entry: Variant) -> Iterator[tuple[str, System[Any]]]:
    """List presets of a ``kind``, with their systems; presets of the entry's system come first."""
    own = find_system(entry.system)
    yield from _standing_for(kind, own)
    for other in systems():
        if other.name != own.name:
            yield from _standing_for(kind, other)


def _standing_for(kind: Kind, declared: System[Any]) -> Iterator[tuple[str, System[Any]]]:
    for name, preset in declared.presets.items():
        if preset.stands_for == kind:
            yield name, declared


def _own_keys(preset: Preset) -> set[str]:
    """Return the settings that may differ in a fair comparison."""
    return set(preset.sharing or preset.settings)


def _shared_keys(judged: Variant, other: type[Any]) -> set[str]:
    """Return the settings that two configuration types inherit from the same class."""
    mine, theirs = _declared(type(judged.config)), _declared(other)
    return {key for key, where in mine.items() if theirs.get(key) is where}


def _declared(config: type[Any]) -> dict[str, type]:
    """Return the class that declares each setting."""
    classes: dict[str, type] = {}
    for cls in reversed(config.__mro__):
        classes |= dict.fromkeys(vars(cls).get("__annotations__", {}), cls)
    return {key: cls for key, cls in classes.items() if key in config.__struct_fields__}


def _value(entry: Variant, key: str) -> Any:
    return msgspec.to_builtins(getattr(entry.config, key), enc_hook=plain)


def is_tunable(entry: Variant) -> bool:
    """Tell whether the entry has an exploration scale."""
    return hasattr(entry.config, SCALE)


def default_ridge(entry: Variant) -> float | None:
    """Return the initial λ of an entry; None without λ, or if λ belongs to a bound."""
    given = getattr(entry.config, RIDGE, None)
    if given != "auto":
        return None if given is None else float(given)
    if getattr(entry.config, "confidence", None) != "deviations":
        return None
    from fedbandits.systems.agents.noise import prior_ridge

    return prior_ridge(entry.config)


def tuned(entry: Variant, place: Place) -> Variant:
    """Return the entry with the settings of a place of the grid; the default λ is kept."""
    settings, label = {SCALE: place.alpha}, f"{entry.label}, α = {place.alpha:g}"
    if place.ridge:
        ridge = float(f"{place.ridge_factor * (default_ridge(entry) or 1.0):.3g}")
        settings[RIDGE] = ridge
        label += f", λ = {ridge:g}"
    return msgspec.structs.replace(_set(entry, settings), label=label)


def as_usual(entry: Variant) -> Variant | None:
    """Return the entry as usual, with α = 1 and the default λ; None without λ."""
    usual = as_people_explore(entry)
    if not (is_tunable(usual) and hasattr(usual.config, RIDGE)):
        return None
    return _set(usual, {SCALE: 1.0, RIDGE: type(usual.config)().regularization})


def own_ridge(entry: Variant) -> float | None:
    """Return λ of an entry; None without λ, or if λ is the default."""
    given = getattr(entry.config, RIDGE, None)
    return None if given is None or given == type(entry.config)().regularization else float(given)


def plays_like(one: Variant, other: Variant) -> bool:
    """Tell whether two variants are equal but for their labels."""
    return (one.preset, one.config) == (other.preset, other.config)


def as_people_explore(entry: Variant) -> Variant:
    """Return the entry with the settings that its preset has *at best*."""
    return _set(entry, find_system(entry.system).presets[entry.preset].at_best)


def tried_on(experiment: Experiment) -> int:
    """Return the number of replicates on which every value is tried first."""
    return min(experiment.replicates, MOST_REPLICATES)


def _set(entry: Variant, settings: Mapping[str, Any]) -> Variant:
    config = msgspec.structs.replace(entry.config, **settings)
    return msgspec.structs.replace(entry, config=config)
