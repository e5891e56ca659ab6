"""The web page on this machine: set up, run, step, compare, attack and watch."""

from __future__ import annotations

from fedbandits.errors import MissingExtraError

try:
    import starlette as _  # noqa: F401
    import uvicorn as __  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "the studio needs more libraries: install the extra 'studio' as docs/install.md says"
    ) from error
