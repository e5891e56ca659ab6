"""Every preset as a function: ``fb.presets.feducb(epsilon=1.0)``.

``fb.presets.feducb(…)`` returns the same as ``fb.system("feducb", …)``, and an editor can complete
its settings. A dash in a preset's name is an underscore here. Registered presets of other packages
are included. The types for editors are in ``presets.pyi``, which ``python -m
fedbandits.settings.reference.presets`` writes.
"""

from __future__ import annotations

from typing import Any

from fedbandits._suggest import did_you_mean


def __getattr__(name: str) -> Any:
    from fedbandits.settings.reference.presets import preset_functions

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
    from fedbandits.settings.reference.presets import preset_functions

    return list(preset_functions())
