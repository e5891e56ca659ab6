"""Events of a run: their order and content, results so far, and leaving early."""

from __future__ import annotations

import json
import threading
from collections import Counter

import msgspec
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import fedbandits as fb
from fedbandits._compile.shared import announce
from fedbandits.errors import StoppedError
from fedbandits.experiments import events, runner
from fedbandits.experiments.events import (
    Compiling,
    ReplicateAdvanced,
    ReplicateFinished,
    RunFinished,
    RunInterrupted,
    RunStarted,
)
from fedbandits.experiments.progress import TerminalProgress
from fedbandits.experiments.signals import Stream
from tests.experiments.test_resume import MEASURED, assert_same, experiment
from tests.test_docs import ROOT, code_blocks

LABELS = ("feducb", "feducb-published", "linucb-alone")
KINDS = [
    kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, events.Event)
]
TASKS = [(label, number) for label in LABELS for number in range(2)]


@pytest.fixture(scope="module", autouse=True)
def no_plots():
    """They take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "write_output", lambda *_: None)
        yield


@pytest.fixture(scope="module")
def whole():
    return fb.run(experiment())


def listened(**options):
    told = []
    result = fb.run(experiment(), on_event=told.append, **options)
    return result, [event for event in told if not isinstance(event, Compiling)]


def of(told, kind):
    return [event for event in told if isinstance(event, kind)]


class StopAt:
    """Listens, and stops the run at its n-th event, in a thread of its own."""

    def __init__(self, number):
        self.stop, self.told, self.number = fb.Stop(), [], number

    def __call__(self, event):
        self.told.append(event)
        if len(self.told) == self.number:
            thread = threading.Thread(target=self.stop.set)
            thread.start()
            thread.join()


class TestOrder:
    @pytest.mark.parametrize("jobs", [1, 3])
    def test_a_run_begins_advances_finishes_and_ends(self, tmp_path, jobs):
        _, told = listened(out=tmp_path / "r", jobs=jobs)
        assert told[0] == RunStarted(
            experiment="long", systems=LABELS, rounds=500, replicates=2, acting=2
        )
        assert told[0].total == 6
        assert told[-1] == RunFinished(total=6, out=str(tmp_path / "r"))
        kinds = {type(event) for event in told[1:-1]}
        assert kinds == {ReplicateAdvanced, ReplicateFinished}

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_every_replicate_advances_to_its_last_round_and_then_finishes(self, jobs):
        _, told = listened(jobs=jobs)
        for system, number in TASKS:
            own = [e for e in told[1:-1] if (e.system, e.replicate) == (system, number)]
            *advances, finished = own
            assert isinstance(finished, ReplicateFinished)
            done = [event.done for event in advances]
            assert done[0] == 0
            assert done[-1] == 500
            assert done == sorted(done)
            assert {event.rounds for event in advances} == {500}
        counted = [(e.finished, e.total) for e in of(told, ReplicateFinished)]
        assert counted == [(count, 6) for count in range(1, 7)]

    def test_what_is_finished_before_is_said_at_the_start_and_not_played(self, tmp_path):
        listener = StopAt(40)
        fb.run(experiment(), out=tmp_path / "r", jobs=1, on_event=listener, stop=listener.stop)
        before = {(e.system, e.replicate) for e in of(listener.told, ReplicateFinished)}
        assert 0 < len(before) < 6
        _, told = listened(out=tmp_path / "r", resume=True)
        assert {(r.system, r.replicate) for r in told[0].finished} == before
        after = [(e.system, e.replicate) for e in of(told, ReplicateFinished)]
        assert sorted([*after, *before]) == TASKS
        begun = [e for e in of(told, ReplicateAdvanced) if e.done]
        assert begun[0].done > 0
        assert told[-1].total == told[-2].finished == 6

    def test_all_events_come_in_the_thread_of_the_caller_one_at_a_time(self):
        threads, inside = set(), []

        def listen(event):
            assert not inside
            inside.append(event)
            threads.add(threading.get_ident())
            inside.pop()

        fb.run(experiment(), jobs=3, on_event=listen)
        assert threads == {threading.get_ident()}

    def test_a_run_may_be_started_while_another_one_tells(self, whole):
        inner = []

        def listen(event):
            if isinstance(event, ReplicateFinished) and event.finished == 2:
                inner.append(fb.run(experiment(replicates=1), jobs=2))

        assert_same(fb.run(experiment(), jobs=2, on_event=listen), whole)
        np.testing.assert_array_equal(inner[0].regret, whole.regret[:, :1])


class TestResultsSoFar:
    @pytest.mark.parametrize("jobs", [1, 3])
    def test_they_are_the_final_result_for_what_is_finished(self, whole, jobs):
        known = set()

        def listen(event):
            if not isinstance(event, ReplicateFinished):
                return
            known.add((event.system, event.replicate))
            so_far = event.results()
            assert so_far.attrs["interrupted"] == (len(known) < 6)
            for system, number in TASKS:
                at = {"system": system, "replicate": number}
                for name in MEASURED:
                    expected = whole[name].sel(at)
                    if (system, number) not in known:
                        expected = xr.full_like(expected, np.nan)
                    np.testing.assert_array_equal(so_far[name].sel(at), expected)

        fb.run(experiment(), jobs=jobs, on_event=listen)
        assert len(known) == 6

    def test_they_are_those_of_the_event_even_when_asked_for_later(self):
        result, told = listened(jobs=2)
        for event in of(told, ReplicateFinished):
            finished = np.isfinite(event.results().regret).all(dim=("party", "round"))
            assert int(finished.sum()) == event.finished
        xr.testing.assert_identical(told[-2].results(), result)

    def test_nothing_is_made_of_them_unless_somebody_asks(self, monkeypatch):
        made = []
        build = runner.dataset_of
        monkeypatch.setattr(runner, "dataset_of", lambda *given: (made.append(1), build(*given))[1])
        _, told = listened()
        assert len(made) == 1  # the result itself
        told[-2].results()
        assert len(made) == 2


class TestStop:
    @settings(max_examples=10, deadline=None)
    @given(number=st.integers(1, 60), jobs=st.integers(1, 3))
    def test_stopped_at_any_moment_a_run_resumes_to_the_same_bits(
        self, tmp_path_factory, whole, number, jobs
    ):
        out, listener = tmp_path_factory.mktemp("stopped") / "r", StopAt(number)
        options = {"jobs": jobs, "on_event": listener, "stop": listener.stop, "save_every": 0.0}
        try:
            cut = fb.run(experiment(), out=out, **options)
        except StoppedError:
            assert not out.exists()
            assert not of(listener.told, ReplicateFinished)
            finished = 0
        else:
            finished = len(of(listener.told, ReplicateFinished))
            assert cut.attrs["interrupted"] == (finished < 6)
            known = np.isfinite(cut.regret).all(dim=("party", "round")).values
            assert known.sum() == finished
            np.testing.assert_array_equal(cut.regret.values[known], whole.regret.values[known])
        if finished < 6:
            ended = RunInterrupted(finished=finished, total=6, out=str(out))
            assert listener.told[-1] == ended
            if (out.parent / ".r.checkpoint").exists() and number > 1:
                again = _resumed(out)
                assert_same(again, whole)

    def test_set_before_it_begins_nothing_is_played(self, tmp_path):
        stop, told = fb.Stop(), []
        stop.set()
        with pytest.raises(StoppedError, match="before any replicate was finished"):
            fb.run(experiment(), out=tmp_path / "r", stop=stop, on_event=told.append)
        assert [type(event) for event in told] == [RunStarted, RunInterrupted]
        assert not (tmp_path / "r").exists()

    @pytest.mark.parametrize("number", [3, 17, 40])
    def test_a_replicate_stands_where_its_event_says(self, number):
        """It waits until it was heard, and leaves there; nothing more is told of it."""
        told, stopped, stop = [], [], fb.Stop()

        def listen(event):
            told.append(event)
            if len(told) >= number and isinstance(event, ReplicateAdvanced) and event.done:
                stop.set()
                stopped.append(event)

        try:
            fb.run(experiment(), jobs=1, on_event=listen, stop=stop)
        except StoppedError:
            assert number < 40
        assert isinstance(told[-1], RunInterrupted)
        assert told[-2:-1] == stopped

    def test_a_run_does_not_set_it(self):
        stop = fb.Stop()
        assert "not set" in repr(stop)
        fb.run(experiment(), stop=stop)

        def fail(event):
            raise ValueError("x")

        with pytest.raises(ValueError, match="x"):
            fb.run(experiment(), stop=stop, on_event=fail)
        assert not stop


def _resumed(out):
    return fb.run(experiment(), out=out, resume=True)


class TestFailingListeners:
    @settings(max_examples=10, deadline=None)
    @given(number=st.integers(1, 50), jobs=st.integers(1, 3))
    def test_an_exception_ends_the_run_and_nobody_is_left_waiting(self, number, jobs):
        told, before = [], threading.active_count()

        def listen(event):
            told.append(event)
            if len(told) == number:
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            fb.run(experiment(), jobs=jobs, on_event=listen)
        assert len(told) == number  # nothing is told after it
        assert threading.active_count() == before

    def test_replicates_save_their_checkpoints_before_they_leave(self, tmp_path, whole):
        def listen(event):
            if isinstance(event, ReplicateAdvanced) and event.done > 100:
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            fb.run(experiment(), out=tmp_path / "r", jobs=2, on_event=listen)
        assert len(list((tmp_path / ".r.checkpoint").glob("*.checkpoint"))) >= 1
        assert_same(_resumed(tmp_path / "r"), whole)

    def test_what_a_worker_raises_is_raised(self, monkeypatch):
        def fail(shared, task):
            raise ArithmeticError("a worker's")

        monkeypatch.setattr("fedbandits.experiments.backends.backend.play_replicate", fail)
        with pytest.raises(ArithmeticError, match="a worker's"):
            fb.run(experiment(), jobs=2, on_event=lambda event: None)


class TestCompiling:
    def test_kernels_are_told_as_they_are_compiled_and_counted(self):
        told = []
        heard = Stream(told.append)
        with heard.with_compilations():
            announce("one")
            announce("two")
        announce("three")
        assert told == [Compiling(kernel="one", count=1), Compiling(kernel="two", count=2)]

    def test_who_compiles_elsewhere_does_not_wait_for_the_listener(self):
        told = []
        heard = Stream(told.append)
        with heard.with_compilations():
            other = threading.Thread(target=announce, args=("far",))
            other.start()
            other.join()  # it holds Numba's lock, which the listener may want
            assert told == []
            heard.put("done")
            assert list(heard.items(str, 1)) == ["done"]
        assert told == [Compiling(kernel="far", count=1)]

    def test_what_a_listener_raises_is_not_seen_by_the_compiler(self):
        def fail(event):
            raise LookupError("mine")

        def compile_something():
            with Stream(fail).with_compilations():
                announce("one")  # does not raise

        with pytest.raises(LookupError, match="mine"):
            compile_something()


class TestTables:
    def test_every_event_is_plain_values_with_its_name(self, tmp_path):
        _, told = listened(out=tmp_path / "r")
        tables = [json.loads(json.dumps(event.to_table())) for event in told]
        names = Counter(table["event"] for table in tables)
        assert set(names) == {
            "run_started", "replicate_advanced", "replicate_finished", "run_finished",
        }  # fmt: skip
        last = next(table for table in tables if table.get("finished") == 6)
        assert set(last) == {"event", "system", "replicate", "finished", "total", "rows"}
        assert [row["round"] for row in last["rows"]] == sorted(
            row["round"] for row in last["rows"]
        )
        assert tables[0]["systems"] == list(LABELS)

    def test_all_kinds_have_a_name_of_their_own(self):
        tags = [kind.__struct_config__.tag for kind in KINDS]
        assert len(set(tags)) == len(tags) == 23

    def test_events_are_frozen(self):
        with pytest.raises(AttributeError):
            RunFinished(total=1, out=None).total = 2


class TestTerminal:
    def test_bars_end_where_the_run_does_and_serve_several_runs(self, tmp_path):
        console = Console(file=(tmp_path / "shown").open("w"), width=120, force_terminal=True)
        with console.file, TerminalProgress(console) as progress:
            for _ in range(2):
                fb.run(experiment(), on_event=progress)
        shown = (tmp_path / "shown").read_text()
        assert shown.count("1000/1000") >= 2 * 3

    def test_it_says_once_that_something_is_compiled(self, tmp_path):
        console = Console(file=(tmp_path / "shown").open("w"), width=120)
        begin = RunStarted(experiment="x", systems=("a",), rounds=9, replicates=1, acting=1)
        with console.file, TerminalProgress(console) as progress:
            progress(begin)
            for count in (1, 2):
                progress(Compiling(kernel="k", count=count))
            progress(ReplicateAdvanced(system="a", replicate=0, done=4, rounds=9))
        assert (tmp_path / "shown").read_text().count("Compiling what this needs") == 1

    @pytest.mark.parametrize("passing", [False, True])
    def test_bars_that_are_wiped_leave_nothing_in_a_file(self, tmp_path, passing):
        console = Console(file=(tmp_path / "shown").open("w"), width=120)
        with console.file, TerminalProgress(console, passing) as progress:
            for _ in range(2):
                fb.run(experiment(), on_event=progress)
        shown = (tmp_path / "shown").read_text()
        assert (shown == "") == passing
        assert ("1000/1000" in shown) != passing

    def test_what_was_played_before_an_interruption_is_on_the_bar(self, tmp_path):
        console = Console(file=(tmp_path / "shown").open("w"), width=120)
        done = (events.Replicate("a", 1),)
        begin = RunStarted(
            experiment="x", systems=("a",), rounds=9, replicates=2, acting=1, finished=done
        )
        with console.file, TerminalProgress(console) as progress:
            progress(begin)
            progress(ReplicateAdvanced(system="a", replicate=0, done=4, rounds=9))
            progress(ReplicateAdvanced(system="a", replicate=0, done=7, rounds=9))
        assert "16/18" in (tmp_path / "shown").read_text()


def test_a_struct_of_events_is_equal_to_itself_after_json():
    event = ReplicateAdvanced(system="a", replicate=0, done=4, rounds=9)
    decoded = msgspec.json.decode(msgspec.json.encode(event.to_table()), type=ReplicateAdvanced)
    assert decoded == event


def test_the_code_of_the_documentation_runs(capsys):
    (code,) = code_blocks("docs/events.md")
    exec(compile(code, "docs/events.md", "exec"), {})  # noqa: S102 (our own documentation)
    *_, interrupted = capsys.readouterr().out.splitlines()
    assert interrupted == "1"


def test_the_documentation_names_every_event():
    text = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    abstract = {"Advanced", "Event", "PartEvent"}
    assert {kind.__name__ for kind in KINDS if f"`{kind.__name__}`" not in text} == abstract
