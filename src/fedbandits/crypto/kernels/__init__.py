"""Compiled parts of the ciphers: random words, and comparisons of numbers that two servers share.

A number x is shared if one server has x⁰, the other x¹, and x = x⁰ + x¹ mod 2⁶⁴ with x¹ uniform.
:mod:`.dealing` brings shared numbers into an order that neither server knows, and makes the random
words that both need, correlated but independent of all data. :mod:`.comparison` opens which of two
is larger, and who goes on in a tournament. :mod:`fedbandits.crypto.shares` says which are compared,
and packs what the servers send one another.

Everything here is one server's arithmetic on its own words.
"""
