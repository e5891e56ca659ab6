"""A communication graph, built and checked, with its distances and neighbourhoods.

A random graph is drawn from its own seed, again and again until it is connected.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from fedbandits._typing import Ints
from fedbandits.environments.tables.files import is_whole, read_text
from fedbandits.errors import ConfigError, DataError
from fedbandits.federation.graphs import (
    BarabasiAlbert,
    Complete,
    EdgeFile,
    ErdosRenyi,
    Graph,
    Grid,
    Line,
    Ring,
    Star,
)
from fedbandits.federation.kernels import fill_distances, fill_flood_sizes

#: Largest number of agents: a table of all pairs of agents is kept.
MOST_AGENTS = 2_000
_DRAWS = 1_000
#: Largest length of a name; longer words are not names.
_LONGEST_NAME = 100


class Topology(NamedTuple):
    """A connected graph of agents 0 … M - 1."""

    offsets: Ints  # (M + 1,)
    targets: Ints  # agent i's neighbours, in order: targets[offsets[i]:offsets[i + 1]]
    distance: Ints  # (M, M): hops between two agents

    @property
    def agents(self) -> int:
        """Number of agents, M."""
        return len(self.distance)

    @property
    def diameter(self) -> int:
        """The longest distance between two agents."""
        return int(self.distance.max())

    def neighbours(self, agent: int) -> list[int]:
        """Return the neighbours of an agent, in order."""
        return [int(i) for i in self.targets[self.offsets[agent] : self.offsets[agent + 1]]]


def topology(graph: Graph, agents: int) -> Topology:
    """Build a graph and check it.

    Raises ConfigError if the graph cannot be built for so many ``agents``, or is not connected.
    Raises DataError if its file is missing or malformed, has another number of agents, or is not
    connected.
    """
    if agents > MOST_AGENTS:
        raise ConfigError(
            f"graph: {agents:,} agents; a table of all pairs is kept in memory, so at most "
            f"{MOST_AGENTS:,} "
            "can be linked"
        )
    if isinstance(graph, EdgeFile):
        try:
            return _from_edges(_read_edges(graph.path, agents), agents, graph.path)
        except DataError as error:
            raise DataError(f"graph: {error}") from None
    return _named(graph, agents)


@functools.lru_cache(maxsize=32)
def _named(graph: Graph, agents: int) -> Topology:
    return _topology(_build(graph, agents))


@functools.lru_cache(maxsize=8)
def _from_edges(edges: tuple[tuple[int, int], ...], agents: int, path: str) -> Topology:
    built = nx.empty_graph(agents)
    built.add_edges_from(edges)
    if not nx.is_connected(built):
        first, second = (min(part) for part in list(nx.connected_components(built))[:2])
        raise DataError(
            f"{path}: the graph is not connected: agents {first} and {second} cannot reach each "
            "other"
        )
    return _topology(built)


def _build(graph: Graph, agents: int) -> nx.Graph:
    if agents == 1:
        return nx.empty_graph(1)
    match graph:
        case Complete():
            return nx.complete_graph(agents)
        case Ring():
            return nx.cycle_graph(agents)
        case Line():
            return nx.path_graph(agents)
        case Star():
            return nx.star_graph(agents - 1)
        case Grid():
            rows = _rows(graph, agents)
            return nx.convert_node_labels_to_integers(
                nx.grid_2d_graph(rows, agents // rows), ordering="sorted"
            )
        case ErdosRenyi():
            return _connected_draw(graph, agents)
        case BarabasiAlbert():
            if graph.links >= agents:
                raise ConfigError(
                    f"graph: barabasi-albert({graph.links}) needs more than {graph.links} agents, "
                    f"given {agents}"
                )
            return nx.barabasi_albert_graph(agents, graph.links, seed=graph.seed)
        case _:
            raise AssertionError(graph)


def _rows(graph: Grid, agents: int) -> int:
    if graph.rows == "auto":
        return next(r for r in range(math.isqrt(agents), 0, -1) if agents % r == 0)
    if agents % graph.rows:
        raise ConfigError(f"graph: {agents} agents do not fill a grid of {graph.rows} rows")
    return graph.rows


def _connected_draw(graph: ErdosRenyi, agents: int) -> nx.Graph:
    for draw in range(_DRAWS):
        drawn = nx.gnp_random_graph(agents, graph.p, seed=graph.seed * _DRAWS + draw)
        if nx.is_connected(drawn):
            return drawn
    raise ConfigError(
        f"graph: none of {_DRAWS:,} draws of erdos-renyi({graph.p:g}) with {agents} agents was "
        f"connected; raise p (about {math.log(agents) / agents:.2g} is where they begin to be)"
    )


def _topology(graph: nx.Graph) -> Topology:
    agents = graph.number_of_nodes()
    lists = [sorted(n for n in graph.neighbors(i) if n != i) for i in range(agents)]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    targets = np.array([n for neighbours in lists for n in neighbours], dtype=np.int64)
    distance = np.full((agents, agents), -1, np.int64)
    fill_distances(offsets, targets, distance)
    return Topology(offsets, targets, distance)


def flood_sizes(graph: Topology, hops: int) -> Ints:
    """Count the messages of every hop when an agent's message floods the graph, (M, hops).

    An agent that first receives the message after fewer than ``hops`` hops passes it on once to
    each neighbour, except to its senders. Two agents that receive the message at the same time send
    it to each other in vain.
    """
    sizes = np.zeros((graph.agents, hops), np.int64)
    fill_flood_sizes(graph.offsets, graph.targets, graph.distance, sizes)
    return sizes


def clique_cover(graph: Topology, hops: int) -> Ints:
    """Return the number of every agent's clique, (M,): a cover of the power graph by cliques.

    Two agents of one clique are at most ``hops`` apart. A smallest cover is hard to find; this is
    networkx's greedy colouring of the complement, which is the same on every machine.
    """
    apart: Any = nx.empty_graph(graph.agents)
    apart.add_edges_from(np.argwhere(np.triu(graph.distance > hops)).tolist())
    colours = nx.greedy_color(apart, strategy="largest_first")
    return np.array([colours[i] for i in range(graph.agents)], np.int64)


def _read_edges(path: str, agents: int) -> tuple[tuple[int, int], ...]:
    """Read a graph's edges.

    A line names two agents, separated by spaces, tabs, a comma or a semicolon; ``#`` begins a
    comment. Whole numbers, starting anywhere, stand for the agents in their order; other names for
    the agents in order of appearance.

    Raises DataError with the line and the expected form, if the file is missing, empty or
    malformed, or names another number of agents.
    """
    pairs = _pairs(path, read_text(path))
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    if all(map(is_whole, names)):
        names.sort(key=int)
    if len(names) != agents:
        raise DataError(f"{path}: names {len(names)} agents, environment.agents is {agents}")
    number = {name: i for i, name in enumerate(names)}
    return tuple((number[one], number[other]) for one, other in pairs)


def _pairs(path: str, text: str) -> list[tuple[str, str]]:
    first_seen: dict[frozenset[str], int] = {}
    pairs: list[tuple[str, str]] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        words = [word for word in re.split(r"[\s,;]+", line.partition("#")[0]) if word]
        if not words:
            continue
        place = f"{path}, line {line_number}"
        if len(words) != 2:
            raise DataError(f"{place}: expected two agents, found {len(words)} words")
        if max(map(len, words)) > _LONGEST_NAME:
            raise DataError(f"{place}: expected names of at most {_LONGEST_NAME} characters")
        first, second = (_canonical(word) for word in words)
        if first == second:
            raise DataError(f"{place}: {first} is linked to itself, expected two different agents")
        edge = frozenset((first, second))
        if edge in first_seen:
            raise DataError(
                f"{place}: {first} and {second} were linked in line {first_seen[edge]} already"
            )
        first_seen[edge] = line_number
        pairs.append((first, second))
    if not pairs:
        raise DataError(f"{path}: is empty, expected two agents on each line")
    return pairs


def _canonical(word: str) -> str:
    """Spell a number in one way: 01 and 1 are the same agent."""
    return str(int(word)) if is_whole(word) else word
