"""Exchanges: the protocols by which the parties of a system exchange releases.

There are five: a hub that gathers in clear (:mod:`.hub`, with :mod:`.outlet` on the side of the
agents), a hub of secure sums (:mod:`fedbandits.federation.totals`, with the same outlet), a
broadcast to all (:mod:`.broadcast`), gossip over a graph (:mod:`.gossip`), and uploads one by one
(:mod:`.one_by_one`).
"""
