"""Whatever reaches a buyer is refused by name, without a trace, or the buyer does its duty."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Procurement
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.federation.exchange.broadcast import LateReportError
from fedbandits.federation.messages import Codec, pack
from fedbandits.settings.experiment import system
from fedbandits.systems.feducb.roles import SyncCall
from fedbandits.systems.pfcb import SYSTEM
from fedbandits.systems.pfcb.roles.buyer import Report
from fedbandits.systems.pfcb.roles.buying import BuyerSupply
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate
from tests.federation.receiving import refused, refused_next, snapshot, stamped, taken

WORLD = Procurement(agents=3, producers=2, max_capacity=5)
SIZE = 4  # two rows, two producers
CODEC = Codec(Report)


def before_exchange(preset="pfcb", **parts):
    """A run in which only the last inspection before the first exchange (round 4) is missing."""
    config = system(preset, **{"window": (4, 16), "schedule": "powers"} | parts).config
    run = federate(config, WORLD, 40, 0, 0)
    run.advance(3)
    for buyer in run.of("buyer"):
        decide(buyer)
    return run


def decide(buyer):
    """Have a buyer decide, and remember what for :func:`inspect`."""
    buyer.decided = buyer.decide(None)


def report(**fields):
    good = {"sender": "buyer-1", "receiver": "buyer-0", "number": 0, "release": 1, "round": 4}
    return Report(**good | {"sums": pack(np.array([4.0, 4.0, 2.0, 3.0]))} | fields)


def inspect(buyer, good):
    """Have a buyer observe that it bought what it decided on, and end a round of exchange."""
    assert buyer.observe(buyer.decided, np.array(good)) == []
    return buyer.end_round(buyer.next_end) if buyer.next_end == buyer.state.decisions else []


@pytest.mark.parametrize("waiting", [False, True])
def test_a_buyer_names_what_is_wrong_with_a_report(waiting):
    run = before_exchange()
    buyer = run.of("buyer")[0]
    if waiting:
        assert len(inspect(buyer, [1, 0])) == 2
        assert buyer.stage == "exchanging"
    for wrong, kind in (
        (report(sums=pack(np.ones(SIZE - 1))), m.WrongShapeError),
        (report(sums=b"\0" * 31), m.WrongShapeError),
        (report(sums=pack(np.array([1.0, np.nan, 1.0, 1.0]))), m.NotFiniteError),
        (report(sums=pack(np.array([1.0, np.inf, 1.0, 1.0]))), m.NotFiniteError),
        (report(sums=pack(np.full(SIZE, 1e9))), m.ImplausibleError),
        (report(sums=pack(np.full(SIZE, -1e9))), m.ImplausibleError),
        (report(sums=pack(np.array([1e200, 1.0, 1.0, 1.0]))), m.ImplausibleError),
        (report(sums=pack(np.array([1.7e308, 1.7e308, 1.0, 1.0]))), m.ImplausibleError),
        (report(sums=pack(np.array([1.0, 1.0, -1e16, 1.0]))), m.ImplausibleError),
        (report(release=3, round=16), m.OutOfOrderError),
        (report(release=0), m.OutOfOrderError),
        (report(release=-1), m.OutOfOrderError),
        (report(round=5), m.OutOfOrderError),
        (report(release=2, round=4), m.OutOfOrderError),
        (report(release=2**62), m.OutOfOrderError),
        (report(release=2**62, round=2**62), m.OutOfOrderError),
        (report(round=2**62), m.OutOfOrderError),
        (report(round=-(2**62)), m.OutOfOrderError),
        (SyncCall(sender="buyer-1", receiver="buyer-0", release=1), m.UnknownMessageError),
    ):
        refused_next(buyer, wrong, kind)
    number = buyer._links.all["buyer-1"].received
    due = stamped(buyer, report(number=number))
    refused(buyer, msgspec.structs.replace(due, version=1, terms=""), m.WrongVersionError)
    refused(buyer, stamped(buyer, due, sender="stranger"), m.WrongSenderError)
    refused(buyer, stamped(buyer, due, sender="buyer-0"), m.WrongSenderError)
    refused(buyer, stamped(buyer, due, receiver="buyer-2"), m.WrongSenderError)
    refused(buyer, due, m.WrongSenderError, link="buyer-2")
    refused(buyer, stamped(buyer, due, number=number + 100), m.TooEarlyError)
    assert taken(buyer, report()) == []
    assert buyer.receive(due).outcome == "duplicate"
    refused_next(buyer, report(), m.DuplicateError)


@pytest.mark.parametrize(
    "sums",
    [[-1, 0, 0, 0], [0, 0, -1, 0], [1, 0, 2, 0], [0.5, 0, 0, 0], [1, 0, 0.25, 0]],
    ids=["negative", "negative good", "more good than bought", "half a unit", "partly good"],
)
def test_reports_in_clear_are_of_whole_units_bought_and_good_among_them(sums):
    buyer = before_exchange("fcb").of("buyer")[0]
    refused_next(buyer, report(sums=pack(np.array(sums, float))), m.ImplausibleError)
    taken(buyer, report(sums=pack(np.array([2.0, 1.0, 1.0, 1.0]))))


def second_exchange(preset="pfcb", **parts):
    """Buyers before the exchange of round 8, which is about rounds 5 to 8."""
    run = before_exchange(preset, **parts)
    for buyer in run.of("buyer"):
        run.network.send(inspect(buyer, [0, 0]))
    run.network.settle()
    for _ in range(3):
        for buyer in run.of("buyer"):
            decide(buyer)
            inspect(buyer, [0, 0])
    decide(run.of("buyer")[0])
    return run


@pytest.mark.parametrize("preset", ["fcb", "pfcb"])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("late", [False, True])
def test_a_report_is_plausible_up_to_the_longest_batch_and_noise_that_never_is(preset, side, late):
    """Of its sender's capacities; noise has a deviation of √(4/3) k/μ, and none in clear.

    The longest batch is of 8 rounds. Where outcomes are late, the second report may be about two.
    """
    parts = {"outcomes": "late"} if late else {}
    for outside in (False, True):
        run = second_exchange(preset, **parts)
        constants, capacity = run.plan.constants, run.stage.world.capacity[1]
        assert not np.array_equal(capacity, run.stage.world.capacity[0])
        slack = 7.1305 * np.sqrt(4 / 3) * constants.scale * capacity  # Φ⁻¹(½ 10⁻¹²)
        batches = 2.0 if late else 1.0
        bound = batches * 8.0 * capacity + slack if side > 0 else -slack
        step = np.array([1.0, 0.0]) * side * (1.0 if preset == "fcb" else 1e-3 * slack)
        units = bound + (step if outside else -1e-3 * slack * side)
        sent = report(release=2, round=8, sums=pack(np.append(units, [0.0, 0.0])))
        if outside:
            refused_next(run.of("buyer")[0], sent, m.ImplausibleError)
        else:
            taken(run.of("buyer")[0], sent)


def test_running_sums_are_about_all_batches_so_far():
    run = second_exchange(privatizer="continual", epsilon=1e9)
    most = 2 * 8.0 * run.stage.world.capacity[1]
    sums = pack(np.append(most, [0.0, 0.0]))
    taken(run.of("buyer")[0], report(release=2, round=8, sums=sums))
    more = pack(np.append(most + 1.0, [0.0, 0.0]))
    sent = report(sender="buyer-2", release=2, round=8, sums=more)
    refused_next(run.of("buyer")[0], sent, m.ImplausibleError)


def test_nothing_is_taken_beyond_the_plan():
    run = before_exchange()
    run = federate(run.plan.config, WORLD, 40, 0, 0)
    run.advance(30)
    buyer = run.of("buyer")[0]
    assert buyer.state.releases == run.plan.constants.releases == 3
    assert buyer.next_end is None
    refused_next(buyer, report(release=4, round=32), m.OutOfOrderError)
    refused_next(buyer, report(release=3, round=16), LateReportError)


def test_misuse_is_the_callers_error():
    run = before_exchange()
    buyer = run.of("buyer")[0]
    before, bought = snapshot(buyer), buyer.decided
    for good in (
        np.ones(3, np.int64), np.ones(2), np.array(["1", "0"]), np.ones((1, 2), np.int64),
        [[1], [1, 0]], None, [1, 1j], np.array([1, None]),
    ):  # fmt: skip
        with pytest.raises(LocalProtocolError, match="2 whole numbers"):
            buyer.observe(bought, good)
    for number in (0, 3, 5, -1, 2**62):
        with pytest.raises(LocalProtocolError, match=f"decision {number} is not open"):
            buyer.observe(Decision(number, bought.action), np.array([0, 0]))
    for round_ in (3, 5, 8, 2**62):
        with pytest.raises(LocalProtocolError, match=f"end of round {round_}, not of 4"):
            buyer.end_round(round_)
    assert snapshot(buyer) == before
    buyer.observe(bought, np.array([1, 0]))
    before = snapshot(buyer)
    with pytest.raises(LocalProtocolError, match="decision 4 is not open"):
        buyer.observe(bought, np.array([1, 0]))
    assert snapshot(buyer) == before
    buyer.end_round(4)
    before = snapshot(buyer)
    with pytest.raises(LocalProtocolError, match="end of round 4, not of 8"):
        buyer.end_round(4)
    assert snapshot(buyer) == before


@pytest.mark.parametrize("good", [[2, 0], [0, 2], [-1, 0], [10**12, 0]])
def test_more_good_units_than_were_bought_touch_nothing(good):
    buyer = before_exchange().of("buyer")[0]
    before = snapshot(buyer)
    with pytest.raises(BoundExceededError, match="decision 4: good units must lie between"):
        inspect(buyer, good)
    assert snapshot(buyer) == before


def test_errors_do_not_tell_secrets():
    buyer = before_exchange().of("buyer")[0]
    with pytest.raises(BoundExceededError) as refusal:
        inspect(buyer, [77, 0])
    assert "77" not in str(refusal.value)


def test_a_buyer_is_told_nobody_elses_costs():
    run = before_exchange()
    for index, buyer in enumerate(run.of("buyer")):
        others = [run.stage.world.cost[j] for j in range(3) if j != index]
        held = [v for v in vars(buyer).values() if isinstance(v, np.ndarray)]
        assert not any(np.isin(np.ravel(v), other).any() for v in held for other in others)


GOOD_SETUP = {"cost": np.ones(2), "capacities": np.ones((3, 2), int)}
BAD_SETUPS = {
    "too many costs": ({"cost": np.ones(3)}, r"costs are \(2,\), capacities \(3, 2\) numbers"),
    "too few capacities": ({"capacities": np.ones((2, 2), int)}, "costs are"),
    "no number": ({"cost": np.array([np.nan, 1.0])}, "costs are numbers ≥ 0"),
    "infinite": ({"cost": np.array([np.inf, 1.0])}, "costs are numbers ≥ 0"),
    "negative cost": ({"cost": np.array([1.0, -0.1])}, "costs are numbers ≥ 0"),
    "negative capacity": ({"capacities": -np.ones((3, 2), int)}, "capacities are whole numbers ≥"),
    "half a unit": ({"capacities": np.full((3, 2), 2.5)}, "capacities are whole numbers ≥ 0"),
    "no capacity": ({"capacities": np.full((3, 2), np.nan)}, "capacities are whole numbers ≥ 0"),
    "endless": ({"capacities": np.full((3, 2), np.inf)}, "capacities are whole numbers ≥ 0"),
}


def set_up(plan, cost, capacities, noise="simulated"):
    roles = SYSTEM.roles(plan)
    supply = BuyerSupply(normals, cost, capacities)
    return roles.make(roles.acting, 0, terms_of(SYSTEM, plan, noise), supply)


@pytest.mark.parametrize("case", BAD_SETUPS)
def test_costs_and_capacities_must_fit(case):
    change, message = BAD_SETUPS[case]
    plan = before_exchange().plan
    set_up(plan, **GOOD_SETUP)
    with pytest.raises(LocalProtocolError, match=message):
        set_up(plan, **GOOD_SETUP | change)


def test_simulated_noise_is_refused_where_the_terms_promise_secure_noise():
    with pytest.raises(LocalProtocolError, match="secure noise"):
        set_up(before_exchange().plan, **GOOD_SETUP, noise="secure")
    set_up(before_exchange("fcb").plan, **GOOD_SETUP, noise="secure")  # there is none


BAD_NOISE = {
    "too little": lambda _: np.zeros(SIZE - 1), "one for all": lambda _: np.array([0.7]),
    "too much": lambda _: np.zeros((SIZE, 2)), "nan": lambda _: np.full(SIZE, np.nan),
    "infinite": lambda _: np.array([0.0, np.inf, 0.0, 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("privatizer", ["correlated", "continual"])
@pytest.mark.parametrize("case", BAD_NOISE)
def test_noise_is_checked_before_anything_is_booked(case, privatizer):
    buyer = before_exchange(privatizer=privatizer).of("buyer")[0]
    buyer.observe(buyer.decided, np.array([1, 0]))
    buyer._noise, before = BAD_NOISE[case], snapshot(buyer)
    with pytest.raises(LocalProtocolError, match="noise must be 4 finite numbers"):
        buyer.end_round(4)
    assert snapshot(buyer) == before


def test_noise_that_fails_leaves_the_round_to_be_told_again():
    buyer, good = before_exchange().of("buyer")[0], np.array([1, 0])

    def nothing_left(_):
        raise OSError("no entropy")

    buyer.observe(buyer.decided, good)
    source, buyer._noise, before = buyer._noise, nothing_left, snapshot(buyer)
    with pytest.raises(OSError, match="no entropy"):
        buyer.end_round(4)
    assert snapshot(buyer) == before
    buyer._noise = source
    twin = before_exchange().of("buyer")[0]
    assert buyer.end_round(4) == inspect(twin, good)
    np.testing.assert_array_equal(buyer.state.books.own, twin.state.books.own)


def told(sender, release, units=1.0):
    sums = pack(np.array([units, 0.0, units, 0.0]))
    return report(sender=sender, release=release, round=release, sums=sums)


def test_a_peer_may_be_one_exchange_ahead_and_no_more():
    """It may have heard all the others before this buyer has."""
    buyer = federate(system("fcb-every-round").config, WORLD, 40, 0, 0).of("buyer")[0]
    decide(buyer)
    taken(buyer, told("buyer-1", 1))
    taken(buyer, told("buyer-1", 2))
    refused_next(buyer, told("buyer-1", 3), m.OutOfOrderError)
    for claimed in (1, 3, 0):
        wrong = msgspec.structs.replace(told("buyer-1", 2), round=claimed)
        refused_next(buyer, wrong, m.OutOfOrderError)
    inspect(buyer, [0, 0])
    refused_next(buyer, told("buyer-1", 2), m.DuplicateError)
    refused_next(buyer, told("buyer-1", 3), m.OutOfOrderError)
    assert buyer.stage == "exchanging"
    known = buyer.state.books.combined.copy()
    taken(buyer, told("buyer-2", 1))
    assert buyer.stage == "ready"
    change = buyer.state.books.combined - known
    np.testing.assert_array_equal(change, 2 * np.array([[1, 0], [1, 0]]))
    taken(buyer, told("buyer-1", 3))
    refused_next(buyer, told("buyer-2", 1), LateReportError)
    decide(buyer)
    inspect(buyer, [0, 0])
    assert buyer.stage == "exchanging"
    taken(buyer, told("buyer-2", 2))
    assert buyer.stage == "ready"


def test_a_refused_report_costs_its_sender_that_report_alone():
    buyer = federate(system("fcb-every-round").config, WORLD, 40, 0, 0).of("buyer")[0]
    decide(buyer)
    refused_next(buyer, told("buyer-1", 1, 1e200), m.ImplausibleError)
    inspect(buyer, [0, 0])
    taken(buyer, told("buyer-2", 1))
    assert buyer.stage == "exchanging"
    assert taken(buyer, told("buyer-1", 1)) == []  # told again, as it should be
    assert buyer.stage == "ready"


def test_a_party_with_another_epsilon_is_told_apart_by_the_name_of_the_key():
    ours, theirs = before_exchange().of("buyer")[0], before_exchange(epsilon=2.0).of("buyer")[1]
    sent = next(r for r in inspect(theirs, [0, 0]) if r.receiver == ours.name)
    receipt = ours.receive(sent)
    assert (receipt.outcome, type(receipt.why)) == ("refused", m.OtherTermsError)
    (terms,) = receipt.outgoing
    answer = theirs.receive(terms)
    assert (answer.outcome, type(answer.why)) == ("refused", m.OtherTermsError)
    assert "settings.epsilon is 1.0 there and 2.0 here" in str(answer.why)


def normals(_):
    return np.zeros(SIZE)


envelopes = {
    "sender": st.sampled_from(["buyer-0", "buyer-1", "buyer-2", "stranger"]),
    "receiver": st.sampled_from(["buyer-0", "buyer-1"]), "number": st.integers(-1, 3),
    "version": st.integers(m.VERSION - 1, m.VERSION + 1),
    "release": st.integers(-1, 4), "round": st.integers(-1, 9),
}  # fmt: skip
sums = st.one_of(
    st.binary(max_size=40),
    st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
)


@settings(max_examples=300)
@given(st.lists(st.builds(Report, **envelopes, sums=sums), min_size=1, max_size=5), st.booleans())
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, waiting):
    run = before_exchange()
    buyer = run.of("buyer")[0]
    if waiting:
        inspect(buyer, [0, 0])
    for message in incoming:
        before = snapshot(buyer, message.sender)
        receipt = buyer.receive(stamped(buyer, message))
        if receipt.outcome in ("refused", "duplicate"):
            assert snapshot(buyer, message.sender) == before
    assert np.isfinite(buyer.state.books.combined).all()


@settings(max_examples=300)
@given(st.integers(0, 200), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    data = bytearray(CODEC.encode(report()))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        assert isinstance(CODEC.decode(bytes(data)), Report)
    with pytest.raises(m.WrongVersionError):
        CODEC.decode(msgspec.msgpack.encode({"type": "pfcb.later", "version": 9}))
