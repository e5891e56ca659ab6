"""All keys and terms in words: for ``list``, ``explain``, ``init`` and ``fb.presets``.

Keys and their meanings are read from types and docstrings. ``keys`` reads one struct, and
``places`` finds a key in all structs. ``glossary`` holds terms that are no keys. ``templates`` and
``own_data`` write a file with comments. ``presets`` makes presets callable.
"""
