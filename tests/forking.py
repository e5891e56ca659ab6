"""Plays scripts in processes of their own that find Numba imported: that takes most of a second.

One process imports Numba, and nothing of the package. It forks for each script.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

SERVER = """
import json, os, sys, traceback, warnings
import numba
from numba.core import config
numba.njit(lambda number: number + 1)(1)  # what every compilation needs is there
for line in sys.stdin:
    asked = json.loads(line)
    if not (child := os.fork()):
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(asked[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ.update(asked["settings"])
        config.reload_config()
        sys.path[:0] = asked["folders"]
        warnings.simplefilter("error")
        failed = 1
        try:
            exec(compile(asked["script"], "script", "exec"), {"__name__": "__main__"})
            failed = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(failed)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Forking:
    """The process that forks. Close it at the end."""

    def __init__(self) -> None:
        settings = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=settings,
        )  # fmt: skip

    def play(
        self, script: str, folders: Sequence[str], settings: Mapping[str, str]
    ) -> tuple[bool, str, str]:
        """Play a script with more environment; return whether it ended well, and what it wrote."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = (pathlib.Path(folder, name) for name in ("out", "err"))
            asked = {
                "script": script, "folders": folders, "settings": settings, "out": str(out),
                "err": str(err),
            }  # fmt: skip
            self._server.stdin.write(json.dumps(asked) + "\n")
            self._server.stdin.flush()
            well = self._server.stdout.readline().strip() == "0"
            return well, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process."""
        self._server.communicate()
