"""What plots show: the numbers that are drawn, not the dots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import fedbandits as fb
from fedbandits.environments import Bernoulli, Classification, Linear
from fedbandits.errors import DataError
from fedbandits.experiments.plots import Look, draw_plots
from fedbandits.experiments.plots.style import coinciding, looks
from fedbandits.experiments.result import build_dataset
from fedbandits.experiments.trace import ReplicateTrace

pytestmark = pytest.mark.pictures

ROUNDS = np.array([1, 5, 20, 60])
#: Mean regret of the group in the end, by system.
FINAL = {"feducb": 30.0, "feducb-published": 100.0, "linucb-alone": 60.0}


def made(replicates=4, final=None, spread=0.1, labels=None, world=None, **noted):
    """A result as a run leaves it, with regrets that grow evenly; nothing is played."""
    final = final or FINAL
    experiment = fb.Experiment(
        rounds=60,
        replicates=replicates,
        environment=world or Linear(agents=2, dim=3, arms=4),
        systems=tuple(
            fb.system(name, label=(labels or {}).get(name, name)) for name in final
        ),
    )  # fmt: skip
    traces = []
    for number, height in enumerate(final.values()):
        for replicate in range(replicates):
            parties = experiment.environment.parties
            trace = ReplicateTrace.empty(number, replicate, ROUNDS, parties)
            sway = 1.0 + spread * (replicate - (replicates - 1) / 2.0)
            trace.regret[:] = height * sway * ROUNDS / 60.0 / parties
            trace.reward[:] = ROUNDS * 0.5
            for name, values in noted.items():
                getattr(trace, name)[:] = values[number]
            traces.append(trace)
    return build_dataset(experiment, traces, interrupted=False)


def lines(axes):
    """The thick lines of a plot by the first words of their label."""
    return {str(line.get_label()): line for line in axes.get_lines() if line.get_linewidth() > 1.3}


def said(axes):
    """All text of the legend, lines joined."""
    texts = [text.get_text().replace("\n", " ") for text in axes.get_legend().get_texts()]
    return " | ".join(texts)


def test_regret_is_per_party_with_a_band_by_students_t():
    axes = fb.plot.regret(made())
    assert axes.get_ylabel() == "regret per agent so far"
    drawn = lines(axes)
    assert list(drawn) == list(FINAL)
    assert drawn["feducb"].get_ydata()[-1] == pytest.approx(15.0)
    assert len(axes.collections) == 3
    (band,) = axes.collections[0].get_paths()
    runs = 15.0 * (1.0 + 0.1 * (np.arange(4) - 1.5))
    half = stats.t.ppf(0.975, 3) * stats.sem(runs)
    last = band.vertices[band.vertices[:, 0] == 60.0][:, 1]
    np.testing.assert_allclose([last.min(), last.max()], [15.0 - half, 15.0 + half])
    assert "95% intervals of the mean, Student's t, 4 replicates" in said(axes)


def test_the_legend_stands_beside_the_axes_in_the_order_of_the_lines():
    axes = fb.plot.regret(made())
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:3] == ["feducb-published", "linucb-alone", "feducb"]
    figure = axes.figure
    figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    assert box.x0 >= axes.get_window_extent().x1
    assert figure.bbox.containsx(box.x1)
    assert figure.bbox.containsy(box.y0)


@pytest.mark.parametrize(("count", "thin"), [(1, 0), (2, 6)])
def test_fewer_than_three_replicates_have_no_band(count, thin):
    axes = fb.plot.regret(made(count))
    assert not axes.collections
    assert sum(line.get_linewidth() < 1.0 for line in axes.get_lines()) == thin
    assert "no band" in said(axes)


def test_a_band_that_reaches_zero_leaves_logarithmic_axes_below():
    """Its lower end has no place there; it must not stretch the axis either."""
    result = made(3, {"feducb": 1.0, "feducb-published": 1000.0}, spread=0.9)
    axes = fb.plot.regret(result)
    assert axes.get_yscale() == "log"
    assert axes.get_xscale() == "log"
    lowest = min(line.get_ydata().min() for line in axes.get_lines())
    assert axes.get_ylim()[0] == pytest.approx(lowest / 2)
    assert all((path.vertices[:, 1] > 0).all() for c in axes.collections for path in c.get_paths())
    assert fb.plot.regret(result, scale="linear").get_yscale() == "linear"
    assert fb.plot.regret(made()).get_yscale() == "linear"


def test_regret_has_a_ratio_of_its_own_from_which_on_axes_are_logarithmic():
    for highest, scale in ((39.0, "linear"), (50.0, "log")):
        result = made(
            final=FINAL | {"feducb": 1.0, "feducb-published": highest, "linucb-alone": 9.0}
        )
        assert fb.plot.regret(result).get_yscale() == scale


def test_a_line_far_above_all_others_leaves_the_picture_and_is_named():
    final = {"feducb": 10.0, "linucb-alone": 12.0, "feducb-published": 40.0}  # of two agents
    axes = fb.plot.regret(made(3, final))
    assert 6.0 < axes.get_ylim()[1] < 10.0
    assert "feducb-published leaves the picture; it ends at 20" in said(axes)
    near = fb.plot.regret(made(3, {**final, "feducb-published": 34.0}))
    assert near.get_ylim()[1] > 17.0
    assert "leaves" not in said(near)
    # A scale that was asked for shows everything.
    assert fb.plot.regret(made(3, final), scale="linear").get_ylim()[1] > 20.0


def test_curves_that_coincide_share_a_line_and_are_named():
    axes = fb.plot.regret(made(final=dict.fromkeys(FINAL, 30.0) | {"linucb-alone": 60.0}))
    drawn = lines(axes)
    assert drawn["linucb-alone"].get_linestyle() == "-"
    assert {drawn[name].get_linestyle() for name in ("feducb", "feducb-published")} == {"--"}
    assert "feducb and feducb-published coincide" in said(axes)
    assert "coincide" not in said(fb.plot.regret(made()))


def test_dashes_of_a_group_cover_the_whole_line_in_turn():
    found = looks([(0, 1, 2), (3,)])
    covered = np.zeros(3, dtype=int)
    for number in range(3):
        start, (on, off) = found[number]["linestyle"]
        assert on + off == pytest.approx(3 * on)
        middles = (np.arange(3) + 0.5) * on  # of the thirds of a period
        covered += ((middles + start) % (on + off)) < on
    assert (covered == 1).all()
    assert found[3]["linestyle"] == "-"


def test_what_coincides_depends_on_the_height_of_the_plot():
    curves = [np.array([0.0, 1.0]), np.array([0.0, 1.001]), np.array([0.0, 1.01])]
    assert coinciding(curves, 0.0, 1.0) == [(0, 1), (2,)]
    assert coinciding(curves, 0.0, 100.0) == [(0, 1, 2)]
    assert coinciding([np.array([math.nan, 1.0])] * 2, 0.0, 1.0) == [(0, 1)]
    assert coinciding([np.array([math.nan, 1.0]), np.ones(2)], 0.0, 1.0) == [(0,), (1,)]


#: ε of contents over rounds: the published one looks cheap, but its message times leak.
SPENT = {"epsilon": [[0.0, 0.7, 0.9, 1.0], [0.0, 0.0, 0.02, 0.035], [0.0] * 4]}


def test_what_has_no_finite_epsilon_stands_above_all_that_has():
    axes = fb.plot.epsilon(made(**SPENT))
    figure = axes.figure
    figure.draw_without_rendering()

    def height(line):
        """Where the last point of a line is drawn, as a share of the axes."""
        x, y = line.get_transform().transform(line.get_xydata())[-1]
        return axes.transAxes.inverted().transform((x, y))[1]

    broken, sound, alone = (
        next(line for line in axes.get_lines() if str(line.get_label()).startswith(label))
        for label in ("feducb-published: ∞", "feducb: 1", "linucb-alone: 0")
    )
    assert height(broken) > 0.85 > 0.81 > height(sound) > height(alone) == pytest.approx(0.0)
    assert broken.get_xdata()[0] == 1  # that nothing is sent is seen too
    assert "∞" in [text.get_text() for text in axes.texts]
    (dashed,) = [line for line in axes.get_lines() if line not in (broken, sound, alone)]
    assert dashed.get_linestyle() == "--"
    np.testing.assert_allclose(dashed.get_ydata(), SPENT["epsilon"][1])
    assert "no finite ε (contents alone: 0.035)" in said(axes)
    assert axes.get_yticks().max() <= 1.0


def test_encryption_has_no_line_and_is_named():
    final = {"samba-ucb": 5.0, "plain-ucb": 4.0}
    result = made(final=final, world=Bernoulli(arms=2), epsilon=[[1.0] * 4, [math.inf] * 4])
    axes = fb.plot.epsilon(result)
    assert "samba-ucb: encrypted, no ε" in said(axes)
    assert list(lines(axes)) == ["plain-ucb: ∞, no finite ε"]
    assert axes.get_yticks().tolist() == [0.0]
    assert fb.plot.regret(result).get_ylabel() == "regret so far"  # one owner acts a round


def test_where_regret_is_unknown_the_reward_of_a_turn_is_drawn():
    result = made()
    result["regret"] = result.regret * math.nan
    with pytest.raises(DataError, match=r"draw fb\.plot\.reward"):
        fb.plot.regret(result)
    assert list(draw_plots(result, {})) == ["reward", "epsilon", "syncs"]
    axes = fb.plot.reward(result)
    assert axes.get_ylabel() == "reward per round, mean so far"
    np.testing.assert_allclose(lines(axes)["feducb"].get_ydata(), 0.5)


def test_words_are_those_of_the_environment():
    world = Classification(agents=2, dataset="wine", components=3)
    result = made(world=world, **SPENT)
    assert fb.plot.regret(result).get_ylabel() == "mistakes per agent so far"


def test_a_plot_is_drawn_on_the_axes_that_are_given():
    """No global state: nothing of pyplot is loaded or touched."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    result = made(syncs=[[0, 1, 2, 3]] * 3, **SPENT)
    assert fb.plot.regret(result, left) is left
    assert fb.plot.syncs(result, right) is right
    assert figure.get_size_inches().tolist() == [6.4, 4.8]
    alone = fb.plot.epsilon(result, size=(9.0, 5.0), font_size=14.0)
    assert alone.figure.get_size_inches().tolist() == [9.0, 5.0]
    assert alone.xaxis.label.get_fontsize() == 14.0


