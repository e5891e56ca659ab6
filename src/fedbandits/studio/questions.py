"""Quick questions of the page, each with the function that answers."""

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
from fedbandits.experiments.measure import measure_run
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
    """Return the facts of the first screen: presets, examples, worlds and terms."""
    private = {name for name, target in attackable().items() if target.is_private}
    return {
        "version": __version__,
        "folder": folder,
        "presets": [
            {
                "name": name, "system": system.name, "about": preset.description,
                "is_private": name in private,
                "environments": [
                    kind for kind, world in environments().items() if system.plays_in(world)
                ],
            }
            for system in systems() for name, preset in system.presets.items()
        ],
        "examples": [
            {"name": one.name, "about": one.shows, "takes": one.takes, "toml": one.text}
            for one in examples().values()
        ],
        "worlds": [
            {"kind": kind, "about": summary_of(world)} for kind, world in environments().items()
        ],
        "glossary": TERMS,
        "steppable": steppable(),
        "attackable": list(attackable()),
    }  # fmt: skip


def steppable() -> list[dict[str, Any]]:
    """List the presets whose protocol can be stepped through."""
    from fedbandits.studio import steps

    presets: list[dict[str, Any]] = steps.steppable()
    return presets


def runs(folder: str) -> list[dict[str, Any]]:
    """List the runs in a folder."""
    top = pathlib.Path(folder)
    return [
        {
            "id": run.folder.relative_to(top).as_posix(), "name": run.name,
            "status": run.status, "systems": list(run.systems), "rounds": run.rounds,
            "replicates": run.replicates, "headline": by_buttons(run.headline),
            "epsilon": _largest_epsilon(run.folder),
        }
        for run in find_runs(top) if run.folder != top
    ]  # fmt: skip


def _largest_epsilon(folder: pathlib.Path) -> float | None:
    """Return the largest ε that systems of a run claim, from the answer in its folder."""
    try:
        compared = json.loads((folder / "answer.json").read_text(encoding="utf-8"))["comparisons"]
        return max((float(pair["epsilon"]) for pair in compared), default=None)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ):  # no answer, or another version's
        return None


def details(folder: str) -> dict[str, Any]:
    """Return all facts of the run in a folder."""
    place = pathlib.Path(folder)
    config, text = place / CONFIG, ""
    if config.is_file():
        text = config.read_text(encoding="utf-8", errors="replace")
    facts: dict[str, Any] = {
        "toml": text, "lines": [], "how": "", "claims": {}, "unit": "", "curves": [],
    }  # fmt: skip
    if not text or not (place / RESULTS).is_file():
        return facts
    try:
        return facts | _results(place, text)
    except (FedbanditsError, OSError, ValueError, KeyError) as error:
        return facts | {"lines": [f"The files of this run cannot be read: {error}"]}


def _results(place: pathlib.Path, text: str) -> dict[str, Any]:
    """Return the answer, the claims and the curves of a run."""
    result = read_result(place)
    if "sweep" in result.attrs:
        return {"lines": ["A sweep: its report shows every point."]}
    experiment = Experiment.from_table(parse_toml(text), place, modules=())
    unit, curves = curves_of(result)
    verdict = answer(experiment, result)
    return {
        "lines": list(map(by_buttons, verdict.lines)), "how": verdict.how,
        "claims": _claims(experiment), "curves": curves, "unit": unit,
    }  # fmt: skip


def _claims(experiment: Experiment) -> dict[str, Any]:
    return {label: claim_table(claim) for label, claim in experiment.claims().items()}


def compare(first: str, second: str) -> dict[str, Any]:
    """Compare the runs in two folders."""
    folders, comparison = [pathlib.Path(first), pathlib.Path(second)], compare_runs(first, second)
    results = list(map(read_result, folders))
    _, curves = zip(*map(curves_of, results), strict=True)
    halves, claims = list(map(_halves, results)), list(map(_claims_in, folders))
    return {
        "settings": [plain(setting._asdict()) for setting in comparison.settings],
        "units": list(comparison.units),
        "are_pairs": comparison.are_pairs,
        "systems": [
            {
                "system": both.system,
                "first": {"mean": both.first, "half": halves[0].get(both.system)},
                "second": {"mean": both.second, "half": halves[1].get(both.system)},
                "claims": [of_run.get(both.system) for of_run in claims],
                "difference": None if both.difference is None else {
                    "mean": both.difference.mean, "half": both.difference.half_width,
                    "n": both.difference.replicates,
                },
            }
            for both in comparison.systems
        ],
        "curves": list(curves),
        "names": [folder.name for folder in folders],
    }  # fmt: skip


def _halves(result: xr.Dataset) -> dict[str, float | None]:
    """Return half the width of each system's 95% interval at the end.

    The half-width is None with fewer than 3 replicates.
    """
    halves = {}
    for system, totals in zip(result.system.values, measure_run(result).totals, strict=True):
        known = totals[np.isfinite(totals)]
        _, half = interval(known[:, None])
        halves[str(system)] = float(half[0]) if np.isfinite(half[0]) else None
    return halves


def _claims_in(place: pathlib.Path) -> dict[str, Any]:
    """Return the claims of the run in a folder; none if its configuration cannot be read."""
    try:
        text = (place / CONFIG).read_text(encoding="utf-8")
        return _claims(Experiment.from_table(parse_toml(text), place, modules=()))
    except (FedbanditsError, OSError, ValueError):
        return {}


def table_file(
    folder: str, name: str, roles: Mapping[str, str] | None = None, missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Describe a file of the user's own data, and write a configuration that reads the file.

    The answer has only the shape and the names of columns. ``roles`` are the named columns by their
    roles, and ``missing`` are texts that stand for missing values.
    """
    reading = AS_FOUND._replace(marks=tuple(missing) or None)
    path = f"{pathlib.Path(name).stem}.toml"
    template = own_data_template(name, path, reading=reading, **(roles or {}))
    table = parse_toml(template.text)
    experiment = Experiment.from_table(table, folder, modules=())
    return {
        "path": name,
        "columns": list(map(str, table["environment"].get("features", []))),
        "rows": template.rows or experiment.environment.parties * experiment.rounds,
        "toml": template.text,
        "told": list(template.notes),
    }


def record(**job: Any) -> dict[str, Any]:
    """Record the steps of a protocol."""
    from fedbandits.studio import steps

    recording: dict[str, Any] = steps.record_steps(job)
    return recording


#: Functions that answer, by the name of the question.
QUESTIONS: dict[str, Callable[..., Any]] = {
    "start": start, "setup": setup, "runs": runs, "details": details, "compare": compare,
    "table_file": table_file, "steps": record,
}  # fmt: skip
