"""Shards: the division of a data set's rows among agents."""

from __future__ import annotations

import heapq
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._typing import Floats, Ints
from fedbandits.random import Key, Purpose, permutation, uniforms

#: Lower bound for uniform draws, so that their quantiles are finite.
_SMALLEST = 2.0**-54


class Skewed(Checked, frozen=True, tag_field="kind", tag="skewed", forbid_unknown_fields=True):
    """Every row belongs to one agent, and agents have different shares of each class.

    The rows of each class are divided among the agents by proportions from a Dirichlet
    distribution, drawn for each class anew. So agents differ in their classes, and in their numbers
    of rows. An agent without rows gets a row of an agent with most rows.

    This is the partition per class of Li, Diao, Chen & He, "Federated learning on non-IID data
    silos: an experimental study", ICDE 2022 (arXiv:2102.02079). Hsu, Qi & Brown (2019,
    arXiv:1909.06335) draw the classes' shares for each agent instead, and all agents have equally
    many rows.

    Parameters
    ----------
    concentration
        Concentration of the Dirichlet distribution, usually 0.1 to 0.5. Agents differ more with a
        smaller concentration. With a large concentration, all agents have nearly the same rows of
        each
        class.
    """

    concentration: Annotated[float, Meta(ge=1e-6, le=1e6)]


#: The division of rows with one owner each.
Dealing = Literal["disjoint"] | Skewed


class Shards(NamedTuple):
    """The rows of each agent in one replicate."""

    rows: Ints  # (rows,): row numbers, grouped by agent
    starts: Ints  # (agents + 1,): agent i owns rows[starts[i]:starts[i + 1]]


def even_starts(rows: int, agents: int) -> Ints:
    """Return the first position of each agent's rows, (agents + 1,), for equal shares."""
    return np.linspace(0, rows, agents + 1).round().astype(np.int64)


def smallest_shard(dealing: Dealing, rows: int, agents: int) -> int:
    """Return a lower bound of each agent's number of rows, in every replicate."""
    return 1 if isinstance(dealing, Skewed) and agents > 1 else rows // agents


def largest_shard(dealing: Dealing, rows: int, agents: int) -> int:
    """Return an upper bound of each agent's number of rows, in every replicate."""
    return rows - agents + 1 if isinstance(dealing, Skewed) else -(-rows // agents)


def deal(dealing: Dealing, labels: Ints, agents: int, key: Key) -> Shards:
    """Divide rows at random among ``agents`` agents, at least one row each.

    There must be as many rows as agents, or more.

    Parameters
    ----------
    dealing
        ``"disjoint"``: the agents' numbers of rows differ by at most one.
    labels : (rows,) int64
        The class of each row, from 0; all alike where rows have no classes.
    agents
        Number of agents, M.
    key
        Names the draws of the replicate.
    """
    order = permutation(len(labels), key, 0, 0, Purpose.WORLD)
    if not isinstance(dealing, Skewed):
        return Shards(order, even_starts(len(labels), agents))
    owners = np.empty(len(labels), np.int64)  # owners of the rows in random order
    of_class = labels[order]
    for label in np.unique(of_class):
        members = np.flatnonzero(of_class == label)
        shares = proportions(dealing.concentration, agents, key, int(label))
        ends = np.rint(np.cumsum(shares) * len(members)).astype(np.int64)
        owners[members] = np.searchsorted(ends, np.arange(len(members)), side="right")
    return _grouped(order, _with_a_row_each(owners, agents), agents)


def proportions(concentration: float, agents: int, key: Key, label: int) -> Floats:
    """Draw the agents' shares of a class, (agents,), from a Dirichlet distribution.

    They are gamma draws over their sum. For a small concentration a, such draws underflow. So their
    logarithms are drawn: a gamma of a + 1 times a uniform to the power 1 / a (Marsaglia & Tsang
    2000, section 6).
    """
    from scipy.special import gammaincinv  # a configuration is read without it

    drawn = uniforms(2 * agents, key, 1 + label, 0, Purpose.WORLD)
    drawn = np.maximum(drawn, _SMALLEST).reshape(2, agents)
    logs = np.log(gammaincinv(concentration + 1.0, drawn[0])) + np.log(drawn[1]) / concentration
    weights = np.exp(logs - logs.max())
    shares: Floats = weights / weights.sum()
    return shares


def _with_a_row_each(owners: Ints, agents: int) -> Ints:
    """Give each agent without rows the last row of an agent with most rows."""
    counts = np.bincount(owners, minlength=agents)
    places = np.argsort(owners, kind="stable")
    ends = np.cumsum(counts)
    most = [(-int(count), agent) for agent, count in enumerate(counts) if count > 0]
    heapq.heapify(most)
    given = owners.copy()
    for agent in np.flatnonzero(counts == 0):
        count, giver = heapq.heappop(most)
        ends[giver] -= 1
        given[places[ends[giver]]] = agent
        heapq.heappush(most, (count + 1, giver))
    return given


def _grouped(order: Ints, owners: Ints, agents: int) -> Shards:
    """Group rows in random ``order``, with these ``owners``, by agent."""
    counts = np.bincount(owners, minlength=agents)
    rows: Ints = order[np.argsort(owners, kind="stable")]
    return Shards(rows, np.append(0, np.cumsum(counts)).astype(np.int64))
