"""Events of an audit, leaving it early, and one number for the size of all of it."""

from __future__ import annotations

import json
import signal
import types
from functools import partial
from typing import get_args

import numpy as np
import pytest
from rich.console import Console

import fedbandits as fb
from fedbandits.environments import Bernoulli
from fedbandits.errors import StoppedError
from fedbandits.experiments.audits import audit as audit_module
from fedbandits.experiments.audits import parts as audit_parts
from fedbandits.experiments.audits.audit import audit
from fedbandits.experiments.audits.parts import LEAST_RUNS, AuditPart, Clock, runs_of
from fedbandits.experiments.events import (
    AuditInterrupted,
    AuditStarted,
    Part,
    PartAdvanced,
    PartFinished,
    PartKind,
    PartStarted,
)
from fedbandits.experiments.progress import TerminalProgress, roughly
from fedbandits.privacy import auditing
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.auditing import scaled
from fedbandits.privacy.noise_check import NoiseFinding, check_noise
from fedbandits.settings import RUNS
from fedbandits.systems import find_system
from fedbandits.systems.samba.audit import examination
from tests.experiments.test_audit import three_systems
from tests.privacy.test_auditing import Synthetic, shifted
from tests.privacy.test_noise_check import numbers
from tests.test_cli import TOML, call

SIZES = {"feducb": 2, "feducb-published": 3, "linucb-alone": 0}


def played_part(label, number, tick):
    """A part of four steps, in which nothing is wrong."""
    for share in (0.25, 0.5, 0.75, 1.0):
        tick(share)
    return NoiseFinding(
        looks_at=f"part {number}", numbers=1, planned=1, runs=1, missing=0, excessive=0, named=(),
        alarm=1e-6,
    )  # fmt: skip


@pytest.fixture
def made_up(monkeypatch):
    """Parts that cost nothing."""

    def parts_of(experiment, entry, *_):
        return [
            AuditPart(
                Part(entry.label, "noise", f"part {number}"),
                partial(played_part, entry.label, number),
            )
            for number in range(SIZES[entry.label])
        ]

    monkeypatch.setattr(audit_module, "parts_of", parts_of)


class At:
    """Listens, and acts at one kind of event when so many parts are done."""

    def __init__(self, kind, done, action):
        self.kind, self.done, self.action, self.told = kind, done, action, []

    def __call__(self, event):
        self.told.append(event)
        if isinstance(event, self.kind) and event.done == self.done:
            self.action()


def press():
    signal.raise_signal(signal.SIGINT)


class TestEvents:
    def test_all_are_plain_values(self, made_up):
        told = []
        audit(three_systems(), on_event=told.append)
        tables = [json.loads(json.dumps(event.to_table())) for event in told]
        assert tables[0]["parts"][4] == {
            "system": "feducb-published", "kind": "noise", "looks_at": "part 2",
        }  # fmt: skip
        assert tables[-1]["event"] == "audit_finished"

    def test_an_exception_ends_the_audit(self, made_up):
        def fail():
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            audit(three_systems(), on_event=At(PartAdvanced, 1, fail))


