"""The command line."""

from __future__ import annotations

from fedbandits.cli.main import app, main

__all__ = ["app", "main"]
