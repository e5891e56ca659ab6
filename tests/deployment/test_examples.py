"""The examples of federations, shortened: the command itself, a real broker, real parties."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks through /proc")

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "federation"
_PATIENCE = 240.0


def start(name, out, *arguments):
    """An example, in a session of its own: as from a terminal."""
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / name / "run.py"), "--out", str(out), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def play(name, out, *arguments):
    """Play an example to its end; what it has said."""
    with start(name, out, *arguments) as process:
        try:
            said, _ = process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate()
    assert process.returncode == 0, said
    assert left_behind(out) == [], said
    return said


def unwrapped(said):
    """Without the ends of lines: long paths break them."""
    return " ".join(said.split())


def left_behind(out):
    """Processes that still work in an example's folder."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            told = (each / "cmdline").read_bytes().decode(errors="replace")
            where = os.readlink(each / "cwd")
        except OSError:
            continue
        if int(each.name) != os.getpid() and (str(out) in told or where.startswith(str(out))):
            found.append(told.replace("\0", " "))
    return found


@pytest.mark.slow
def test_three_clinics_one_of_which_is_killed(tmp_path):
    out = tmp_path / "clinics"
    said = play("clinics", out, "--seconds", "5", "--every", "1 s", "--begins", "0")
    assert "south: has died (exit code -9); it is started again" in said
    assert unwrapped(said).count("every row verified") == 3
    south = re.search(r"^south: ([\d,]+) visits, ([\d,]+) rewards", said, re.MULTILINE)
    assert south is not None
    assert int(south[2].replace(",", "")) > 0
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_order_of_samba_with_four_owners(tmp_path):
    said = play("samba", tmp_path / "samba", "--rounds", "16", "--begins", "0")
    found = re.search(r"has decrypted (\d+); the owners' clicks add up to (\d+)", said)
    assert found is not None, said
    assert found[1] == found[2]
    assert sum(int(n) for n in re.findall(r"shown (\d+) times", said)) == 16


@pytest.mark.slow
def test_two_shops(tmp_path):
    out = tmp_path / "shops"
    said = play("shops", out, "--in-process", "--seconds", "3", "--every", "10 s", "--begins", "0")
    assert unwrapped(said).count("every row verified") == 2
    assert len(re.findall(r"^(?:downtown|harbour): [\d,]+ visits; chance", said, re.MULTILINE)) == 2
    assert (out / "downtown.npz").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_behind(tmp_path):
    out = tmp_path / "shops"
    with start("shops", out, "--seconds", "600", "--begins", "0") as process:
        end = time.monotonic() + _PATIENCE
        for line in process.stdout:
            if "ready: 3 parties" in line:
                break
            assert time.monotonic() < end
        assert left_behind(out)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.wait(_PATIENCE)
    assert process.returncode == 1
    assert left_behind(out) == []
