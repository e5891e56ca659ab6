"""``fedbandits report``."""

from __future__ import annotations

import pathlib
import re
from typing import Annotated

import typer

from fedbandits.errors import ConfigError

#: Inches: smaller ones have no room for lines, larger ones are no pages.
_SMALLEST, _LARGEST = 2.0, 40.0


def report(
    folder: Annotated[
        pathlib.Path, typer.Argument(metavar="FOLDER", help="The folder of a run.", exists=False)
    ],
    plot_size: Annotated[
        str,
        typer.Option(metavar="WIDTHxHEIGHT", help="Size of plots in inches.  [default: 7.2x4]"),
    ] = "",
    font_size: Annotated[
        float, typer.Option(min=4.0, max=40.0, help="Size of text in plots, in points.")
    ] = 10.0,
) -> None:
    """Write the report and the plots of a run again, from its results.

    Nothing is played. Plots are written as PNG and as SVG, in the size that is asked for. The
    results in the folder stay as they are.
    """
    size = _size_of(plot_size)
    from fedbandits.experiments.output import rewrite_report
    from fedbandits.experiments.plots import Look

    rewrite_report(folder, Look(size or Look().size, font_size))
    typer.echo(f"Report: {folder / 'report.html'}")


def _size_of(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)", text.strip())
    sides = tuple(float(side) for side in found.groups()) if found else ()
    if len(sides) != 2 or not all(_SMALLEST <= side <= _LARGEST for side in sides):
        raise ConfigError(
            f"--plot-size: given {text}, allowed: WIDTHxHEIGHT in inches, each from {_SMALLEST:g} "
            f"to {_LARGEST:g}, for example 7x4"
        )
    return sides[0], sides[1]
