"""``python -m fedbandits`` is the ``fedbandits`` command."""

from fedbandits.cli import main

main()
