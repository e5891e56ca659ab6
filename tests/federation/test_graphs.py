from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.errors import ConfigError, DataError
from fedbandits.federation import graphs as g
from fedbandits.federation import topology as t

NAMED = (
    g.Complete(), g.Ring(), g.Line(), g.Star(), g.Grid(), g.ErdosRenyi(0.3), g.BarabasiAlbert(2),
)  # fmt: skip
named = st.one_of(
    st.sampled_from(NAMED[:5]),
    st.builds(g.ErdosRenyi, st.sampled_from([0.2, 0.5, 1.0]), st.integers(0, 99)),
    st.builds(g.BarabasiAlbert, st.integers(1, 2), st.integers(0, 99)),
)
sizes = st.integers(3, 14)


def as_networkx(topology: t.Topology) -> nx.Graph:
    graph = nx.empty_graph(topology.agents)
    graph.add_edges_from((i, j) for i in graph for j in topology.neighbours(i))
    return graph


def flooded(topology: t.Topology, origin: int, hops: int) -> tuple[list[int], dict[int, int]]:
    """Messages of every hop, and after how many it was heard, one message at a time."""
    heard, sent = {origin: 0}, []
    under_way = [(origin, n) for n in topology.neighbours(origin)]
    for hop in range(1, hops + 1):
        sent.append(len(under_way))
        senders: dict[int, set[int]] = {}
        for sender, receiver in under_way:
            if receiver not in heard or heard[receiver] == hop:
                heard[receiver] = hop
                senders.setdefault(receiver, set()).add(sender)
        under_way = [
            (agent, n)
            for agent, have in senders.items()
            for n in topology.neighbours(agent)
            if n not in have
        ]
    return sent, heard


@given(named, sizes)
def test_distances_are_networkx_s(graph, agents):
    topology = t.topology(graph, agents)
    lengths = dict(nx.all_pairs_shortest_path_length(as_networkx(topology)))
    for i in range(agents):
        assert [lengths[i][j] for j in range(agents)] == topology.distance[i].tolist()
    assert topology.diameter == nx.diameter(as_networkx(topology))


@given(named, sizes, st.integers(1, 8))
def test_a_flood_sent_one_message_at_a_time_agrees(graph, agents, hops):
    topology = t.topology(graph, agents)
    counts = t.flood_sizes(topology, hops)
    for origin in range(agents):
        sent, heard = flooded(topology, origin, hops)
        assert counts[origin].tolist() == sent
        within = {j: int(h) for j, h in enumerate(topology.distance[origin]) if h <= hops}
        assert heard == within


@given(named, sizes, st.integers(1, 5))
def test_a_clique_cover_covers_by_cliques(graph, agents, hops):
    topology = t.topology(graph, agents)
    clique = t.clique_cover(topology, hops)
    assert set(clique) == set(range(clique.max() + 1))
    for number in set(clique):
        members = np.flatnonzero(clique == number)
        assert topology.distance[np.ix_(members, members)].max() <= hops
    np.testing.assert_array_equal(clique, t.clique_cover(topology, hops))


def test_cliques_one_would_choose_by_hand():
    line = t.topology(g.Line(), 12)
    assert len(set(t.clique_cover(line, 2))) == 4
    assert len(set(t.clique_cover(line, 11))) == 1
    assert len(set(t.clique_cover(t.topology(g.Star(), 9), 1))) == 8
    assert len(set(t.clique_cover(t.topology(g.Complete(), 9), 1))) == 1


@pytest.mark.parametrize(
    ("graph", "links", "diameter"),
    [
        (g.Complete(), 66, 1), (g.Ring(), 12, 6), (g.Line(), 11, 11), (g.Star(), 11, 2),
        (g.Grid(), 17, 5), (g.Grid(2), 16, 6), (g.BarabasiAlbert(1), 11, None),
    ],
)  # fmt: skip
def test_named_graphs(graph, links, diameter):
    topology = t.topology(graph, 12)
    assert topology.targets.size == 2 * links
    if diameter is not None:
        assert topology.diameter == diameter


