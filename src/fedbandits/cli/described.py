"""``fedbandits list NAME``: one preset, system, environment, example, figure or part in full."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from fedbandits._suggest import did_you_mean
from fedbandits.cli.console import Page
from fedbandits.cli.options import listed_names
from fedbandits.environments import Environment
from fedbandits.errors import ConfigError
from fedbandits.learners.learner import Learner
from fedbandits.reproduce import FIGURES
from fedbandits.settings.experiment import system as variant_of
from fedbandits.settings.reference.docstrings import description_of, summary_of
from fedbandits.settings.reference.keys import Key, in_toml, keys_of
from fedbandits.settings.reference.places import (
    built_in_environments,
    built_in_systems,
    parts,
    paths,
)
from fedbandits.settings.toml_files import examples
from fedbandits.systems.base import System
from fedbandits.systems.python_learners import LearnerSystem

if TYPE_CHECKING:
    from fedbandits.privacy.claims import PrivacyClaim


#: Groups of entry points, by the kind of their objects.
_GROUPS = {
    "system": "fedbandits.systems",
    "environment": "fedbandits.environments",
    "learner": "fedbandits.learners",
}


def offers() -> list[tuple[str, str, str]]:
    """Return the kind, name and package of each object that packages offer, from metadata alone."""
    return [
        (what, point.name, _package(point))
        for what, group in _GROUPS.items()
        for point in entry_points(group=group)
    ]


def _load_offered(name: str) -> Any:
    """Load the system or environment that a package offers under ``name``; None without an offer.

    The code of the package is run; raises ConfigError if the code fails. A learner is returned as
    the system that plays the learner.
    """
    points = [point for group in _GROUPS.values() for point in entry_points(group=group, name=name)]
    if not points:
        return None
    try:
        offered = points[0].load()
        if isinstance(offered, type) and issubclass(offered, Learner):
            return LearnerSystem(offered)
    except Exception as error:  # the code of another package may raise any error
        raise ConfigError(
            f"list: {name} is offered by {_package(points[0])}, which fails when it is imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    return offered


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def describe(name: str) -> None:
    """Print everything of this name; refuse an unknown name."""
    page, systems, worlds = Page(), built_in_systems(), built_in_environments()
    offered = None
    if name not in listed_names(name):
        offered = _load_offered(name)
        if offered is None:
            raise ConfigError(_unknown(name))
        if isinstance(offered, System):
            systems.append(offered)
        else:
            worlds[name] = offered
    for system in systems:
        if name in system.presets:
            _preset(page, system, name, worlds)
        if name == system.name or system is offered:
            _system(page, system, worlds)
    if name in worlds:
        _environment(page, name, worlds[name], systems)
    if name in examples():
        _example(page, name)
    if name in FIGURES:
        _figure(page, name)
    _parts(page, name)


def _unknown(name: str) -> str:
    there = "; ".join(f"{point} is offered by {package}" for _, point, package in offers())
    if name in paths():
        return f"list: {name!r} is a key of a configuration; `fedbandits explain {name}` says more"
    return (
        f"list: given {name!r}, {did_you_mean(name, listed_names(''))}"
        f"`fedbandits list` shows all names{f'; {there}' if there else ''}"
    )


def _preset(page: Page, system: System[Any], name: str, worlds: dict[str, Any]) -> None:
    chosen = variant_of(name)
    page.title("preset", name, system.presets[name].description)
    page.facts(
        [
            ("system", f"{system.name} ({system.paper})"),
            ("plays in", _fitting(system, worlds)),
            *_claim(system, name),
        ]
    )
    keys = keys_of(system.config_type, chosen.config)
    page.heading("its keys, with the defaults of this preset")
    page.keys(keys)
    page.heading("in a configuration")
    budget = [key for key in keys if key.path in ("epsilon", "delta")]
    lines = [f"{key.path} = {key.default}" for key in budget]
    page.toml("\n".join(["[[systems]]", f"preset = {in_toml(name)}", *lines]))
    page.text(f"A whole file, with comments: fedbandits init --from {name}", 4)


def _claim(system: System[Any], preset: str) -> list[tuple[str, str]]:
    """Return the claim of a preset in the world of docs/claims.md, if one fits the system."""
    from fedbandits.experiments import claims_page

    worlds = claims_page.REFERENCE_WORLDS
    world = next((world for world in worlds if system.plays_in(type(world))), None)
    if world is None:
        return []
    known = system.config_type.__struct_fields__
    asked_of_all = claims_page.REFERENCE_BUDGET
    budget: dict[str, Any] = {key: value for key, value in asked_of_all.items() if key in known}
    rounds = claims_page.REFERENCE_ROUNDS
    claim = system.claim(variant_of(preset, **budget).plan(world, rounds))
    asked = ", ".join(f"{key} = {value:g}" for key, value in budget.items())
    return [
        ("claims", claim.headline),
        ("", f"(in a world of {world.parties} {world.words.parties} and {rounds:,} rounds"
             f"{f', asked for {asked}' if asked else ''})"),
        ("the paper", _stated(claim)),
        ("protects", claim.unit),
        ("from", claim.from_whom),
        *zip(("but not", *[""] * len(claim.limits)), claim.limits, strict=False),
    ]  # fmt: skip


def _stated(claim: PrivacyClaim) -> str:
    """Write the claim of the paper; empty if the paper has no claim."""
    return "" if claim.paper_claims is None else "ε = {:g}, δ = {:g}".format(*claim.paper_claims)


def _system(page: Page, system: System[Any], worlds: dict[str, Any]) -> None:
    page.title("system", system.name, system.paper)
    page.facts([("plays in", _fitting(system, worlds))])
    page.heading("its presets, and what each sets otherwise than the system's defaults")
    for name, preset in system.presets.items():
        page.facts([(name, preset.description)], 4)
        settings = ", ".join(f"{key} = {in_toml(value)}" for key, value in preset.settings.items())
        page.text(settings or "all defaults", 8)
    page.text("Keys and their meanings: fedbandits list PRESET")


def _environment(
    page: Page, kind: str, environment: type[Environment], systems: Iterable[System[Any]]
) -> None:
    page.title("environment", kind, summary_of(environment))
    for paragraph in description_of(environment)[1:]:
        page.text(paragraph)
    playing = ", ".join(system.name for system in systems if system.plays_in(environment))
    page.facts(
        [
            ("parties", environment.WORDS.parties),
            ("who plays", playing or "no system"),
            ("under drift", environment.SECOND_WORLD),
        ]
    )
    keys = keys_of(environment)
    page.heading("its keys")
    page.keys(keys)
    page.heading("in a configuration")
    lines = [f"{key.path} = {_example_value(key)}" for key in keys if key.default != ""]
    page.toml("\n".join(["[environment]", f"kind = {in_toml(kind)}", *lines]))


def _example_value(key: Key) -> str:
    if key.default is not None:
        return key.default
    return "1" if "number" in key.type_in_words else '"…"'


def _example(page: Page, name: str) -> None:
    example = examples()[name]
    page.title("example", name, example.shows)
    page.facts(
        [
            ("takes", example.takes),
            ("run it", f"fedbandits run {name}"),
            ("copy it", f"fedbandits init --from {name}"),
        ]
    )
    page.heading("the file")
    page.toml(example.text)


def _figure(page: Page, name: str) -> None:
    figure = FIGURES[name]
    page.title("figure", name, figure.title)
    page.facts(
        [
            ("source", figure.source),
            ("data", figure.data or "takes none"),
            ("quick", figure.quick),
            ("full", figure.full),
            ("make it", f"fedbandits reproduce {name}, at the paper's scale with --full"),
        ]
    )


def _parts(page: Page, name: str) -> None:
    same: dict[Any, list[tuple[str, str]]] = {}
    for part, path, system in parts().get(name, []):
        same.setdefault((part.meaning, part.written), []).append((path, system))
    for (meaning, written), where in same.items():
        key = where[0][0]
        owners = ", ".join(system for _, system in where)
        page.title("part", written, meaning)
        page.facts([("value of", f"{key}, in {owners}"), ("written", f'{key} = "{written}"')])
        first = next(p for p, _, _ in parts()[name] if (p.meaning, p.written) == (meaning, written))
        page.keys(first.keys)


def _fitting(system: System[Any], worlds: dict[str, type[Environment]]) -> str:
    return ", ".join(kind for kind, world in worlds.items() if system.plays_in(world))
