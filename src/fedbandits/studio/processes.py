"""Processes that work for the page: a worker plays a run, an answerer answers quick questions.

Their lines are JSON. A process ends by itself when the server is gone, because its input ends then.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from fedbandits.errors import ConfigError, FedbanditsError
from fedbandits.settings.reference.columns import UnnamedColumnError

#: A function that sends the server a line, given by its parts.
Tell = Callable[..., None]


def error_of(error: Exception) -> dict[str, Any]:
    """Return an error as the page reads it: the message, and the key with the wrong value.

    If a column must be named, ``asks`` has each role and the columns that fit the role.
    """
    message = str(error).removeprefix("init --data: ")
    table: dict[str, Any] = {"message": message, "path": None, "given": None, "allowed": None}
    if isinstance(error, ConfigError):
        table |= {"path": error.path, "given": error.given, "allowed": error.allowed}
    if isinstance(error, UnnamedColumnError):
        table["asks"] = [asked._asdict() for asked in error.asks]
    return table


#: Longest line, in bytes: the steps of a long protocol.
_LONGEST = 1 << 26
#: Seconds that a question may take, and that a process may take to save and end.
_PATIENCE, _ENDING = 300.0, 20.0


class RefusedError(FedbanditsError):
    """A question was refused; ``error`` is the refusal in the form that the page reads."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class EndingError(FedbanditsError):
    """A question comes while the server ends."""

    def __init__(self) -> None:
        super().__init__("the studio is ending")


async def start(work: str, folder: pathlib.Path) -> asyncio.subprocess.Process:
    """Start a process for one kind of ``work``, in a folder."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fedbandits.studio.worker", work,
        cwd=folder, limit=_LONGEST,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


def _cause_of_end(code: int) -> str:
    """Describe by its exit ``code`` the end of a process that has not reported its end."""
    if code < 0:
        return f"its process was killed by signal {-code}: out of memory?"
    return "its process failed: the terminal of the studio shows why"


def _read(line: bytes) -> dict[str, Any]:
    """Read a line; the last line of a killed process may be cut."""
    try:
        parts = json.loads(line)
    except ValueError:
        return {}
    return parts if isinstance(parts, dict) else {}


class Worker:
    """A process that plays one job, and reports line by line."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder, self._stopped = folder, False
        self._process: asyncio.subprocess.Process | None = None

    async def lines(self, work: str, job: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Give a job to a new process, and yield its lines until the end.

        The last line has the cause of the end, also if the process was killed.
        """
        try:
            process = self._process = await start(work, self._folder)
        except OSError as error:
            why = f"its process cannot be started ({error.strerror})"
            yield {"event": "ended", "status": "failed", "why": why}
            return
        assert process.stdin is not None  # noqa: S101 - it was asked for
        assert process.stdout is not None  # noqa: S101
        if self._stopped:  # during the start
            process.kill()
        process.stdin.write(json.dumps(job).encode() + b"\n")
        last = ""
        async for line in process.stdout:
            parts = _read(line)
            last = parts.get("event", last)
            if "event" in parts:
                yield parts
        code = await process.wait()
        if last != "ended":
            status = "interrupted" if self._stopped else "failed"
            why = "" if self._stopped else _cause_of_end(code)
            yield {"event": "ended", "status": status, "why": why}

    async def stop(self) -> None:
        """Tell the process to save and end; kill a process that does not end in time."""
        self._stopped, process = True, self._process
        if process is None or process.returncode is not None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _ENDING)
        except TimeoutError:
            process.kill()


class Answerer:
    """A process that answers quick questions, one after the other."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder, self._turn, self._stopped = folder, asyncio.Lock(), False
        self._process: asyncio.subprocess.Process | None = None

    async def ask(self, question: str, /, **given: Any) -> Any:
        """Ask a question, and return the answer.

        Raises
        ------
        RefusedError
            If the answer is a refusal.
        EndingError
            If the process was stopped.
        FedbanditsError
            If the process has died over the question, or takes too long.
        """
        async with self._turn:
            self._refuse_at_end()
            if self._process is None or self._process.returncode is not None:
                self._process = await start("answer", self._folder)
                self._refuse_at_end()  # the answerer was stopped during the start
            assert self._process.stdin is not None  # noqa: S101 - it was asked for
            assert self._process.stdout is not None  # noqa: S101
            asked = json.dumps({"question": question, "given": given}).encode()
            try:
                self._process.stdin.write(asked + b"\n")
                line = await asyncio.wait_for(self._process.stdout.readline(), _PATIENCE)
            except TimeoutError:
                self._give_up()
                raise FedbanditsError("the answer took too long; ask for less") from None
            except BaseException:  # a late answer would be taken for that of the next question
                self._give_up()
                raise
        if not line:
            self._refuse_at_end()
            raise FedbanditsError("the process that was asked has ended: out of memory?")
        parts = json.loads(line)
        if "error" in parts:
            raise RefusedError(parts["error"])
        return parts["answer"]

    def _refuse_at_end(self) -> None:
        if self._stopped:
            raise EndingError

    def _give_up(self) -> None:
        """Kill the process; the next question goes to a new process."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None

    async def stop(self) -> None:
        """End the process, and refuse all questions that wait."""
        self._stopped = True
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        async with self._turn:  # no question waits any more
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
