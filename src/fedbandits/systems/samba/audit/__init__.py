"""Audit of SAMBA: adversaries read transcripts with all of their keys, and guess.

SAMBA claims no ε, so there are no games of two worlds. :mod:`.examination` makes the paper's Figure
7, the table of sight, for ``fedbandits audit``. A participant's column comes from
:mod:`.published_adversary`, or from :mod:`.adversary` in a silent run. :mod:`.attack` has Comp's
inference from masked scores, and guesses about pulls. :mod:`.views` opens the messages that reached
a server of a silent run.
"""