@pytest.mark.parametrize("graph", NAMED)
def test_one_agent_talks_to_nobody(graph):
    topology = t.topology(graph, 1)
    assert (topology.targets.size, topology.diameter) == (0, 0)


def test_a_ring_of_two_is_one_link():
    assert t.topology(g.Ring(), 2).neighbours(0) == [1]


def test_a_random_graph_is_its_seed_s_and_connected():
    one, same, other = (t.topology(g.ErdosRenyi(0.1, s), 40) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.distance, same.distance)
    assert not np.array_equal(one.distance, other.distance)
    # At this p most draws are not connected: those are drawn again.
    assert all((t.topology(g.ErdosRenyi(0.05, s), 40).distance >= 0).all() for s in range(5))


@pytest.mark.parametrize(
    ("graph", "agents", "message"),
    [
        (g.ErdosRenyi(0.001), 30, r"graph: none of 1,000 draws of erdos-renyi\(0.001\)"),
        (g.BarabasiAlbert(5), 5, r"graph: barabasi-albert\(5\) needs more than 5 agents"),
        (g.Grid(5), 12, "graph: 12 agents do not fill a grid of 5 rows"),
        (g.Ring(), 2001, "graph: 2,001 agents"),
    ],
)
def test_graphs_that_cannot_be_built_are_named(graph, agents, message):
    with pytest.raises(ConfigError, match=message):
        t.topology(graph, agents)


class TestFiles:
    def read(self, tmp_path, text, agents):
        (tmp_path / "edges.txt").write_text(text)
        return t.topology(g.EdgeFile(str(tmp_path / "edges.txt")), agents)

    def test_numbers_stand_for_agents_in_their_order(self, tmp_path):
        topology = self.read(tmp_path, "# a line\n10 2\n 2,1 # the first\n\n10;11\n", 4)
        assert [topology.neighbours(i) for i in range(4)] == [[1], [0, 2], [1, 3], [2]]

    def test_names_stand_for_agents_as_they_appear(self, tmp_path):
        topology = self.read(tmp_path, "Oslo\tRom\nRom Lima\n", 3)
        assert [topology.neighbours(i) for i in range(3)] == [[1], [0, 2], [1]]

    def test_a_changed_file_is_read_anew(self, tmp_path):
        assert self.read(tmp_path, "0 1\n1 2\n", 3).diameter == 2
        assert self.read(tmp_path, "0 1\n1 2\n0 2\n", 3).diameter == 1

    @pytest.mark.parametrize(
        ("text", "agents", "message"),
        [
            ("0 1\n1 0\n", 2, r"edges.txt, line 2: 1 and 0 were linked in line 1 already"),
            ("0 1\n01 00\n", 2, r"line 2: 1 and 0 were linked in line 1 already"),
            ("0 1\n1 1\n", 2, r"line 2: 1 is linked to itself"),
            ("0 1\n\n1\n", 2, r"line 3: expected two agents, found 1 words"),
            ("0 1 0.5\n", 2, r"line 1: expected two agents, found 3 words"),
            ("0 1\n1 2\n", 4, r"names 3 agents, environment.agents is 4"),
            ("0 1\n2 3\n", 4, r"not connected: agents 0 and 2 cannot reach each other"),
            ("# nothing\n", 1, r"is empty"),
        ],
    )
    def test_what_is_wrong_with_a_file_is_named(self, tmp_path, text, agents, message):
        with pytest.raises(DataError, match=message):
            self.read(tmp_path, text, agents)

    def test_files_that_cannot_be_read(self, tmp_path):
        with pytest.raises(DataError, match="no such file"):
            t.topology(g.EdgeFile("nowhere/edges.txt"), 3)
        with pytest.raises(DataError, match="cannot be read"):
            t.topology(g.EdgeFile(str(tmp_path)), 3)
        (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00\xd8")
        with pytest.raises(DataError, match="cannot be read as text"):
            t.topology(g.EdgeFile(str(tmp_path / "bytes.txt")), 3)