def test_theorems_are_found_in_the_configuration_that_the_result_holds():
    result = made()
    axes = fb.plot.theory(result, quantity="syncs")
    assert axes.get_ylabel() == "syncs of all parties so far"
    with pytest.raises(DataError, match="no theorem"):
        fb.plot.theory(result, quantity="messages")


def test_names_are_no_formulas_and_long_ones_are_folded_not_cut():
    name = "what we do today in our twenty hospitals, $\\frac{$"
    axes = fb.plot.regret(made(labels={"feducb": name}))
    shown = next(t for t in axes.get_legend().get_texts() if "twenty" in t.get_text())
    assert "".join(shown.get_text().split()) == "".join(name.split())
    axes.figure.draw_without_rendering()


def test_many_systems_make_a_plot_higher():
    names = {f"system {i}": float(i + 1) for i in range(30)}
    result = made().isel(system=[0]).drop_vars("system")
    many = result.isel(system=[0] * 30).assign_coords(system=list(names))
    many.attrs["claims"] = "{" + ", ".join(f'"{name}": {{}}' for name in names) + "}"
    axes = fb.plot.regret(many)
    assert axes.figure.get_figheight() > Look().size[1]


def test_a_result_makes_the_same_files_again():
    result = made(3, syncs=[[0, 1, 2, 3]] * 3, **SPENT)
    first, second = draw_plots(result, {}), draw_plots(result, {})  # takes two seconds
    assert list(first) == ["regret", "epsilon", "syncs"]
    assert first == second
    assert all(picture.png[:4] == b"\x89PNG" for picture in first.values())
    assert all(b"<svg" in picture.svg for picture in first.values())
