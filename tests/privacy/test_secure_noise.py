from __future__ import annotations

import ast
import copy
import inspect
import math
import os
import pickle
import random
import types
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from fedbandits.errors import BoundExceededError, NoiseError
from fedbandits.privacy import running_sum, secure_noise
from fedbandits.privacy.continual import ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.running_sum import init, release, release_once, renamed
from fedbandits.privacy.secure_noise import (
    GRID_BITS,
    SecureNoise,
    discrete_gaussians,
    opendp_sampler,
)
from fedbandits.random import Purpose, normals, replicate_key

STEP = 2.0**-GRID_BITS
KEY = replicate_key(3, 1)


def simulated(size):
    return lambda k: normals(size, KEY, 0, k, Purpose.PRIVACY_NOISE)


class Covering:
    """The same noise as a simulated source, added where a secure one adds it."""

    def __init__(self, noise):
        self.noise, self.seen = noise, []

    def cover(self, step, values):
        self.seen.append(values.copy())
        return values + self.noise(step).reshape(values.shape)


def seeded(monkeypatch, seed=5):
    """The sampler's randomness from seeds: words from one generator, further bits from another."""
    words, bits = random.Random(seed), random.Random(seed + 1)  # noqa: S311 - must be repeatable
    fake = types.SimpleNamespace(token_bytes=words.randbytes, randbits=bits.getrandbits)
    monkeypatch.setattr(secure_noise, "secrets", fake)


def exp_between(fraction, terms=200):
    """Fractions below and above exp(-fraction), by its alternating series."""
    total, term = Fraction(0), Fraction(1)
    for number in range(terms):
        total += term
        term *= -fraction / (number + 1)
    return min(total, total + term), max(total, total + term)


class TestSampler:
    @pytest.mark.parametrize("deviation", [1, 2, 3, 7])
    @pytest.mark.parametrize("tolerance", [secure_noise.TOLERANCE, 2.0])
    def test_samples_have_the_stated_probabilities(self, monkeypatch, deviation, tolerance):
        """With a tolerance of 2, float64 decides nothing."""
        seeded(monkeypatch)
        count = 200_000 if tolerance < 1.0 else 5_000
        samples = np.array(discrete_gaussians(deviation, count, tolerance))
        reach = 3 * deviation
        values = np.arange(-reach, reach + 1)
        weight = np.exp(-(values**2) / (2.0 * deviation**2))
        far = 2 * sum(math.exp(-(v**2) / (2 * deviation**2)) for v in range(reach + 1, 99))
        expected = np.append(weight, far) / (weight.sum() + far) * count
        observed = [int((samples == v).sum()) for v in values]
        observed.append(count - sum(observed))
        assert chisquare(observed, expected).pvalue > 1e-5

    def test_at_the_grid_s_size_it_is_a_gaussian(self, monkeypatch):
        seeded(monkeypatch)
        samples = np.array(secure_noise.own_sampler(100_000), dtype=np.float64) * STEP
        assert kstest(samples, "norm").pvalue > 1e-3
        assert abs((samples**4).mean() - 3.0) < 0.1
        assert len(set(samples)) == 100_000

    @pytest.mark.parametrize("deviation", [1, 5, 1 << 20, 1 << GRID_BITS, 1 << 50])
    def test_float64_decides_as_real_numbers_do(self, monkeypatch, deviation):
        found = []
        for tolerance in (secure_noise.TOLERANCE, 2.0**-8, 2.0):
            seeded(monkeypatch)
            found.append(discrete_gaussians(deviation, 500, tolerance))
        assert found[0] == found[1] == found[2]

    @given(st.integers(0, 2**64 - 1), st.integers(0, 40 << 10), st.integers(1, 1 << 10))
    def test_a_number_is_below_an_exponential_exactly_if_it_is(self, word, numerator, denominator):
        low, high = exp_between(Fraction(numerator, denominator))
        assume(Fraction(word + 1, 2**64) <= low or Fraction(word, 2**64) >= high)
        below = secure_noise.Uniform(word).is_below_exp(numerator, denominator)
        assert below == (Fraction(word + 1, 2**64) <= low)

    @pytest.mark.parametrize("further", [-1, 0, 1])
    def test_bits_beyond_the_first_word_decide_where_it_cannot(self, monkeypatch, further):
        """U begins like exp(-1/2); its second word is that of exp(-1/2), or one to either side."""
        low, high = exp_between(Fraction(1, 2))
        digits = int(low * 2**192)
        assert digits == int(high * 2**192)
        words = [digits >> shift & (2**64 - 1) for shift in (128, 64, 0)]
        rest = iter([words[1] + further, words[2] - 5])
        fake = types.SimpleNamespace(randbits=lambda _: next(rest))
        monkeypatch.setattr(secure_noise, "secrets", fake)
        assert secure_noise.Uniform(words[0]).is_below_exp(1, 2) == (further <= 0)

    @pytest.mark.parametrize("deviation", [0, (1 << 50) + 1, 1.5, 2.0, float("nan"), "2"])
    def test_a_deviation_out_of_range_is_refused(self, deviation):
        with pytest.raises(ValueError, match="at least 1"):
            discrete_gaussians(deviation, 1)

    def test_numpy_s_whole_numbers_will_do(self):
        assert len(discrete_gaussians(np.int64(1 << 40), 3)) == 3


