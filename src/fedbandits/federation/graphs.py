"""Communication graphs, by name or from a file.

A graph is public and the same for all replicates: a random graph is drawn from its own seed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fedbandits._checked import Checked

_Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class _Graph(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Complete(_Graph, frozen=True, tag="complete"):
    """Every agent is linked to every other agent."""


class Ring(_Graph, frozen=True, tag="ring"):
    """Each agent is linked to the one before and the one after it; the last to the first."""


class Line(_Graph, frozen=True, tag="line"):
    """Each agent is linked to the one before and the one after it; the ends are not linked."""


class Star(_Graph, frozen=True, tag="star"):
    """Agent 0 is linked to all others; the others are linked only to agent 0."""


class Grid(_Graph, frozen=True, tag="grid"):
    """A rectangular grid.

    Parameters
    ----------
    rows
        Number of rows, which must divide the number of agents. ``auto`` makes the grid as close to
        a square as possible.
    """

    rows: Annotated[int, Meta(ge=1)] | Literal["auto"] = "auto"


class ErdosRenyi(_Graph, frozen=True, tag="erdos-renyi"):
    """A random graph: each pair of agents is linked with the same probability.

    Graphs are drawn until one is connected.

    Parameters
    ----------
    p
        Probability of a link.
    seed
        Seed of the draw: the same seed gives the same graph.
    """

    p: Annotated[float, Meta(gt=0.0, le=1.0)]
    seed: _Seed = 0


class BarabasiAlbert(_Graph, frozen=True, tag="barabasi-albert"):
    """A random graph: agents join one by one and prefer neighbours with many links.

    Parameters
    ----------
    links
        Number of links that a new agent makes.
    seed
        Seed of the draw: the same seed gives the same graph.
    """

    links: Annotated[int, Meta(ge=1)]
    seed: _Seed = 0


class EdgeFile(_Graph, frozen=True, tag="file"):
    """A graph from a file with one edge on each line; see docs/peer-to-peer.md.

    Parameters
    ----------
    path
        Path of the file. Each line has the numbers of two agents, which start at 0.
    """

    path: str


Graph = Complete | Ring | Line | Star | Grid | ErdosRenyi | BarabasiAlbert | EdgeFile
