"""Audit of SAMBA: adversaries read transcripts with every key that they have, and guess.

No ε is claimed that two worlds could break, so there are no games. :mod:`.examination` makes the
paper's Figure 7, who sees what, for ``fedbandits audit``; :mod:`.published_adversary` makes one
participant's column, :mod:`.adversary` that of a silent run. :mod:`.attack` has what Comp works out
from what the figure allows it to see, and what others guess about pulls. :mod:`.views` opens what a
server of a silent run saw.
"""
