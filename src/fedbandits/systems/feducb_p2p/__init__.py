"""FedUCB (Dubey & Pentland 2020) without a controller: agents that talk over a graph."""
