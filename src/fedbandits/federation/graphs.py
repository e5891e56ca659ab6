"""Who can talk to whom: communication graphs by name or from a file, as they are configured.

A graph is public and the same for all replicates: a random one is drawn from its own seed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fedbandits._checked import Checked

_Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class _Graph(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Complete(_Graph, frozen=True, tag="complete"):
    """Everybody talks to everybody."""


class Ring(_Graph, frozen=True, tag="ring"):
    """Each agent talks to the one before and the one after; the last to the first."""


class Line(_Graph, frozen=True, tag="line"):
    """A ring that is cut open."""


class Star(_Graph, frozen=True, tag="star"):
    """Agent 0 talks to everybody, the others to it alone."""


class Grid(_Graph, frozen=True, tag="grid"):
    """A rectangle of ``rows`` rows; ``auto`` takes the one nearest to a square.

    Parameters
    ----------
    rows
        Number of rows; it must divide the number of agents. ``auto``: nearest to a square.
    """

    rows: Annotated[int, Meta(ge=1)] | Literal["auto"] = "auto"


class ErdosRenyi(_Graph, frozen=True, tag="erdos-renyi"):
    """Each pair talks with probability ``p``, drawn anew until the graph is connected.

    Parameters
    ----------
    p
        Probability that two agents are linked.
    seed
        Names the draw: the same number gives the same graph.
    """

    p: Annotated[float, Meta(gt=0.0, le=1.0)]
    seed: _Seed = 0


class BarabasiAlbert(_Graph, frozen=True, tag="barabasi-albert"):
    """Agents join one by one, ``links`` links each, more likely to those with many links.

    Parameters
    ----------
    links
        How many links an agent that joins gets.
    seed
        Names the draw: the same number gives the same graph.
    """

    links: Annotated[int, Meta(ge=1)]
    seed: _Seed = 0


class EdgeFile(_Graph, frozen=True, tag="file"):
    """An edge a line, two agents each; see docs/peer-to-peer.md.

    Parameters
    ----------
    path
        Path of the file, in which agents are numbered from 0.
    """

    path: str


Graph = Complete | Ring | Line | Star | Grid | ErdosRenyi | BarabasiAlbert | EdgeFile
