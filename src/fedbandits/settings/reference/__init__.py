"""What there is to set, in words: for ``list``, ``explain``, ``init`` and ``fb.presets``.

All of it is read from types and docstrings. ``keys`` reads one struct, ``places`` finds a key in
all of them, ``glossary`` holds words that are no keys. ``templates`` writes a file with comments,
``preset_functions`` and ``stubs`` make presets callable, with ``hints`` for their types.
"""
