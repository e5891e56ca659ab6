"""Checkpoints that are damaged, or made to do harm: refused by one name, before they are read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import resource
import zipfile
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.errors import CheckpointError, OutputError
from fedbandits.experiments import checkpoint
from fedbandits.experiments.checkpoint import _MAGIC, _PREFIX, CheckpointFolder, Progressed
from fedbandits.experiments.trace import ReplicateTrace

ROUNDS = np.array([1, 5, 20, 50])
PARTIES = 2


class Inner(NamedTuple):
    counts: np.ndarray
    flags: np.ndarray


class State(NamedTuple):
    sums: np.ndarray
    inner: Inner


def state():
    inner = Inner(np.arange(6, dtype=np.int64), np.array([True, False]))
    return State(np.linspace(0.0, 1.0, 12).reshape(3, 4), inner)


def trace(system=0):
    return ReplicateTrace.empty(system, 0, ROUNDS, PARTIES, ("price",))


@pytest.fixture
def folder(tmp_path):
    """Two checkpoints: the first in the middle of its replicate, the second finished."""
    experiment = fb.Experiment(
        rounds=50,
        environment=Linear(agents=PARTIES, dim=2, arms=2),
        systems=(fb.system("linucb-alone"), fb.system("linucb-alone", label="again")),
    )
    folder = CheckpointFolder(tmp_path / "out", experiment)
    folder.begin(resume=False)
    folder.save(trace(), SimpleNamespace(state=state()), Progressed(2, ((1.0, 2.0), (3.0, 4.5))))
    folder.save_finished(msgspec.structs.replace(trace(1), spells=((0.0, 9.0),)))
    return folder


def looked_at(folder):
    """All that a run does with checkpoints; whether they were taken."""
    found = [folder.finished(system, 0, ROUNDS) for system in (0, 1)]
    for system in (0, 1):
        here = trace(system)
        stood = folder.load(here, SimpleNamespace(state=state()))
        assert stood is None or 0 <= stood.position <= len(ROUNDS)
        assert here.regret.shape == (PARTIES, len(ROUNDS))
    return found


def test_what_was_saved_is_loaded(folder):
    assert [f is None for f in looked_at(folder)] == [True, False]
    standing = state()
    standing.sums[:] = 7.0
    stood = folder.load(trace(), SimpleNamespace(state=standing))
    assert stood == Progressed(2, ((1.0, 2.0), (3.0, 4.5)))
    np.testing.assert_array_equal(standing.sums, state().sums)


JUNK = [
    None, True, -1, 0, 3, 4, 5, 2**31, 2**63, 2**64, -(2**63), 10**30, 1.5, 1e308, "", "x",
    "<f8", "|O", "<M8[D]", "V1000000000", "\x00", [], [[]], [[1.0, 2.0, 3.0]], [["a", "b"]],
    [[1e308, 0.0]], {}, {"a": 1}, [2**40, 2**40], [-1, -1], [["trace.regret", "<f8", [2**40]]],
    [["trace.regret", "|O", [1]]], [["state.sums", "<f8", [3, 4]]] * 50, "trace.metrics." * 9,
]  # fmt: skip


def nodes(value, place=()):
    """All places in a header."""
    yield place
    if isinstance(value, dict | list):
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            yield from nodes(child, (*place, key))


def changed(value, place, chance):
    """A header in which one place is gone, doubled, or something else."""
    if not place:
        return chance.choice(JUNK)
    holder = value
    for key in place[:-1]:
        holder = holder[key]
    action = chance.randrange(5)
    if action == 0 and isinstance(holder, dict):
        del holder[place[-1]]
    elif action == 1 and isinstance(holder, list):
        holder.insert(place[-1], holder[place[-1]])
    elif action == 2 and isinstance(holder, list):
        holder.pop(place[-1])
    else:
        holder[place[-1]] = chance.choice(JUNK)
    return value


def sealed(head, body):
    """A file whose digest of the header is right: damage does not explain it."""
    length = len(head).to_bytes(8, "little")
    return _MAGIC + hashlib.sha256(head).digest() + length + head + body


def with_other_header(data, chance):
    length = int.from_bytes(data[_PREFIX - 8 : _PREFIX], "little")
    head, body = data[_PREFIX : _PREFIX + length], data[_PREFIX + length :]
    header = json.loads(head)
    for _ in range(chance.choice((1, 1, 2))):
        header = changed(header, chance.choice(list(nodes(header))), chance)
        if not isinstance(header, dict):
            break
    text = json.dumps(header).encode()
    if chance.random() < 0.1:
        text = chance.choice(
            (b"[" * 100_000, b"\xff" + text, text[:-1], text + b"x", b"", b"1e999")
        )
    if chance.random() < 0.2:  # bytes for what it says there is
        body = bytes(body) + bytes(chance.choice((1, 8, 96)))
    return sealed(text, body)


def with_other_bytes(data, chance):
    data = bytearray(data)
    at, count = chance.randrange(len(data)), chance.choice((1, 1, 8, 200))
    match chance.randrange(4):
        case 0:
            data[at : at + count] = chance.randbytes(count)
        case 1:
            del data[at : at + count]
        case 2:
            data[at:at] = chance.randbytes(count)
        case _:
            data = data[:at]
    return bytes(data)


@pytest.mark.parametrize("mutant", [with_other_header, with_other_bytes])
def test_whatever_a_checkpoint_says_it_is_taken_or_refused_by_name(folder, mutant, monkeypatch):
    """1,500 of either kind; what is taken has the layout that it must have."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    chance, refused = random.Random(11), 0  # noqa: S311
    files = sorted(folder.path.iterdir())
    whole = [file.read_bytes() for file in files]
    for number in range(1500):
        file, data = files[number % 2], whole[number % 2]
        file.write_bytes(mutant(data, chance))
        try:
            looked_at(folder)
        except CheckpointError as error:
            assert str(file) in str(error)  # noqa: PT017
            refused += 1
        file.write_bytes(data)
    assert refused > 1200


