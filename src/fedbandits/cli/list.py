"""``fedbandits list``."""

from __future__ import annotations


def list_everything() -> None:
    """List systems with their presets, environments, and figures that can be reproduced."""
    from rich.table import Table

    from fedbandits.cli import console
    from fedbandits.environments import environments
    from fedbandits.reproduce import FIGURES
    from fedbandits.systems import systems

    shown = console.output()
    for system in systems():
        table = Table(title=f"{system.name}: {system.paper}", title_justify="left", box=None)
        table.add_column("preset", style="bold", no_wrap=True)
        table.add_column("what it is")
        for preset_name, preset in system.presets.items():
            table.add_row(preset_name, preset.description)
        shown.print(table, "")
    table = Table(title="environments", title_justify="left", box=None)
    table.add_column("kind", style="bold", no_wrap=True)
    table.add_column("what it is")
    for kind, environment in environments().items():
        table.add_row(kind, (environment.__doc__ or "").partition("\n")[0])
    shown.print(table, "")
    table = Table(title="figures", title_justify="left", box=None)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("data that it can take")
    for name, figure in FIGURES.items():
        table.add_row(name, f"{figure.title}, {figure.source}", figure.data or "–")
    shown.print(table)
