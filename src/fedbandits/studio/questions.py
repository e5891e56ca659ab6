"""Questions of the page that are answered at once, each by a function from values to values."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fedbandits._version import __version__
from fedbandits.environments import environments
from fedbandits.environments.tables.formats import AS_FOUND
from fedbandits.errors import FedbanditsError
from fedbandits.experiments.answers.answer import answer
from fedbandits.experiments.folder import CONFIG, RESULTS, compare_runs, find_runs, read_result
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.measure import measure
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.docstrings import summary_of
from fedbandits.settings.reference.glossary import TERMS
from fedbandits.settings.reference.own_data import own_data_template
from fedbandits.settings.toml_files import examples, parse_toml
from fedbandits.studio.attack import attackable
from fedbandits.studio.curves import by_buttons, curves_of
from fedbandits.studio.setup import claim_table, plain, setup
from fedbandits.systems import systems


def start(folder: str) -> dict[str, Any]:
    """Say what there is to begin with."""
    private = {name for name, found in attackable().items() if found.is_private}
    return {
        "version": __version__,
        "folder": folder,
        "presets": [
            {
                "name": name, "system": system.name, "about": preset.description,
                "is_private": name in private,
                "environments": [
                    kind for kind, found in environments().items() if system.plays_in(found)
                ],
            }
            for system in systems() for name, preset in system.presets.items()
        ],
        "examples": [
            {"name": each.name, "about": each.shows, "takes": each.takes, "toml": each.text}
            for each in examples().values()
        ],
        "worlds": [
            {"kind": kind, "about": summary_of(found)} for kind, found in environments().items()
        ],
        "glossary": TERMS,
        "steppable": steppable(),
        "attackable": list(attackable()),
    }  # fmt: skip


def steppable() -> list[dict[str, Any]]:
    """List the presets whose protocol can be stepped through."""
    from fedbandits.studio import steps

    found: list[dict[str, Any]] = steps.steppable()
    return found


def runs(folder: str) -> list[dict[str, Any]]:
    """List the runs in a folder."""
    top = pathlib.Path(folder)
    return [
        {
            "id": each.folder.relative_to(top).as_posix(), "name": each.name,
            "status": each.status, "systems": list(each.systems), "rounds": each.rounds,
            "replicates": each.replicates, "headline": by_buttons(each.headline),
            "epsilon": _largest_epsilon(each.folder),
        }
        for each in find_runs(top) if each.folder != top
    ]  # fmt: skip


def _largest_epsilon(folder: pathlib.Path) -> float | None:
    """Return the largest ε that a system of a run claims, as its answer has it."""
    try:
        compared = json.loads((folder / "answer.json").read_text(encoding="utf-8"))["comparisons"]
        return max((float(each["epsilon"]) for each in compared), default=None)
    except (OSError, ValueError, KeyError, TypeError):  # no answer, or that of another version
        return None


def details(folder: str) -> dict[str, Any]:
    """Say everything about the run in a folder."""
    place = pathlib.Path(folder)
    config, text = place / CONFIG, ""
    if config.is_file():
        text = config.read_text(encoding="utf-8", errors="replace")
    told: dict[str, Any] = {
        "toml": text, "lines": [], "how": "", "claims": {}, "unit": "",
        "curves": [],
    }  # fmt: skip
    if not text or not (place / RESULTS).is_file():
        return told
    try:
        return told | _results(place, text)
    except (FedbanditsError, OSError, ValueError, KeyError) as error:
        return told | {"lines": [f"The files of this run cannot be read: {error}"]}


def _results(place: pathlib.Path, text: str) -> dict[str, Any]:
    """Say what came out of a run."""
    result = read_result(place)
    if "sweep" in result.attrs:
        return {"lines": ["A sweep: its report shows every point."]}
    experiment = Experiment.from_table(parse_toml(text), place, modules=())
    unit, curves = curves_of(result)
    said = answer(experiment, result)
    return {
        "lines": list(map(by_buttons, said.lines)), "how": said.how,
        "claims": _claims(experiment), "curves": curves, "unit": unit,
    }  # fmt: skip


def _claims(experiment: Experiment) -> dict[str, Any]:
    return {label: claim_table(claim) for label, claim in experiment.claims().items()}


def compare(first: str, second: str) -> dict[str, Any]:
    """Compare the runs in two folders."""
    found = compare_runs(first, second)
    both = [read_result(pathlib.Path(each)) for each in (first, second)]
    _, curves = zip(*map(curves_of, both), strict=True)
    ends = [_halves(result) for result in both]
    claims = [_claims_in(pathlib.Path(each)) for each in (first, second)]
    return {
        "settings": [plain(each._asdict()) for each in found.settings],
        "units": list(found.units),
        "are_pairs": found.are_pairs,
        "systems": [
            {
                "system": each.system,
                "first": {"mean": each.first, "half": ends[0].get(each.system)},
                "second": {"mean": each.second, "half": ends[1].get(each.system)},
                "claims": [found.get(each.system) for found in claims],
                "difference": None if each.difference is None else {
                    "mean": each.difference.mean, "half": each.difference.half_width,
                    "n": each.difference.replicates,
                },
            }
            for each in found.systems
        ],
        "curves": list(curves),
        "names": [pathlib.Path(each).name for each in (first, second)],
    }  # fmt: skip


def _halves(result: xr.Dataset) -> dict[str, float | None]:
    """Return half the width of each system's 95% interval at the end; None with fewer than 3."""
    labels = labels_of(result)
    found = {}
    for system, totals in zip(
        result.system.values, measure(labels.words, labels.decisions, result).totals, strict=True
    ):
        known = totals[np.isfinite(totals)]
        _, half = interval(known[:, None])
        found[str(system)] = float(half[0]) if np.isfinite(half[0]) else None
    return found


def _claims_in(place: pathlib.Path) -> dict[str, Any]:
    """Say what the systems of the run in a folder claim; nothing if it cannot be read."""
    try:
        text = (place / CONFIG).read_text(encoding="utf-8")
        return _claims(Experiment.from_table(parse_toml(text), place, modules=()))
    except (FedbanditsError, OSError, ValueError):
        return {}


def table_file(
    folder: str, name: str, roles: Mapping[str, str] | None = None, missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Say what a file of the user's own is, and write a configuration for it.

    Only shapes and names of columns are shown. ``roles`` are columns by their roles, as far as
    somebody named them, and ``missing`` are texts that stand for missing values.
    """
    reading = AS_FOUND._replace(marks=tuple(missing) or None)
    path = f"{pathlib.Path(name).stem}.toml"
    found = own_data_template(name, path, reading=reading, **(roles or {}))
    told = Experiment.from_table(parse_toml(found.text), folder, modules=())
    return {
        "path": name,
        "columns": [
            str(each) for each in parse_toml(found.text)["environment"].get("features", [])
        ],
        "rows": found.rows or told.environment.parties * told.rounds,
        "toml": found.text,
        "told": list(found.notes),
    }


def record(**job: Any) -> dict[str, Any]:
    """Record the steps of a protocol."""
    from fedbandits.studio import steps

    found: dict[str, Any] = steps.record_steps(job)
    return found


#: Every question by its name.
QUESTIONS: dict[str, Callable[..., Any]] = {
    "start": start, "setup": setup, "runs": runs, "details": details, "compare": compare,
    "table_file": table_file, "steps": record,
}  # fmt: skip
