"""A run says how far the records of others count for a party."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.experiments.answers.answer import others_count_lines
from fedbandits.experiments.report.pages import section
from fedbandits.experiments.result import build_dataset
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.settings.reference.glossary import VARIABLES

NAME = "others_count_as"
ROUNDS = np.array([1, 50])
EXPERIMENT = fb.Experiment(
    rounds=50,
    replicates=2,
    environment=fb.environments.Classification(agents=3, components=3, shards="shared"),
    systems=[fb.system("feducb-secure-hybrid"), fb.system("linucb-alone")],
)


def result_with(counts, name=NAME):
    """A result whose first system has these counts at the end, (replicates, parties)."""
    traces = []
    for system, replicate in np.ndindex(2, 2):
        own = (name,) if system == 0 else ()
        trace = ReplicateTrace.empty(system, replicate, ROUNDS, 3, own)
        for values in trace.metrics.values():
            values[:, 0], values[:, 1] = 7.0, counts[replicate]
        traces.append(trace)
    return build_dataset(EXPERIMENT, traces, False)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([[60, 100, 800], [324, 90, 700]], "212 of its own (median; 60 to 800)"),
        ([[0, 1.26, np.nan], [3, 4, 5]], "3 of its own (median; 0 to 5)"),
        ([[np.nan, 1234.2, np.nan], [np.nan] * 3], "1,234 of its own (median; 1,234 to 1,234)"),
    ],
)
def test_the_answer_and_the_report_tell_the_median_and_the_range(counts, said):
    result = result_with(np.array(counts, np.float64))
    answer = fb.answer(EXPERIMENT, result)
    line = (
        f"With feducb-secure-hybrid, the records of others count for a hospital as much as {said}."
    )
    assert answer.lines[-1] == line
    assert [*others_count_lines(result, EXPERIMENT.environment.words)] == [line]
    assert line in section("answer", answer=answer)


def test_runs_without_it_say_nothing():
    words = EXPERIMENT.environment.words
    assert [*others_count_lines(result_with(np.full((2, 3), np.nan)), words)] == []
    without = result_with(np.ones((2, 3)), "cluster_size")
    assert [*others_count_lines(without, words)] == []
    assert not any("records of others" in line for line in fb.answer(EXPERIMENT, without).lines)


def test_a_run_measures_it_party_by_party():
    experiment = fb.Experiment(
        rounds=40,
        replicates=1,
        environment=fb.environments.Linear(agents=3, dim=2, arms=3),
        systems=[fb.system("feducb-hybrid", epsilon=20.0), fb.system("linucb-alone")],
    )
    result = fb.run(experiment)
    assert result[NAME].dims == ("system", "replicate", "party", "round")
    assert VARIABLES[NAME].startswith("Hybrids")
    last = result[NAME].isel(round=-1, replicate=0)
    assert np.isnan(last.sel(system="linucb-alone")).all()
    assert (last.sel(system="feducb-hybrid") > 0.0).all()
    assert np.isnan(result[NAME].isel(round=0)).all()
    assert "count for an agent as much as" in str(fb.answer(experiment, result))
