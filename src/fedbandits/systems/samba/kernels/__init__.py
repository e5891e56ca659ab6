"""SAMBA's compiled code: the published steps, and the silent ones with what servers do in a turn.

Owner i's place in Comp's list is ``places[i]``. A turn is an iteration of a step.
"""
