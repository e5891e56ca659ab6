"""Every preset as a function: ``fb.presets.feducb(epsilon=1.0)``.

A function returns what ``fb.system`` does with the preset's name, and its settings can be
completed. Dashes in names are underscores here. Presets that were registered from outside are
here too. Types for editors are in ``presets.pyi``, which ``python -m fedbandits.settings.stubs``
writes.
"""

from __future__ import annotations

from typing import Any

from fedbandits._suggest import did_you_mean


def __getattr__(name: str) -> Any:
    from fedbandits.settings.preset_functions import preset_functions

    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    functions = preset_functions()
    if name not in functions:
        raise AttributeError(
            f"no preset is called {name!r}; {did_you_mean(name, functions)}"
            f"known: {', '.join(functions)}"
        )
    return functions[name]


def __dir__() -> list[str]:
    from fedbandits.settings.preset_functions import preset_functions

    return list(preset_functions())
