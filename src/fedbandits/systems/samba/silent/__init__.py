"""SAMBA in which no server learns anything: scores are shared between the two and compared so.

The first server is the Controller, the second one Comp. A turn is an iteration of a step.
``views`` is what a server has of a turn, ``simulator`` makes such a view of random numbers alone.
"""
