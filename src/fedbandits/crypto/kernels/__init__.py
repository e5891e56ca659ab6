"""Compiled parts of the ciphers: random words, and comparisons of numbers that two servers share.

A number x is shared if one server has x⁰, the other x¹, and x = x⁰ + x¹ mod 2⁶⁴ with x¹ uniform.
:mod:`.dealing` brings shared numbers into an order that neither server knows, and makes the random
words of both servers, correlated but independent of all data. :mod:`.comparison` compares two
numbers, and finds the winners of a tournament's stage. :mod:`fedbandits.crypto.shares` lists the
comparisons, and packs the servers' messages.

Everything here is a server's arithmetic on its own words.
"""
