"""Syncs over rounds."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.plots.coinciding import coinciding, looks, notes
from fedbandits.experiments.plots.style import Look, finish, logarithmic_rounds, own_axes

#: Beyond this ratio the smallest lie on the ground of a linear axis.
_WIDEST = 60.0


def syncs(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw how often parties have exchanged what they learned: means over replicates.

    Parameters
    ----------
    result
        The result of a run.
    axes
        What to draw on. By default axes of a new figure.
    size
        Width and height of a new figure, in inches.
    font_size
        Size of text, in points.

    Returns
    -------
    Axes
        What was drawn on.
    """
    labels_of(result)
    axes, look = own_axes(axes, Look(size, font_size)), Look(size, font_size)
    means = np.asarray(result.syncs.mean("replicate").transpose("system", "round").values)
    names = [str(name) for name in result.system.values]
    groups = coinciding(list(means), 0.0, float(np.nanmax(means, initial=1.0)))
    styles, entries = looks(groups), list[Artist]()
    for number, (name, mean) in enumerate(zip(names, means, strict=True)):
        (line,) = axes.plot(
            result["round"].values,
            mean,
            label=name,
            drawstyle="steps-post",
            clip_on=False,
            **styles[number],
        )
        entries.append(line)
    positive = means[:, -1][means[:, -1] > 0.0]
    if positive.size and positive.max() > _WIDEST * positive.min():
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("syncs so far")
    logarithmic_rounds(axes, result["round"].values)
    order = np.argsort(-np.nan_to_num(means[:, -1], nan=-1.0), kind="stable")
    return finish(axes, look, [entries[i] for i in order], notes(groups, names))