class TestLeaving:
    @pytest.fixture(autouse=True)
    def heeded(self):
        """Ctrl-C as in a terminal; a process in the background begins with SIGINT ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize("how", ["stop", "ctrl-c"])
    def test_verdicts_of_systems_that_are_done_are_kept(self, made_up, how):
        stop = fb.Stop()
        listener = At(PartAdvanced, 3, stop.set if how == "stop" else press)
        found = audit(three_systems(), on_event=listener, stop=stop)
        assert [verdict.system for verdict in found.verdicts] == ["feducb"]
        assert found.missing == ("feducb-published", "linucb-alone")
        assert found.summary.endswith("; interrupted, not audited: feducb-published, linucb-alone")
        assert listener.told[-1] == AuditInterrupted(finished=3, total=5, audited=("feducb",))
        assert isinstance(listener.told[-2], PartAdvanced)  # it left in the middle of a part
        assert listener.told[-2].share == 0.25

    def test_before_any_system_is_done_it_says_who_stopped_it(self, made_up):
        stop = fb.Stop()
        with pytest.raises(StoppedError, match="before any system was done"):
            audit(three_systems(), on_event=At(PartAdvanced, 1, stop.set), stop=stop)
        with pytest.raises(KeyboardInterrupt):
            audit(three_systems(), on_event=At(PartAdvanced, 1, press))

    def test_a_second_ctrl_c_does_not_wait_for_the_end_of_a_step(self, made_up):
        def press_twice():
            press()
            with pytest.raises(KeyboardInterrupt):
                press()
            raise KeyboardInterrupt

        listener = At(PartStarted, 2, press_twice)
        assert audit(three_systems(), on_event=listener).missing
        assert isinstance(listener.told[-2], PartStarted)
        with pytest.raises(KeyboardInterrupt):  # afterwards it is as it was before
            press()

    def test_side_by_side_it_finds_the_same(self, made_up):
        told = []
        found = audit(three_systems(), jobs=2, on_event=told.append)
        assert found == audit(three_systems())
        assert [event.done for event in told if isinstance(event, PartFinished)] == [1, 2, 3, 4, 5]
        assert {event.looks_at for event in told if isinstance(event, PartAdvanced)} == {
            "part 0", "part 1", "part 2"
        }  # fmt: skip

    def test_side_by_side_it_leaves_too(self, made_up):
        stop = fb.Stop()
        with pytest.raises(StoppedError, match="before any system was done"):
            audit(three_systems(), jobs=2, on_event=At(PartStarted, 0, stop.set), stop=stop)

    def test_an_error_in_a_process_is_the_audit_s(self, monkeypatch):
        def parts_of(experiment, entry, *_):
            def fails(tick):
                raise LookupError("mine")

            return [AuditPart(Part(entry.label, "noise", "x"), fails)] * 2

        monkeypatch.setattr(audit_module, "parts_of", parts_of)
        with pytest.raises(LookupError, match="mine"):
            audit(three_systems(), jobs=2)

    def test_a_whole_audit_misses_nothing(self, made_up):
        found = audit(three_systems())
        assert found.missing == ()
        assert "interrupted" not in found.summary

    def test_the_command_shows_what_is_done_and_writes_nothing(
        self, made_up, tmp_path, monkeypatch, capsys
    ):
        (tmp_path / "tiny.toml").write_text(TOML)
        monkeypatch.chdir(tmp_path)

        def interrupted(*given, on_event, **named):
            one_by_one = named | {"jobs": 1}  # else which parts are done then is chance
            return audit(*given, on_event=At(PartAdvanced, 3, press), **one_by_one)

        monkeypatch.setattr(audit_module, "audit", interrupted)
        assert call(monkeypatch, "audit", "tiny.toml") == 130
        shown = capsys.readouterr()
        assert "feducb: every released number" in shown.out
        assert "interrupted, not audited: feducb-published" in shown.out
        assert "Interrupted: nothing is written." in shown.err
        assert not (tmp_path / "runs" / "tiny").exists()


class TestTimeLeft:
    def clock(self, *kinds, jobs=1):
        self.now = 0.0
        return Clock(kinds, lambda: self.now, jobs)

    def play(self, clock, place, seconds):
        clock.begin(place)
        self.now += seconds
        clock.end(place)

    def test_parts_take_as_long_as_others_of_their_kind(self):
        clock = self.clock("contents", "messages", "noise", "messages", "contents")
        assert clock.left() is None
        self.play(clock, 0, 2.0)
        self.play(clock, 1, 30.0)
        # Noise takes a tenth of contents, or of messages, as a rule. Then messages, then contents.
        assert clock.left() == pytest.approx(0.5 * (0.2 + 3.0) + 30.0 + 2.0)
        self.play(clock, 2, 5.0)
        assert clock.left() == pytest.approx(32.0)
        self.play(clock, 3, 40.0)
        self.play(clock, 4, 2.0)
        assert clock.left() == 0.0

    def test_every_kind_of_part_has_its_usual_time(self):
        for first in get_args(PartKind):
            clock = self.clock(first, *get_args(PartKind))
            self.play(clock, 0, 1.0)
            assert clock.left() > 0.0

    def test_inside_a_part_its_own_pace_counts(self):
        clock = self.clock("messages", "messages")
        clock.begin(0)
        clock.advance(0, 0.0)
        assert clock.left() is None
        self.now = 10.0
        clock.advance(0, 0.25)
        assert clock.left() == pytest.approx(30.0 + 40.0)

    def test_side_by_side_they_take_as_much_less_time(self):
        clock = self.clock("messages", "messages", "messages", jobs=2)
        for place, share in ((0, 0.5), (1, 0.25)):
            clock.begin(place)
            clock.advance(place, share)
        self.now = 10.0
        # 10 s and 30 s are left of two, and the third takes 30 s.
        assert clock.left() == pytest.approx(35.0)

    @pytest.mark.parametrize(
        ("seconds", "shown"),
        [(None, ""), (0.0, "about 5 s left"), (42.0, "about 40 s left"),
         (600.0, "about 10 min left"), (3 * 3600.0, "about 3 h left")],
    )  # fmt: skip
    def test_it_is_shown_roughly(self, seconds, shown):
        assert roughly(seconds) == shown

    @pytest.mark.parametrize(
        ("width", "words"), [(140, f"feducb: {'many words ' * 4}"), (80, "feducb: many word")]
    )
    def test_the_bar_shows_parts_and_what_is_left(self, tmp_path, width, words):
        console = Console(file=(tmp_path / "shown").open("w"), width=width)
        part = Part("feducb", "noise", "many words " * 4)
        begin = AuditStarted(experiment="x", systems=("feducb",), runs=1000, parts=(part,) * 5)
        with console.file, TerminalProgress(console) as progress:
            progress(begin)
            told = {"kind": "noise", "looks_at": part.looks_at, "done": 2, "total": 5}
            progress(PartAdvanced(system="feducb", **told, share=0.5, seconds_left=42.0))
        shown = (tmp_path / "shown").read_text()
        assert words.strip() in shown
        assert "2/5 parts about 40 s left" in shown


class TestSize:
    """One number governs all parts."""

    @pytest.mark.parametrize(
        ("usual", "at_default", "tenth", "ten_times", "hundredth"),
        [(10**9, RUNS, RUNS // 10, 10 * RUNS, RUNS // 100),
         (1000, 1000, 100, 10_000, LEAST_RUNS), (400, 400, LEAST_RUNS, 4000, LEAST_RUNS)],
    )  # fmt: skip
    def test_games_are_played_in_proportion(self, usual, at_default, tenth, ten_times, hundredth):
        game = Synthetic(shifted(1.0), runs=usual)
        sizes = [runs_of(game, scale) for scale in (1.0, 0.1, 10.0, 0.01)]
        assert sizes == [at_default, tenth, ten_times, hundredth]

    def test_a_game_of_few_runs_is_trained_on_few(self):
        asked = []

        def draw(world, rng, count):
            asked.append(count)
            return shifted(1.0)(world, rng, count)

        attack(Synthetic(draw, sees="messages"), 50, 0.01)
        assert sum(asked) == 2 * (50 + 50)
        asked.clear()
        attack(Synthetic(draw, sees="messages"), 1000, 0.01)
        assert sum(asked) == 2 * (1000 + 200)
        asked.clear()
        attack(Synthetic(draw, sees="messages"), RUNS, 0.01)
        assert sum(asked) == 2 * (RUNS + 5000)

    def test_what_shows_in_every_run_shows_in_the_smallest_audit(self):
        certain = Synthetic(shifted(100.0), sees="messages", runs=1000)
        found = attack(certain, runs_of(certain, 0.002), 0.01, confidence=0.998)
        assert found.runs == LEAST_RUNS
        assert found.epsilon_low > 1.7

    def test_noise_is_compared_in_proportion_and_missing_noise_always_shows(self):
        sound, silent = numbers(np.ones(30)), numbers(np.append(np.ones(29), 0.0))
        for scale, runs in ((1.0, 3), (3.0, 9), (0.002, 1)):
            assert check_noise(sound, scale=scale).runs == runs
            assert check_noise(sound, scale=scale).right
            assert check_noise(silent, scale=scale).missing == 1

    def test_participants_look_at_fewer_pulls(self, monkeypatch):
        pulls = []
        play = examination._play
        monkeypatch.setattr(
            examination, "_play", lambda *given: (pulls.append(given[-1]), play(*given))[1]
        )
        variant = fb.system("samba-ucb")
        world = Bernoulli(arms=3)
        system = find_system(variant.system)
        system.examine(variant.plan(world, 100), world, 0.2)
        assert pulls == [examination._LOOKED_AT, 160]
        assert scaled(examination._PULLS, 1.0, 100) == 800

    def test_an_audit_hands_its_size_to_every_part(self, monkeypatch):
        sizes = []

        def note_game(game, runs, *_, **__):
            if runs == LEAST_RUNS:  # a first look
                return types.SimpleNamespace(epsilon_low=0.0)
            sizes.append(runs / min(RUNS, game.runs))
            raise StopIteration

        def note_noise(checked, alarm, scale, tick):
            sizes.append(scale)
            raise StopIteration

        def note_pairs(paired, scale, tick):
            note_noise(paired, 0.0, scale, tick)

        monkeypatch.setattr(audit_parts, "attack", note_game)
        monkeypatch.setattr(audit_parts, "check_noise", note_noise)
        monkeypatch.setattr(audit_parts, "check_sensitivity", note_pairs)
        experiment = three_systems()
        for entry in experiment.systems:
            for part in audit_parts.parts_of(experiment, entry, 5 * RUNS, 0.99, 0.01):
                if part.shown.kind == "protocol":  # played once, whatever the size
                    continue
                with pytest.raises(StopIteration):
                    part.play(lambda share: None)
        assert len(sizes) > 8
        assert set(sizes) == {5.0}

    def test_runs_have_the_numbers_that_they_have_when_played_at_once(self, monkeypatch):
        def draw(world, rng, count):
            asked.append(count)
            return shifted(1.0)(world, rng, count)

        class Noting(Synthetic):
            def play(self, world, first, count):
                played[world].extend(range(first, first + count))
                return super().play(world, first, count)

        numbers_of = []
        for piece in (20, 10**6):
            asked, played = [], ([], [])
            monkeypatch.setattr(auditing, "_PIECE", piece)
            attack(Noting(draw, sees="messages"), 2500, 0.01, training=130)
            numbers_of.append(played)
            assert len(asked) == (7 + 100 + 25) * 2 if piece == 20 else (1 + 2) * 2
        assert numbers_of[0] == numbers_of[1]
        assert not set(played[0]) & set(played[1])

    def test_reports_end_with_the_whole(self):
        shares = []
        attack(Synthetic(shifted(1.0)), 3000, 0.01, tick=shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        shares.clear()
        check_noise(numbers(np.ones(30)), tick=shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert len(shares) == 4
