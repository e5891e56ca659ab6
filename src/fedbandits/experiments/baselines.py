"""What a private system is compared with: parties alone, and everything pooled in clear."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from fedbandits.settings.experiment import Variant, system
from fedbandits.settings.written import plain
from fedbandits.systems import Preset, System, find_system, systems

if TYPE_CHECKING:  # baselines are chosen before anything is priced
    from fedbandits.privacy.claims import PrivacyClaim

#: What a system can be compared with.
Kind = Literal["alone", "pooled"]


class Claimed(NamedTuple):
    """What a verdict needs of a privacy claim.

    Parameters
    ----------
    epsilon
        The ε that accounting supports: infinite if there is none, 0 if nothing is sent.
    encrypted
        Whether encryption protects, so that there is no ε.
    stated
        Whether a paper states an ε.
    """

    epsilon: float
    encrypted: bool
    stated: bool

    @classmethod
    def of(cls, claim: PrivacyClaim) -> Claimed:
        """What is needed of ``claim``."""
        return cls(claim.epsilon, bool(claim.encrypted), claim.paper_claims is not None)

    @property
    def is_private(self) -> bool:
        """Whether something is sent, and a finite ε is claimed for it."""
        return 0.0 < self.epsilon < math.inf


def stands_for(entry: Variant, claim: Claimed) -> str:
    """What other systems are compared with ``entry`` for: ``alone``, ``pooled`` or nothing.

    Its preset says so, and its ``claim`` agrees: alone nothing is sent, pooled all is in clear.
    """
    said = find_system(entry.system).presets[entry.preset].stands_for
    agrees = {
        "alone": claim.epsilon == 0.0,
        "pooled": math.isinf(claim.epsilon) and not claim.encrypted,
    }
    return said if agrees.get(said) else ""


def counterpart(judged: Variant, name: str, other: System[Any], label: str) -> Variant:
    """Preset ``name`` of the system ``other``, as a fair counterpart of ``judged``.

    It has the settings of ``judged``, except those that its preset names as ``sharing``. Only
    settings that both systems inherit from one declaration are the same setting.
    """
    shared = _shared_keys(judged, other.config_type) - _own_keys(other.presets[name])
    settings = {key: getattr(judged.config, key) for key in sorted(shared)}
    return system(name, label=label, **settings)


def differing_keys(judged: Variant, baseline: Variant) -> tuple[str, ...]:
    """Settings that are not about sharing, and differ between ``judged`` and ``baseline``.

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
    """The fairest of the ``candidates``: the same system, then the fewest differing settings."""
    return min(
        candidates,
        key=lambda c: (c.system != judged.system, len(differing_keys(judged, c))),
        default=None,
    )


def presets_for(kind: Kind, entry: Variant) -> Iterator[tuple[str, System[Any]]]:
    """Presets that stand for ``kind``, with their systems; those of ``entry``'s system first."""
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
    """Settings in which two sides of a fair comparison may differ."""
    return set(preset.sharing or preset.settings)


def _shared_keys(judged: Variant, other: type[Any]) -> set[str]:
    """Settings that two configuration types inherit from the same class."""
    mine, theirs = _declared(type(judged.config)), _declared(other)
    return {key for key, where in mine.items() if theirs.get(key) is where}


def _declared(config: type[Any]) -> dict[str, type]:
    """For each setting the class that declares it."""
    found: dict[str, type] = {}
    for cls in reversed(config.__mro__):
        found |= dict.fromkeys(vars(cls).get("__annotations__", {}), cls)
    return found


def _value(entry: Variant, key: str) -> Any:
    return msgspec.to_builtins(getattr(entry.config, key), enc_hook=plain)
