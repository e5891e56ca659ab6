"""The command where the machine refuses: full disks, folders that are gone, odd names, ``~``."""

from __future__ import annotations

import errno
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

import fedbandits
from fedbandits.errors import OutputError
from fedbandits.experiments import files

#: The module; the package has its function under the same name.
command = importlib.import_module("fedbandits.cli.main")
FULL = pathlib.Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")


def called(*arguments, folder, **more):
    src = str(pathlib.Path(fedbandits.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "fedbandits", *arguments], stderr=subprocess.PIPE, text=True,
        cwd=folder, env={**os.environ, "PYTHONPATH": src}, **more,
    )  # fmt: skip


@needs_full
@pytest.mark.parametrize("arguments", [["list"], ["--version"], ["init", "--help"], ["init"]])
def test_a_full_disk_under_standard_output_is_one_line(arguments, tmp_path):
    with FULL.open("w") as full:
        ended = called(*arguments, folder=tmp_path, stdout=full)
    assert ended.returncode == 1
    assert ended.stderr.startswith("fedbandits: what is printed cannot be written: No space")
    assert ended.stderr.count("\n") == 1


def test_whoever_reads_no_more_is_told_nothing(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        ended = called("list", folder=tmp_path, stdout=pipe)
    assert (ended.returncode, ended.stderr) == (1, "")


class TestNames:
    def test_a_folder_that_is_gone(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        monkeypatch.setattr(command, "app", lambda args: os.getcwd())
        with pytest.raises(SystemExit) as ended:
            command.main()
        monkeypatch.chdir(tmp_path)
        assert ended.value.code == 1
        assert "the folder that this was called in is gone" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "arguments",
        ["party status", "party inspect", "party token", "party run", "samba order"],
    )
    def test_a_party_of_another_user(self, arguments, tmp_path, monkeypatch, capsys):
        """One line says whose it is."""
        party = tmp_path / "north"
        party.mkdir()
        (party / "request.json").write_text("{}")
        seen = pathlib.Path.stat

        def stat(path, **more):
            if path.parent == party:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return seen(path, **more)

        monkeypatch.setattr(pathlib.Path, "stat", stat)
        monkeypatch.setattr(sys, "argv", ["fedbandits", *arguments.split(), str(party)])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert ended.value.code == 1
        said, whose = capsys.readouterr().err, party.owner()
        assert said == (
            f"fedbandits: {party / 'request.json'}: Permission denied; {party} belongs to {whose}: "
            f"run this as that user, such as with sudo -u {whose}\n"
        )

    def test_a_file_is_named(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(command, "app", lambda args: (tmp_path / "none").read_bytes())
        with pytest.raises(SystemExit):
            command.main()
        assert (
            capsys.readouterr().err == f"fedbandits: {tmp_path}/none: No such file or directory\n"
        )

    @pytest.mark.parametrize("arguments", [["a\udcff.toml"], ["a.toml", "--data", "a\udcff.csv"]])
    def test_a_name_that_is_not_utf_8(self, arguments, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["fedbandits", "init", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert ended.value.code == 2
        assert "the name is not UTF-8" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ("~/x", "/h/x"), ("--out=~/x", "--out=/h/x"), ("a.path=~/x", "a.path=/h/x"),
            ("~", "/h"), ("a~/x", "a~/x"), ("x=~y", "x=~y"), ("--note=a ~/x", "--note=a ~/x"),
        ],
    )  # fmt: skip
    def test_a_home_folder(self, given, meant, monkeypatch):
        monkeypatch.setenv("HOME", "/h")
        assert command.with_home(given) == meant


class TestWhole:
    """``init --force`` and whatever else writes over a file."""

    def test_an_old_file_stays_if_the_new_one_does_not_fit(self, tmp_path, monkeypatch):
        file = tmp_path / "mine.toml"
        file.write_text("precious = 1")

        def fails(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files.os, "fsync", fails)
        for replaces in (True, False):
            with pytest.raises(OSError, match=r"No space|exists"):
                files.write_whole(file, b"new", replaces)
        with pytest.raises(OSError, match="No space"):
            files.write_whole(tmp_path / "other", b"new", False)
        with pytest.raises(OutputError, match="No space"):
            files.replace_durably(file, b"new")
        assert file.read_text() == "precious = 1"
        assert list(tmp_path.iterdir()) == [file]

    def test_a_link_and_a_mode_stay(self, tmp_path):
        file, link = tmp_path / "file", tmp_path / "link"
        file.write_text("old")
        file.chmod(0o600)
        link.symlink_to(file)
        files.write_whole(link, b"new", True)
        assert link.is_symlink()
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)

    def test_what_is_no_file_is_written_to(self):
        device = pathlib.Path("/dev/null")
        files.write_whole(device, b"new", True)
        assert device.is_char_device()

    def test_nothing_is_written_over_unless_told(self, tmp_path):
        files.write_whole(tmp_path / "a", b"1", False)
        with pytest.raises(FileExistsError):
            files.write_whole(tmp_path / "a", b"2", False)
        assert (tmp_path / "a").read_bytes() == b"1"