class TestNoSeedReachesIt:
    def test_all_randomness_is_the_operating_system_s(self, monkeypatch):
        asked, real = [], os.urandom

        def urandom(count):
            asked.append(count)
            return real(count)

        monkeypatch.setattr(random, "_urandom", urandom)
        SecureNoise().cover(1, np.zeros(10))
        assert sum(asked) >= 10 * GRID_BITS // 8

    def test_seeding_every_generator_changes_nothing(self):
        drawn = []
        for _ in range(2):
            random.seed(1)
            np.random.seed(1)  # noqa: NPY002 - the global generator is what must not matter
            normals(4, KEY, 0, 1, Purpose.PRIVACY_NOISE)
            drawn.append(SecureNoise().cover(1, np.zeros(8)))
        assert (drawn[0] != drawn[1]).all()

    def test_nothing_can_be_seeded(self):
        for module in (secure_noise, secure_noise):
            tree = ast.parse(inspect.getsource(module))
            imported = {
                getattr(node, "module", None) or alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            assert not imported & {"random", "fedbandits.random", "numpy.random"}
        assert list(inspect.signature(SecureNoise).parameters) == ["sampler"]

    def test_a_step_asked_twice_gets_new_noise(self):
        source = SecureNoise()
        assert (source.cover(1, np.zeros(5)) != source.cover(1, np.zeros(5))).all()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_forked_process_has_noise_of_its_own(self):
        source = SecureNoise()
        source.cover(1, np.zeros(3))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, source.cover(2, np.zeros(3)).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = np.frombuffer(os.read(read, 24))
        os.close(read)
        os.close(write)
        assert (theirs != source.cover(2, np.zeros(3))).all()


def counting(asked):
    """A sampler of numbers that never repeat; notes how many it is asked for."""

    def sample(count):
        first = sum(asked)
        asked.append(count)
        return range(first, first + count)

    return sample


class TestDrawnAhead:
    """How long a sample takes tells of it (Jin et al. 2022): nobody may wait for one."""

    def test_to_cover_draws_nothing_then(self):
        asked = []
        source = SecureNoise(counting(asked))
        source.draw_ahead(5)
        source.draw_ahead(4)  # they are there
        assert asked == [5]
        first, second = source.cover(1, np.zeros(2)), source.cover(2, np.zeros((1, 3)))
        assert asked == [5]
        np.testing.assert_array_equal(np.append(first, second) / STEP, np.arange(5))
        source.cover(3, np.zeros(1))
        assert asked == [5, 1]

    def test_no_number_covers_two_values(self):
        source = SecureNoise(counting([]))
        taken = []
        for step in range(20):
            source.draw_ahead(step % 4)
            taken += (source.cover(step, np.zeros(3)) / STEP).tolist()
        assert len(set(taken)) == len(taken) == 60

    def test_two_threads_share_no_number(self):
        source, taken = SecureNoise(counting([])), []
        source.draw_ahead(4000)
        with ThreadPoolExecutor(4) as threads:
            for covered in threads.map(lambda k: source.cover(k, np.zeros(10)), range(400)):
                taken += (covered / STEP).tolist()
        assert sorted(taken) == list(range(4000))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    @pytest.mark.parametrize("whole", [False, True])
    def test_a_forked_process_leaves_its_parents_noise_alone(self, whole):
        source, deviations = SecureNoise(), np.full(3, 2.0**40)
        if whole:
            source.draw_whole_ahead(deviations)
        else:
            source.draw_ahead(3)

        def covered():
            nothing = np.zeros(3)
            if whole:
                return source.cover_whole(1, nothing, deviations)
            return source.cover(1, nothing)

        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, covered().tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = np.frombuffer(os.read(read, 24))
        os.close(read)
        os.close(write)
        assert not set(theirs) & set(covered())

    @pytest.mark.parametrize(
        "again", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
    )
    def test_a_copy_has_noise_of_its_own(self, again):
        source = SecureNoise()
        source.draw_ahead(3)
        other = again(source)
        other.draw_ahead(3)
        assert not set(other.cover(1, np.zeros(3))) & set(source.cover(1, np.zeros(3)))

    def test_it_is_not_shown(self):
        source = SecureNoise()
        source.draw_ahead(1)
        telling = repr(source._ahead[0])
        for shown in (repr(source), str(source), f"{source}", repr((source,)), repr([source])):
            assert telling not in shown
        assert not hasattr(source, "__dict__")

    def test_whoever_asks_again_after_a_failure_waits_for_no_draw_either(self):
        asked = []
        source = SecureNoise(counting(asked))
        source.draw_ahead(2)

        class Failing:
            failed = False

            def cover(self, step, values):
                covered = source.cover(step, values)  # used up, whatever becomes of it
                if not self.failed:
                    self.failed = True
                    raise OSError("the disk is full")
                return covered

            def draw_ahead(self, count):
                source.draw_ahead(count)

        plan, failing = ContinualPlan("toeplitz", 3, 1.0), Failing()
        state = init(plan, 2)
        with pytest.raises(OSError, match="disk"):
            release(plan, state, np.zeros(2), np.ones(2), failing)
        assert asked == [2, 2]
        state, _ = release(plan, state, np.zeros(2), np.ones(2), failing)
        assert asked == [2, 2]
        np.testing.assert_array_equal(state.draws[0] / STEP, [2.0, 3.0])

    @pytest.mark.parametrize("given", [0, 2, 4])
    def test_a_sampler_that_miscounts_is_refused(self, given):
        source = SecureNoise(lambda _: [1] * given)
        for ask in (lambda: source.draw_ahead(3), lambda: source.cover(1, np.zeros(3))):
            with pytest.raises(NoiseError, match="asked for 3 samples"):
                ask()

    @given(
        values=st.lists(st.floats(-1e20, 1e20), min_size=1, max_size=5),
        sample=st.integers(-(2**53), 2**53),
    )
    def test_sums_are_those_of_whole_numbers(self, values, sample):
        """In float64 as in Python's whole numbers, whose adding takes longer for long ones."""
        covered = SecureNoise(lambda count: [sample] * count).cover(1, np.array(values))
        exact = [float(int(np.rint(value / STEP)) + sample) * STEP for value in values]
        np.testing.assert_array_equal(covered, exact)


class TestGrid:
    @pytest.mark.parametrize("sampler", [None, "opendp"])
    def test_covered_values_are_whole_steps_and_noisy(self, sampler):
        source = SecureNoise(opendp_sampler() if sampler else None)
        values = np.linspace(-3.0, 3.0, 400)
        covered = source.cover(1, values)
        np.testing.assert_array_equal(covered / STEP, np.rint(covered / STEP))
        assert 0.8 < (covered - values).std() < 1.2

    def test_values_off_the_grid_are_rounded_to_it(self):
        source = SecureNoise(lambda count: [7] * count)
        np.testing.assert_array_equal(source.cover(1, np.array([0.4 * STEP])), [7 * STEP])
        np.testing.assert_array_equal(source.cover(1, np.array([-5.6 * STEP])), [STEP])

    @pytest.mark.parametrize("value", [2.0**23, -(2.0**30), 1e15])
    def test_no_sum_is_too_large(self, value):
        """A refusal that depends on data would tell of it."""
        covered = SecureNoise(lambda _: [1 << GRID_BITS]).cover(1, np.array([value]))
        np.testing.assert_array_equal(covered, [value + 1.0])

    def test_shapes_stay(self):
        assert SecureNoise(lambda count: [0] * count).cover(1, np.ones((2, 3))).shape == (2, 3)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_what_does_not_fit_is_refused_before_anything_is_drawn(self, value):
        source = SecureNoise(lambda _: pytest.fail("drawn"))
        with pytest.raises(BoundExceededError):
            source.cover(1, np.array([0.0, value]))


@pytest.mark.parametrize("mechanism", ["tree", "toeplitz", "optimal"])
@pytest.mark.parametrize("releases", [1, 2, 7, 16, 33])
def test_covering_is_the_same_mechanism_as_adding(mechanism, releases):
    pattern = noise_pattern(1, 3)
    plan = ContinualPlan(mechanism, releases, 4.0)
    batches = np.random.default_rng(1).normal(size=(releases, len(pattern))) * 10
    covering = Covering(simulated(len(pattern)))
    one = two = init(plan, len(pattern))
    for k in range(releases):
        total = batches[: k + 1].sum(axis=0)
        one, added = release(plan, one, total, pattern, simulated(len(pattern)))
        two, covered = release(plan, two, total, pattern, covering)
        np.testing.assert_allclose(covered, added, atol=1e-9)


@given(
    mechanism=st.sampled_from(["tree", "toeplitz", "optimal"]),
    releases=st.integers(1, 40),
    data=st.data(),
)
def test_a_record_moves_covered_values_by_what_is_charged_and_no_more(mechanism, releases, data):
    """The vector of all that is covered: its distance between neighbours is μ, at most."""
    plan, size = calibrated(mechanism, releases, 0.5, 1.0), 5
    batch = data.draw(st.integers(0, releases - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    batches = rng.normal(size=(releases, size)) * 1e4
    change = rng.normal(size=size)
    change /= np.linalg.norm(change)  # a record norm, in the noise's own measure
    seen = []
    for extra in (0.0, change):
        ours = batches.copy()
        ours[batch] += extra
        covering, state = Covering(lambda _: np.zeros(size)), init(plan, size)
        for k in range(releases):
            total = ours[: k + 1].sum(axis=0)
            state, _ = release(plan, state, total, np.ones(size), covering)
        seen.append(np.array(covering.seen))
    moved = np.linalg.norm(seen[0] - seen[1])
    assert moved <= 0.5
    # The first batch is in all of them; the optimal encoder moves as far for every batch.
    if mechanism == "optimal" or (batch == 0 and mechanism == "toeplitz"):
        assert moved >= 0.5 * (1 - 2 * ROUNDING_MARGIN)


def test_a_single_release_is_covered_too():
    pattern, values = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    added = release_once(3.0, values, pattern, 4, simulated(2))
    covered = release_once(3.0, values, pattern, 4, Covering(simulated(2)))
    np.testing.assert_allclose(covered, added)
    np.testing.assert_allclose(added - values, 3.0 * pattern * simulated(2)(4))


def test_a_renamed_source_is_asked_for_other_steps():
    covering = Covering(simulated(2))
    expected = simulated(2)(7)
    np.testing.assert_array_equal(renamed(simulated(2), lambda k: k + 4)(3), expected)
    source = renamed(covering, lambda k: k + 4)
    assert isinstance(source, running_sum.CoveringNoise)
    np.testing.assert_array_equal(source.cover(3, np.zeros(2)), expected)


@pytest.mark.parametrize("bad", [np.zeros(3), np.array([0.0, math.nan])])
def test_noise_that_is_none_is_refused_and_nothing_is_booked(bad):
    plan, state = ContinualPlan("toeplitz", 3, 1.0), init(ContinualPlan("toeplitz", 3, 1.0), 2)
    with pytest.raises(NoiseError, match="2 finite numbers"):
        release(plan, state, np.zeros(2), np.ones(2), lambda _: bad)
    assert state.made == 0


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    import builtins

    from fedbandits.errors import MissingExtraError

    real = builtins.__import__

    def no_opendp(name, *args, **kwargs):
        if name.startswith("opendp"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_opendp)
    with pytest.raises(MissingExtraError, match="install the extra 'noise'"):
        opendp_sampler()
