"""Pages of a run, an audit and a sweep: HTML files that need nothing beside themselves.

Pages are made from the templates in ``templates``, which escape all values. Other modules of this
folder make the tables, figures and cards of the templates.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jinja2
import xarray as xr

from fedbandits.experiments.answers.advice import Advice, Tried
from fedbandits.experiments.answers.answer import MOST_ANSWERS, Answer, point_answers
from fedbandits.experiments.answers.sentences import KINDS, Comparison
from fedbandits.experiments.audits.verdict import Audit
from fedbandits.experiments.claims_page import OVERVIEW, OVERVIEW_NOTE, overview
from fedbandits.experiments.intervals import spelled, spelled_epsilon, with_error
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.log_values import INTERVAL_NOTE, NO_REGRET
from fedbandits.experiments.measure import Ends, claimed_epsilon, ends, sweep_cells
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.plots.bounds import BoundCheck
from fedbandits.experiments.plots.swept import draw_advice
from fedbandits.experiments.report import tables
from fedbandits.experiments.report.officer import ALARMS, kind_of, officer_cards
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import MESSAGE_TIMES
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.glossary import TERMS
from fedbandits.settings.sweeps import Point, Sweep, value_text

#: First bytes of a PNG image. A browser shows an image only under the right media type.
_PNG = b"\x89PNG\r\n\x1a\n"


def render_report(
    experiment: Experiment,
    result: xr.Dataset,
    rows: list[dict[str, Any]],
    plots: Mapping[str, Picture],
    comparisons: Sequence[BoundCheck] = (),
    audit: Audit | None = None,
    answer: Answer | None = None,
) -> str:
    """Write the report as HTML text: the answer first, then the facts for a privacy officer.

    The report shows the summary's ``rows``, plots by name, theorems beside measurements, and the
    audit and the answer if there are such.
    """
    labels, claims = labels_of(result), experiment.claims()
    estimates, doubts = tables.estimates_on_log(result)
    return section(
        "run",
        title=experiment.name,
        experiment=experiment,
        world=experiment.environment,
        is_real=experiment.environment.REAL_DATA,
        interrupted=result.attrs["interrupted"],
        answer=answer,
        cards=officer_cards(claims, audit),
        summary=tables.summary_table(labels, rows),
        own_metrics=tables.own_metrics_table(result, rows),
        scaled=tables.scaled_exploration(experiment),
        figures=tables.result_figures(labels, rows, plots),
        estimates=estimates,
        doubts=doubts,
        comparisons=comparisons,
        plots=plots,
        claims=claims,
        audit=audit,
        toml=experiment.to_toml(),
        versions=json.loads(result.attrs["versions"]),
    )


def render_audit(experiment: Experiment, audit: Audit) -> str:
    """Write an audit as an HTML page of its own, with the attacked claims."""
    claims = experiment.claims()
    return section(
        "audit_page",
        title=f"Audit of {experiment.name}",
        is_real=False,
        audit=audit,
        cards=officer_cards(claims, audit),
        claims=claims,
        toml=experiment.to_toml(),
        versions={},
    )


def render_sweep(
    sweep: Sweep, points: Sequence[Point], result: xr.Dataset, pictures: Mapping[str, Picture]
) -> str:
    """Write the report of a sweep as HTML text, with the pictures by their points in words."""
    at_end, answers = ends(result), list(point_answers(points[:MOST_ANSWERS], result))
    return section(
        "sweep",
        title=f"Sweep of {sweep.experiment.name}",
        sweep=sweep,
        count=math.prod(sweep.shape),
        is_real=sweep.experiment.environment.REAL_DATA,
        interrupted=result.attrs["interrupted"],
        answers=[(at.point, at.answer.headline) for at in answers],
        how=answers[0].answer.how if answers else "",
        unanswered=len(points) - MOST_ANSWERS,
        ends=at_end,
        pictures=pictures,
        titles=[axis.words for axis in sweep.axes] + [e.label for e in sweep.experiment.systems],
        rows=list(_rows(points, result, at_end)),
        claimed=list(_claim_rows(points, result)),
        toml=sweep.to_toml(),
        versions=json.loads(result.attrs["versions"]),
    )


def section(name: str, **shown: Any) -> str:
    """Write one template: a page, or a section of one."""
    return _ENVIRONMENT.get_template(f"{name}.html").render(shown)


def _rows(points: Iterable[Point], result: xr.Dataset, at_end: Ends) -> Iterator[list[str]]:
    """Return a row for each point, with the mean of each system."""
    systems = result.sizes["system"]
    cells = iter(sweep_cells(points, result, at_end))
    for row in iter(lambda: list(itertools.islice(cells, systems)), []):
        swept = [value_text(value) for value in row[0][0].values()]
        yield [*swept, *(spelled(mean, half) for _, _, mean, half, _ in row)]


def _claim_rows(points: Iterable[Point], result: xr.Dataset) -> Iterator[list[str]]:
    epsilons = claimed_epsilon(result)
    for point in points:
        index = dict(zip(point.values, point.index, strict=True))
        claimed = epsilons.isel(index).values.tolist()
        yield [*map(value_text, point.values.values()), *map(spelled_epsilon, claimed)]


def _compared(comparison: Comparison) -> list[str]:
    saves, epsilon = comparison.saves, comparison.epsilon
    return [
        comparison.system,
        f"{KINDS[comparison.kind]} ({comparison.baseline})",
        "–" if saves is None else with_error(saves, comparison.half_width),
        _percent(comparison.share),
        "encrypted" if epsilon is None else f"{epsilon:.4g}",
        str(comparison.replicates),
    ]


def _tried(advice: Advice) -> list[list[str]]:
    return [_tried_row(tried) for curve in advice.curves for tried in curve.tried]


def _tried_row(tried: Tried) -> list[str]:
    return [
        f"{tried.parties:,}",
        f"{tried.epsilon:.4g}",
        with_error(tried.saves, tried.half_width),
        _percent(tried.share),
        {True: "yes", False: "no", None: "not known"}[tried.pays],
    ]


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    sign = "\N{MINUS SIGN}" if share < 0.0 else ""
    return f"{sign}{abs(share):.1%}"


def data_uri(image: bytes) -> str:
    """Return an image as an address that holds all of it."""
    kind = "png" if image.startswith(_PNG) else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


def _css(text: str) -> str:
    """Escape text between quotes in a style sheet; letters, digits and spaces stay."""
    return "".join(c if c.isalnum() or c in " -.,:" else f"\\{ord(c):x} " for c in text)


def _unbroken(claims: Mapping[str, PrivacyClaim]) -> list[list[str]]:
    """Return the rows of all claims; ``ε = 1`` stays on one line."""
    nbsp = "\N{NO-BREAK SPACE}"
    return [[cell.replace(" = ", f"{nbsp}={nbsp}") for cell in row] for row in overview(claims)]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent / "templates"),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "capitalised": tables.capitalised, "compared": _compared, "css": _css, "drawn": draw_advice,
        "data_uri": data_uri, "kind": kind_of, "tried": _tried, "overview": _unbroken,
    }  # fmt: skip
    environment.globals |= {
        "alarms": f"{ALARMS:.0%}", "interval_note": INTERVAL_NOTE, "message_times": MESSAGE_TIMES,
        "no_regret": NO_REGRET, "overview_note": OVERVIEW_NOTE, "overview_titles": OVERVIEW,
        "tables": tables, "terms": TERMS,
    }  # fmt: skip
    return environment


_ENVIRONMENT = _environment()
