"""The description of a figure. It is small, so that listing all figures needs no plotting."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # plots and runs take long to import
    from fedbandits.reproduce.context import Context, Outcome


def made_by(package: str, function: str) -> Callable[[Context], Outcome]:
    """A function that makes a figure; its module is imported when it is called.

    Parameters
    ----------
    package
        The package of the paper.
    function
        The function, behind the module of that package: ``sweeps.figure_2``.
    """

    def make(context: Context) -> Outcome:
        module, name = function.split(".")
        found = importlib.import_module(f"{package}.{module}")
        outcome: Outcome = getattr(found, name)(context)
        return outcome

    return make


class Figure(NamedTuple):
    """A figure of a paper.

    Parameters
    ----------
    title
        What the figure shows.
    source
        The paper, and the figure's number in it.
    quick, full
        What each scale runs, in words.
    make
        Runs what is needed and draws.
    data
        Which files ``--data`` takes, and what is drawn in their place; empty if it takes none. No
        figure needs a file.
    """

    title: str
    source: str
    quick: str
    full: str
    make: Callable[[Context], Outcome]
    data: str = ""
