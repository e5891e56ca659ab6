"""SAMBA in which no server learns anything: scores are shared between the two and compared so.

The first server is the Controller, the second one Comp. A turn is an iteration of a step.
"""
