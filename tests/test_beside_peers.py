"""What stands beside peers in ``benchmarks/peers.py`` does the same work as they do."""

from __future__ import annotations

import importlib
import pathlib

import numpy as np
import pytest

from fedbandits.environments import Classification, Linear

ROOT = pathlib.Path(__file__).parents[1]
STEPS = 60
WORLDS = {
    "a model for all arms": Linear(agents=1, dim=3, arms=4),
    "a model for each arm": Classification(dataset="wine", agents=1),
}


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture(params=WORLDS)
def world(request):
    return WORLDS[request.param]


@pytest.fixture
def stream(world, _benchmarks):
    return part("worlds").draw_stream(world, STEPS, 1)


def part(name):
    return importlib.import_module(f"beside.{name}")


def arms_of(contender, stream):
    arms = []
    for t in range(len(stream.rewards)):
        arm = contender.decide(t)
        contender.learn(t, arm, float(stream.rewards[t, arm]))
        arms.append(arm)
    return arms


def test_a_stepped_party_chooses_as_linucb_by_brute_force(world, stream):
    arms = arms_of(part("ours").Stepped(stream, 1, world), stream)
    assert part("oracle").agreement(stream, arms).largest == STEPS


def test_linucb_in_numpy_chooses_the_same_arms_as_by_brute_force(world, stream):
    ours = part("ours")
    arms = arms_of(ours.InNumpy(stream, 1, world, ours.LinUCB), stream)
    assert arms == arms_of(part("oracle").BruteForce(stream), stream)


def test_choices_at_random_do_not_agree(stream):
    arms = np.random.default_rng(0).integers(stream.arms, size=STEPS).tolist()
    assert part("oracle").agreement(stream, arms).largest < 0.8 * STEPS


def test_brute_force_is_ridge_regression(stream):
    oracle = part("oracle").BruteForce(stream, alpha=0.0)
    for t in range(STEPS):
        oracle.learn(t, 1, stream.rewards[t, 1])
    shared = stream.shared_model
    seen = stream.contexts[:, :, 1 if shared else 0].astype(float)
    theta = np.linalg.solve(seen.T @ seen + np.eye(seen.shape[1]), seen.T @ stream.rewards[:, 1])
    expected = stream.contexts[0].astype(float).T @ theta
    scores = oracle.scores(0)
    np.testing.assert_allclose(scores if shared else scores[1:2], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("package", "kind", "policy"),
    [
        ("mabwiser", "MABWiser", "LinUCB"),
        ("contextualbandits", "ContextualBandits", "LinUCB"),
        ("coba", "Coba", "LinUCB"),
    ],
)
def test_linucb_of_a_peer_chooses_as_by_brute_force(package, kind, policy):
    pytest.importorskip(package)
    stream = part("worlds").draw_stream(WORLDS["a model for each arm"], STEPS, 1)
    arms = arms_of(getattr(part("contenders"), kind)(stream, 0, policy), stream)
    assert part("oracle").agreement(stream, arms).largest == STEPS


def test_the_best_arms_have_no_regret_and_others_have_their_gaps(stream):
    streams = part("streams")
    best, worst = stream.expected.argmax(axis=1), stream.expected.argmin(axis=1)
    assert streams.regret(stream, best)[-1] == 0.0
    gaps = stream.expected.max(axis=1) - stream.expected.min(axis=1)
    np.testing.assert_allclose(streams.regret(stream, worst), np.cumsum(gaps))


def test_a_stream_is_read_as_it_was_written(stream, tmp_path):
    streams = part("streams")
    streams.save_stream(stream, tmp_path / "stream.npz")
    for read, drawn in zip(streams.load_stream(tmp_path / "stream.npz"), stream, strict=True):
        np.testing.assert_array_equal(read, drawn)


def test_rewards_are_those_of_the_simulated_world():
    """A party that plays the world itself meets the stream's contexts and rewards."""
    import fedbandits as fb

    world = WORLDS["a model for all arms"]
    stream = part("worlds").draw_stream(world, STEPS, 1)
    arms = arms_of(part("ours").Stepped(stream, 1, world), stream)
    config = fb.system("linucb-alone", **part("ours").LINUCB).config
    run = fb.parties.federate(config, world, STEPS, part("worlds").SEED, 1)
    run.advance(STEPS)
    assert run.regret.sum() == pytest.approx(part("streams").regret(stream, arms)[-1])
    assert run.reward.sum() == stream.rewards[np.arange(STEPS), arms].sum()


def test_a_table_is_markdown_with_a_cell_for_each_head():
    text = part("table").table(("who", "how much"), [("ours", "1"), ("theirs", "2")])
    assert text == "| who | how much |\n| --- | ---: |\n| ours | 1 |\n| theirs | 2 |\n"
    with pytest.raises(ValueError, match="2 cells, the head has 1"):
        part("table").table(("who",), [("ours", "1")])


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.01234, "0.0123"), (1.0, "1"), (12.34, "12.3"), (123.4, "123"), (1234567.0, "1,230,000")],
)
def test_numbers_have_three_digits_that_count(value, said):
    assert part("table").number(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(0.0523, "0.052 ×"), (1.0, "1.0 ×"), (1234.5, "1,234 ×")]
)
def test_ratios_are_short(value, said):
    assert part("table").ratio(value) == said


def test_ratios_are_of_one_turn():
    assert part("turns").ratios([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == 3.0
    assert part("table").mean_and_error([1.0, 3.0]) == "2.0 ± 1.0"


def test_a_row_has_ratios_of_a_step_and_regret_after_as_many_steps(stream, monkeypatch):
    """One who plays fewer steps is compared over these alone."""
    contest, roster = part("contest"), part("roster")
    monkeypatch.setitem(roster.FEWER, ("wine", "coba: LinTS"), 20)
    best, worst = stream.expected.argmax(axis=1), stream.expected.argmin(axis=1)
    ours = "fedbandits: LinTS in numpy"
    found = {
        roster.NOBODY: [{"peak": 30.0}],
        ours: [{"peak": 130.0, "seconds": 0.6, "arms": worst.tolist()}],
        "coba: LinTS": [{"peak": 40.0, "seconds": 1.0, "arms": best[:20].tolist()}],
    }
    results = contest.Results("wine", STEPS, [stream], found)
    lost = part("streams").regret(stream, worst)[19]
    assert results.row(roster.Entry("coba", "LinTS", None), ours) == [
        "coba: LinTS", "20", "5.0 ×", "10", f"0.0 after 20 steps, ours {lost:.1f}", "",
    ]  # fmt: skip
