"""``fedbandits schema``: the JSON schema of an experiment's file, for editors."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON schema of an experiment's file: editors then complete keys and mark errors.

    Save it beside your files, and name it in their first line: #:schema experiment.schema.json
    """
    import json

    from fedbandits.settings.reference.json_schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=1, ensure_ascii=False))
