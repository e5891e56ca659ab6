"""Compiled loops over communication graphs."""

from __future__ import annotations

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Ints


@compiled
def fill_distances(offsets: Ints, targets: Ints, distance: Ints) -> None:
    """Fill in the hops between all pairs of agents, (M, M), by breadth-first search."""
    agents = distance.shape[0]
    queue = np.empty(agents, np.int64)
    for source in range(agents):
        distance[source, source] = 0
        queue[0] = source
        reached, position = 1, 0
        while reached < agents and position < reached:
            node = queue[position]
            position += 1
            for edge in range(offsets[node], offsets[node + 1]):
                target = targets[edge]
                if distance[source, target] < 0:
                    distance[source, target] = distance[source, node] + 1
                    queue[reached] = target
                    reached += 1


@compiled
def fill_flood_sizes(offsets: Ints, targets: Ints, distance: Ints, sizes: Ints) -> None:
    """Count the messages of every hop when an agent's message floods the graph, (M, hops)."""
    agents, hops = sizes.shape
    for origin in range(agents):
        for node in range(agents):
            away = distance[origin, node]
            if away < hops:
                for edge in range(offsets[node], offsets[node + 1]):
                    if distance[origin, targets[edge]] >= away:
                        sizes[origin, away] += 1