def test_more_than_there_should_be_is_refused(folder):
    for file in folder.path.iterdir():
        data = file.read_bytes()
        file.write_bytes(data + b"x")
        with pytest.raises(CheckpointError, match="damaged"):
            looked_at(folder)
        file.write_bytes(data)


def test_a_refused_checkpoint_leaves_the_replicate_as_it_was(folder):
    file = min(folder.path.iterdir())
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    standing = state()
    standing.sums[:] = 7.0
    with pytest.raises(CheckpointError, match="damaged"):
        folder.load(trace(), SimpleNamespace(state=standing))
    assert (standing.sums == 7.0).all()


def test_a_bomb_is_refused_before_it_is_unpacked(folder):
    """Two megabytes that were two gigabytes, in the format of old; and in this one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("state.sums.npy", bytes(1 << 24))
    file = min(folder.path.iterdir())
    header = checkpoint.open_file(file).header
    large = ("trace.regret", "<f8", (1 << 14, 1 << 14))
    claims = msgspec.structs.replace(header, arrays=(large,))
    for data in (buffer.getvalue(), sealed(msgspec.json.encode(claims), b"")):
        file.write_bytes(data)
        with pytest.raises(CheckpointError):
            looked_at(folder)
    with file.open("wb") as stream:  # a hole of 8 TB, behind a header that is right
        stream.write(sealed(msgspec.json.encode(header), b""))
        stream.truncate(8 << 40)
    with pytest.raises(CheckpointError):
        looked_at(folder)
    with file.open("wb") as stream:  # and a header of that length
        stream.write(_MAGIC + bytes(32) + (4 << 40).to_bytes(8, "little"))
        stream.truncate(8 << 40)
    with pytest.raises(CheckpointError):
        looked_at(folder)


def test_what_is_no_file_is_refused(folder):
    file = min(folder.path.iterdir())
    file.unlink()
    for make in (lambda: os.mkfifo(file), file.mkdir, lambda: file.symlink_to("/dev/zero")):
        make()
        with pytest.raises(CheckpointError):
            looked_at(folder)
        file.rmdir() if file.is_dir() else file.unlink()


@pytest.mark.parametrize("step", [-1, 1])
def test_a_checkpoint_of_another_format_is_named(folder, step):
    """One of the version before, and one of a version to come."""
    name, number = _MAGIC.rsplit(b" ", 1)
    other = b"%s %d\n" % (name, int(number) + step)
    file = folder.path / "0-0.checkpoint"
    file.write_bytes(other + file.read_bytes().removeprefix(_MAGIC))
    with pytest.raises(
        CheckpointError, match=r"0-0\.checkpoint: a checkpoint of another format; run"
    ):
        folder.load(trace(), SimpleNamespace(state=state()))


def test_on_a_full_disk_the_checkpoint_before_stays(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OutputError, match="cannot be written"):
            folder.save(trace(), SimpleNamespace(state=state()), Progressed(3, ()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == before
