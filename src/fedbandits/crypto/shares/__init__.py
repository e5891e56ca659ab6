"""Secret sharing between two servers: who of many has the largest number, and nothing else.

A number x is shared if one server has x⁰, the other x¹, and x = x⁰ + x¹ mod 2⁶⁴ with x¹ uniform.
``shuffle`` brings shared numbers into an order that neither server knows, ``comparison`` opens
which of two is larger, ``tournament`` says which are compared, and ``dealing`` makes the random
numbers, correlated but independent of all data, that both need for it. ``openings`` packs what
the servers send one another.

Everything here is one server's arithmetic on its own words: a simulation calls both sides, a party
one of them.
"""
