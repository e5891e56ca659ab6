"""Published FCLUB with the noise of a deployment: covered sums, and the paper's releases of them.

What leaves is a linear function of covered values. It must have the paper's mean and covariance,
and no record may move what is covered by more than is claimed.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import BudgetExceededError, NoiseError, ReleaseRefusedError
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import mu as price
from fedbandits.privacy.ledger import Ledger, LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.experiment import system
from fedbandits.systems import find_system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.fclub_published.messages import Partition, PhaseReport, Upload
from fedbandits.systems.fclub_published.noise import (
    new_covered_tree,
    take_for_renewal,
    take_for_report,
    take_for_upload,
)
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.testing.replicates import federate, plan_of
from fedbandits.testing.restored import MortalParty

WORLD = Clustered(users=4, clusters=2, servers=2, dim=2, items=3)
SIZE = 5
DIAGONAL = [0, 2]
CONFIG = system("fclub-published", alpha1=9.0, delta=1e-3).config
PLAN = plan_of(CONFIG, WORLD, 60)
DEVIATIONS = PLAN.constants.noise_scale * PLAN.constants.entry_scale

events = st.lists(st.sampled_from(["report", "renew", "upload"]), max_size=40)


def nodes_of(release):
    """The nodes whose noise is in a perturbation of the paper's tree."""
    found = np.zeros(256)
    while release:
        found[release] = 1.0
        release &= release - 1
    return found


class Played:
    """One cluster's tree through events; what left, and which perturbation the paper puts on it.

    A server uploads nothing between a report and the renewal that answers it: what has left since
    a report is answered by none.
    """

    def __init__(self, happened, records, cover):
        self.left, self.exact, self.noise = [], [], []
        self.tree, self.total, self.plan, self.cover = new_covered_tree(PLAN), 0.0, PLAN, cover
        self.taken = self.waiting = 0
        self.reported = self.begun = np.zeros(SIZE)
        self.happened("report", np.zeros(SIZE))
        self.happened("renew", np.zeros(SIZE))
        for event, record in zip(happened, records, strict=True):
            self.happened(event, record)

    def happened(self, event, record):
        self.total = self.total + record
        if event == "report":
            self.tree, noisy = take_for_report(self.plan, self.tree, self.total, self.cover)
            self.taken += 1
            self.left.append(noisy)
            self.exact.append(self.total)
            self.noise.append(nodes_of(self.taken))
            self.reported = self.total
        elif event == "renew" and self.waiting < self.taken:  # nothing has left since the report
            self.tree = take_for_renewal(self.plan, self.tree, self.cover)
            self.taken = self.waiting = self.taken + 1
            self.begun = self.reported
        elif event == "upload":
            records = self.total - self.begun
            self.tree, noisy = take_for_upload(self.plan, self.tree, records, self.cover)
            self.left.append(noisy)
            self.exact.append(records)
            self.noise.append(nodes_of(self.waiting) - nodes_of(self.waiting - 1))
            self.taken = self.waiting = self.taken + 1
            self.begun = self.total


class Listening:
    """Covers with given noise; keeps what it covers."""

    def __init__(self, noise=()):
        self.noise, self.covered = noise, []

    def __call__(self, values):
        step = len(self.covered)
        self.covered.append(values)
        return values + (self.noise[step] if step < len(self.noise) else 0.0)


def played(happened, records, noise=()):
    cover = Listening(noise)
    return Played(happened, records, cover), np.array(cover.covered)


#: A release of the same level is made while one waits: each has its own place.
OVERTAKEN = ["upload"] * 4 + ["report"] * 4 + ["upload"] * 3


@settings(max_examples=80)
@given(events, st.integers(0, 2**32 - 1))
@example(OVERTAKEN, 0)
def test_what_leaves_has_the_papers_mean_and_covariance(happened, seed):
    records = np.random.default_rng(seed).normal(size=(len(happened), SIZE))
    bare, covered = played(happened, records)
    np.testing.assert_allclose(bare.left, bare.exact, atol=1e-9)
    map_ = []  # from every draw to all that leaves, in the first number
    for step in range(len(covered)):
        noise = np.zeros((len(covered), SIZE))
        noise[step] = 1.0
        noisy, _ = played(happened, records, noise)
        map_.append((np.array(noisy.left) - bare.left)[:, 0] / DEVIATIONS[0])
    map_ = np.array(map_).T
    papers = np.array(bare.noise)
    np.testing.assert_allclose(map_ @ map_.T, papers @ papers.T, atol=1e-9)


