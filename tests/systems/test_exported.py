"""Final models: what is in them, what they cost, and that nothing else is read as one."""

from __future__ import annotations

import json
import math
import stat

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.errors import DataError, LocalProtocolError, OutputError, OutputExistsError
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.exported import Learned, load_model
from fedbandits.testing.applications import Setting
from fedbandits.testing.replicates import federate

WORLDS = {
    "agent": Linear(agents=2, dim=3, arms=4),
    "server": Clustered(users=6, clusters=2, servers=2, dim=3, items=4),
    "buyer": Procurement(agents=2, producers=3, max_capacity=5, instance=1),
}
PRESETS = sorted(name for name in preset_names() if find_preset(name).name != "samba")


def played(preset, rounds=53, **settings):
    """A run between two releases, its first player and that one's model."""
    found = find_preset(preset)
    world = next(world for world in WORLDS.values() if found.plays_in(type(world)))
    run = federate(system(preset, **settings).config, world, 60, 0, 0)
    run.advance(rounds)
    return run, run.players[0], run.system.export(run.plan, run.players[0])


def one_more_record(run, party):
    """The party learns what nobody has been told of."""
    situations = (run.stage.situation(r, run.players.index(party)) for r in range(54, 61))
    situation = next(
        each for each in situations
        if not hasattr(each, "user") or each.user in party.users.tolist()
    )  # fmt: skip
    decision = party.decide(situation)
    units = decision.action
    if isinstance(units, np.ndarray):
        units = np.ones_like(units)
        decision = msgspec.structs.replace(decision, action=units)
    party.observe(decision, units if isinstance(units, np.ndarray) else 1.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_model_without_own_records_does_not_depend_on_them(preset, tmp_path):
    run, party, before = played(preset)
    is_read_as_it_was_written(before, tmp_path / "model.npz")
    assert before.terms == party.terms.digest
    assert len(before.learned.names) == len(before.learned.estimate)
    one_more_record(run, party)
    after = run.system.export(run.plan, party)
    same = all(
        np.array_equal(getattr(before.learned, name), getattr(after.learned, name))
        for name in ("estimate", "gram", "counts")
    )
    assert same or before.learned.contains_own_records
    claim = run.system.claim(run.plan)
    if math.isinf(claim.mu):  # without noise releases are records, too
        assert before.learned.contains_own_records


@pytest.mark.parametrize(
    ("preset", "contains"),
    [
        ("feducb", False), ("feducb-published", True), ("feducb-nonprivate", True),
        ("feducb-p2p", False), ("fedlinucb-async", True), ("fclub", True), ("linucb-alone", True),
        ("feducb-hybrid", True), ("feducb-p2p-hybrid", True),
        ("fclub-released", False), ("fclub-clear", True), ("fclub-published", True),
        ("pfcb", True), ("pfcb-interactive", False),
    ],
)  # fmt: skip
def test_who_has_own_records_in_a_model_says_so(preset, contains, tmp_path):
    _, _, model = played(preset)
    assert model.learned.contains_own_records is contains
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        assert json.loads(file["header"].tobytes())["contains_own_records"] is contains


def is_read_as_it_was_written(model, path):
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = load_model(path)
    for name in Learned._fields:
        np.testing.assert_array_equal(getattr(again.learned, name), getattr(model.learned, name))
    plain = json.loads(json.dumps(model.claim))
    assert (again.system, again.party, again.terms) == (model.system, model.party, model.terms)
    assert again.claim == plain
    assert again.claim["holds_for"] == "nothing"  # noise was simulated
    with pytest.raises(OutputExistsError, match=r"model\.npz"):
        model.save(path)


def test_a_ridge_regression_goes_on_from_a_model():
    """With its Gram matrix as prior it learns as if it had seen what the party has."""
    run, party, model = played("feducb")
    known, pool = model.learned, party.state.pool
    np.testing.assert_allclose(
        np.einsum("mij,mj->mi", known.gram, known.estimate), pool.moment, rtol=1e-9, atol=1e-12
    )
    context, reward = np.full(3, 0.5), 0.7
    gram = known.gram[0] + np.outer(context, context)
    moment = known.gram[0] @ known.estimate[0] + reward * context
    direct = np.linalg.solve(pool.gram[0] + np.outer(context, context), pool.moment[0]
                             + reward * context)  # fmt: skip
    np.testing.assert_allclose(np.linalg.solve(gram, moment), direct, rtol=1e-9)
    assert run.done == 53


@pytest.mark.parametrize(
    ("preset", "confidence"),
    [
        ("linucb-alone", "adaptive"),
        ("linucb-alone", "deviations"),
        ("feducb-hybrid", "deviations"),
        ("feducb-p2p-hybrid", "deviations"),
    ],
)
def test_a_view_of_own_records_gives_the_estimate_that_arms_are_scored_with(preset, confidence):
    """A record is in it once as soon as it is known: V grows by xxᵀ, and V θ by xy."""
    run, party, before = played(preset, confidence=confidence)
    known, situation = before.learned, run.stage.situation(54, 0)
    decision = party.decide(situation)
    context = situation[:, decision.action].astype(np.float64)
    party.observe(decision, 0.5)
    after = run.system.export(run.plan, party).learned
    np.testing.assert_allclose(after.gram[0] - known.gram[0], np.outer(context, context), atol=1e-6)
    moved = after.gram[0] @ after.estimate[0] - known.gram[0] @ known.estimate[0]
    np.testing.assert_allclose(moved, 0.5 * context, atol=1e-6)


def test_a_buyers_model_is_of_qualities():
    _, _, model = played("pfcb")
    known = model.learned
    assert ((known.estimate >= 0) & (known.estimate <= 1)).all()
    np.testing.assert_array_equal(known.gram[:, 0, 0], known.counts)
    assert known.counted == "units"


def test_who_learns_nothing_has_no_model():
    run, _, _ = played("feducb")
    with pytest.raises(LocalProtocolError, match="controller of feducb has no model"):
        run.system.export(run.plan, run.one("controller"))
    setting = Setting("distributed-ucb")
    owners = setting.begin(lambda party: party)
    with pytest.raises(LocalProtocolError, match="owner of samba has no model"):
        setting.system.export(setting.plan, owners.players[0])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    played("feducb")[2].save(path)
    return path


@settings(max_examples=60)
@given(place=st.floats(0, 1), bit=st.integers(0, 7), keep=st.floats(0, 1), cut=st.booleans())
def test_a_damaged_file_is_refused_by_name(written, place, bit, keep, cut):
    data = bytearray(written.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1 << bit
    damaged = written.with_name("damaged.npz")
    damaged.write_bytes(data[: int(keep * len(data))] if cut else data)
    try:
        model = load_model(damaged)
    except DataError as error:
        assert "not a model" in str(error)  # noqa: PT017
    else:  # what is not checked by the format is no number
        assert np.isfinite(model.learned.gram).all()


@pytest.mark.parametrize(
    "change",
    [
        {"estimate": np.zeros((1, 2))},
        {"estimate": np.full((1, 3), np.nan)},
        {"gram": np.arange(9.0).reshape(1, 3, 3)},
        {"gram": np.zeros((1, 3, 3), np.float32)},
        {"counts": np.zeros(2)},
        {"header": np.frombuffer(b"[]", np.uint8)},
        {"header": np.frombuffer(b'{"format": 1}', np.uint8)},
        {"header": np.array([{"a": 1}], object)},
    ],
)
def test_other_arrays_are_no_model(written, change, tmp_path):
    with np.load(written) as file:
        arrays = {name: file[name] for name in file.files}
    path = tmp_path / "other.npz"
    np.savez(path, **{**arrays, **change})
    with pytest.raises(DataError, match="not a model"):
        load_model(path)
    with pytest.raises(DataError, match="not a model"):
        load_model(tmp_path / "missing.npz")


def test_a_model_is_whole_or_not_there(tmp_path, monkeypatch):
    _, _, model = played("fclub-clear")

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OutputError, match="No space"):
        model.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []
