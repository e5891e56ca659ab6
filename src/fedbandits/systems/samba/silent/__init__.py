"""SAMBA in which neither server learns more than the budget, the number of arms, the algorithm.

Scores are shared between both servers, shuffled by both, and compared in the open
(:mod:`fedbandits.crypto.shares`). ``views`` is what a server has of a selection, and
``simulator`` makes such a view of nothing but random numbers.
"""