@settings(max_examples=80)
@given(events, st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_no_record_moves_what_is_covered_by_more_than_is_claimed(happened, place, seed):
    """A record of norm 2 moves √2 times what it moves in a plain tree, at most."""
    records = np.random.default_rng(seed).normal(size=(len(happened), SIZE))
    if not happened:
        return
    moved = records.copy()
    moved[place % len(happened), 1] += 2.0  # off the diagonal
    apart = played(happened, records)[1] - played(happened, moved)[1]
    levels = int(PLAN.tree.releases).bit_length()
    assert np.linalg.norm(apart) <= np.sqrt(2 * levels) * 2.0 / PLAN.tree.scale + 1e-9


def test_some_record_moves_two_nodes_a_level():
    """It comes after reports that wait for no answer: an upload has it, and they have not."""
    happened = ["upload"] * 6 + ["report"] * 7 + ["upload", "report"] + ["upload"] * 8
    records = np.zeros((len(happened), SIZE))
    moved = records.copy()
    moved[13, 1] = 2.0
    (run, one), (_, two) = played(happened, records), played(happened, moved)
    worst = np.linalg.norm(one - two) / (2.0 / PLAN.tree.scale)
    assert run.taken.bit_length() == 5
    assert worst**2 == pytest.approx(8.0)  # releases 8 and 17, and what is made of them


def test_a_tree_refuses_what_it_was_not_made_for():
    plan = plan_of(system("fclub-published", privatizer="published(1)").config, WORLD, 2)
    tree, cover = new_covered_tree(plan), Listening()
    for _ in range(plan.tree.releases):
        tree, _ = take_for_report(plan, tree, np.zeros(SIZE), cover)
    with pytest.raises(ReleaseRefusedError, match="its tree has no perturbation left"):
        take_for_report(plan, tree, np.zeros(SIZE), cover)


# ------------------------------------------------------------------ whole parties


class Source:
    """Covers with simulated noise, or says zero; keeps what it was given."""

    def __init__(self, seed=None, silent=False):
        self.rng, self.silent, self.seen = np.random.default_rng(seed), silent, {}

    def cover(self, step, values):
        assert step == len(self.seen) + 1, "steps are asked for one after the other"
        self.seen[step] = values.copy()
        return np.zeros_like(values) if self.silent else values + self.rng.normal(size=values.size)


def begin(make=lambda place: SecureNoise(), world=WORLD, rounds=60, **parts):
    """A run with a source for every server, and the sources."""
    config = system("fclub-published", **{"alpha1": 9.0, "delta": 1e-3} | parts).config
    sources = [make(place) for place in range(world.servers)]
    run = federate(
        config, world, rounds, 0, 0,
        supplies=lambda role, place: ServerSupply(sources[place]) if role == "server" else None,
    )  # fmt: skip
    return run, sources


def sent(run, *kinds):
    return [m for _, m in run.network.transcript.deliveries if isinstance(m, kinds)]


@pytest.mark.parametrize("acts_on", ["buffered", "synchronized"])
@pytest.mark.parametrize("alpha1", [0.3, 9.0])
def test_secure_noise_plays_a_whole_run_that_nobody_can_foresee(acts_on, alpha1):
    seen = []
    for _ in range(2):
        run, _ = begin(acts_on=acts_on, alpha1=alpha1)
        run.advance(60)
        assert run.done == 60
        assert sent(run, Upload)
        seen.append(np.frombuffer(sent(run, PhaseReport)[0].sums))
    assert (seen[0][:-1] != seen[1][:-1]).all()
    assert seen[0][-1] == seen[1][-1] == 0.0


def test_all_that_is_released_is_made_of_covered_values():
    """Where the source says zero all is zero, but for shifts and public counts."""
    run, sources = begin(lambda _: Source(silent=True))
    run.advance(60)
    for kind, times in ((PhaseReport, 2.0), (Upload, 3.0)):
        for message in sent(run, kind):
            rows = np.frombuffer(message.sums).reshape(-1, SIZE + 1)[:, :-1].copy()
            rows[:, DIAGONAL] -= times * run.plan.constants.shift
            assert (rows == 0.0).all()
    assert sent(run, Upload)
    for source in sources:
        assert any(np.abs(values).max() > 0.0 for values in source.seen.values())


def test_reports_and_uploads_hold_the_records_that_they_should():
    """Covered by nothing, they are sums of records."""
    run, _ = begin(lambda _: type("Bare", (), {"cover": lambda self, step, values: values})())
    run.advance(60)
    constants = run.plan.constants
    for kind, times in ((PhaseReport, 2.0), (Upload, 3.0)):
        for message in sent(run, kind):
            for row in np.frombuffer(message.sums).reshape(-1, SIZE + 1).copy():
                row[DIAGONAL] -= times * constants.shift
                assert row[DIAGONAL].sum() == pytest.approx(row[-1], abs=1e-4)  # ‖x‖ = 1
                assert abs(row[3:5]).max() <= row[-1] + 1e-9
    server = run.of("server")[0]
    last = [m for m in sent(run, PhaseReport) if m.sender == server.name][-1]
    row = np.frombuffer(last.sums)[:-1].copy()
    row[DIAGONAL] -= 2.0 * constants.shift
    np.testing.assert_allclose(row, server.state.reported[0, :-1], atol=1e-8)


def replay(records, seed):
    """All items of a round are alike, and rewards are given: one log, whatever is decided."""
    run, sources = begin(lambda place: Source((seed, place)))
    for round_, (user, context, reward) in enumerate(records, 1):
        server = run.players[run.plan.facts.home[user]]
        items = np.tile(context[:, None], WORLD.items).astype(np.float32)
        run.network.send(server.observe(server.decide(Arrival(round_, user, items)), reward))
        run.network.settle()
        run.end_round(round_)
    return run, [source.seen for source in sources]


@pytest.mark.parametrize("seed", range(6))
def test_no_record_of_a_run_moves_what_is_covered_by_more_than_is_claimed(seed):
    rng = np.random.default_rng(seed)

    def unit():
        drawn = rng.normal(size=2)
        return (1.0 - 1e-6) * drawn / np.linalg.norm(drawn)

    records = [(int(rng.integers(4)), unit(), float(rng.integers(2))) for _ in range(60)]
    place = int(rng.integers(60))
    other = list(records)
    user, context, reward = records[place]
    other[place] = (user, context[::-1] * [1, -1], 1.0 - reward)
    (run, one), (again, two) = replay(records, seed), replay(other, seed)
    kinds = [[type(m) for m in sent(r, Upload, PhaseReport, Partition)] for r in (run, again)]
    assert kinds[0] == kinds[1], "times and partitions stay as they are on these logs"
    apart = [
        np.sqrt(sum(np.sum((a[k] - b[k]) ** 2) for k in a)) for a, b in zip(one, two, strict=True)
    ]
    mine = run.plan.facts.home[user]
    claim = find_system("fclub_published").claim(run.plan)
    assert 0.0 < apart[mine] <= claim.mu * (1 + 1e-6)
    assert apart[1 - mine] == 0.0


def ledgered(ledger, parties, budget=1.0):
    """Sources that pay, for accounts that are opened here."""
    plan = plan_of(CONFIG, WORLD, 60)
    claim = find_system("fclub_published").claim(plan)
    with ledger.begin() as connection:
        for party in parties:
            ledger.open_account(connection, party, claim, budget, 1e-3)
    return lambda place: LedgeredNoise(
        ledger, parties[place], "releases", plan.event, SecureNoise()
    )


PARTIES = ("server-0", "server-1")


def test_a_server_pays_for_every_step_and_ends_at_most_at_its_claim(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        run, _ = begin(ledgered(ledger, PARTIES))
        run.advance(60)
        claim = run.system.claim(run.plan)
        with ledger.read() as connection:
            ledger.verify(connection)
            for party in run.players:
                statement = ledger.statement(connection, party.name)
                kept = ledger.draws(connection, party.name, "releases")
                assert statement.charges == len(kept) == party.state.steps > 10
                assert 0.5 * claim.mu < statement.spent_mu <= claim.mu * (1 + 1e-12)
                assert all(np.isfinite(draw).all() for draw in kept)


def test_what_would_overspend_does_not_leave(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        claim = find_system("fclub_published").claim(PLAN)
        budget = gaussian.epsilon_of(0.5 * (price(PLAN.event(1)) + claim.mu), 1e-3)
        run, _ = begin(ledgered(ledger, PARTIES, budget))
        with pytest.raises(BudgetExceededError):
            run.advance(60)
        with ledger.read() as connection:
            charged = [ledger.statement(connection, name).charges for name in PARTIES]
        assert charged == [server.state.steps for server in run.players]
        assert min(charged) >= 1


def test_the_price_of_steps_rises_to_what_is_claimed():
    prices = [price(PLAN.event(k)) for k in range(1, 3 * PLAN.tree.releases)]
    claim = find_system("fclub_published").claim(PLAN)
    assert prices == sorted(prices)
    assert prices[-1] == pytest.approx(claim.mu, rel=1e-12)
    assert prices[0] >= 2.0 / PLAN.tree.scale


def test_noise_that_fails_leaves_everything_as_it_was():
    class Failing(Source):
        def cover(self, step, values):
            if self.seen and len(self.seen) == self.fails_at:
                raise NoiseError("no entropy")
            return super().cover(step, values)

    Failing.fails_at = 1
    run, sources = begin(Failing)
    Failing.fails_at = len(sources[0].seen)
    server = run.of("server")[0]
    decision = server.decide(Arrival(1, 0, np.full((2, 3), 0.5, np.float32)))
    before = server.dump()
    with pytest.raises(NoiseError, match="no entropy"):
        server.observe(decision, 1.0)
    assert server.dump() == before
    Failing.fails_at = -1
    assert len(server.observe(decision, 1.0)) == 1


class Named:
    """Covers with noise by the number of a step: the same after a restart."""

    def __init__(self, place):
        self.place = place

    def cover(self, step, values):
        return values + np.random.default_rng((self.place, step)).normal(size=values.size)


@pytest.mark.parametrize("alpha1", [0.3, 9.0])
def test_a_deployed_server_can_be_killed_at_every_event(alpha1):
    config = system("fclub-published", alpha1=alpha1).config
    found, counted = find_system("fclub_published"), Counter()
    plan = plan_of(config, WORLD, 40)
    run = PartiesReplicate(
        found, plan, WORLD, 0, 0,
        supplies=lambda role, place: ServerSupply(Named(place)) if role == "server" else None,
        embody=lambda make: MortalParty(make, counted),
    )  # fmt: skip
    run.advance(40)
    assert run.done == 40
    assert counted.total() > 100
