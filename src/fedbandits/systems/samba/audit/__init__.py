"""What SAMBA's participants find out, from transcripts and with every key that they hold.

:mod:`.table` is the paper's Figure 7, who sees what; :mod:`.sight` makes one participant's column,
comparing what comes out with :mod:`.truth`. :mod:`.attack` is what Comp can work out from what the
figure allows it to see.
"""
