"""Each kind of bad input has its name, at the party that meets it, and changes nothing."""

from __future__ import annotations

import contextlib

import gmpy2
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.crypto import aead, paillier
from fedbandits.crypto.paillier import CiphertextError
from fedbandits.environments import Bernoulli
from fedbandits.errors import (
    BoundExceededError,
    ConfigError,
    FedbanditsError,
    LocalProtocolError,
    RemoteProtocolError,
)
from fedbandits.federation import events
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.learners.kernels.index_rules import Softmax
from fedbandits.learners.open_rules import OpenRule
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import BITS, SCORES, WeakKeyError, public_bytes
from fedbandits.systems.samba.config import UCB, Pursuit
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Drawn,
    Explore,
    Order,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.plan import ImpossibleOrderError, OtherOrderError
from fedbandits.systems.terms import terms_of
from fedbandits.testing.mutants import require_untouched
from fedbandits.testing.replicates import plan_of, simulate
from tests.federation.receiving import next_number, refused, refused_next, stamped, taken
from tests.systems.samba_worlds import ALGORITHMS, customer_key, federated, variant

ARMS, BUDGET = 3, 9
CODEC = SYSTEM.roles(plan_of(variant("ucb"), Bernoulli(arms=ARMS), BUDGET)).codec


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def before(kind, name="ucb", skip=0, execution="samba", **parts):
    """A run that stops just before a message of some kind arrives, and that message."""
    run = federated(variant(name, execution, **parts), ARMS, BUDGET)
    caught = []
    for party in run.network.parties.values():
        original = party.receive_bytes

        def receive_bytes(data, link, original=original, party=party):
            message = CODEC.decode(data)
            if isinstance(message, kind) and len(caught) <= skip:
                caught.append((party, message))
                if len(caught) > skip:
                    raise StopIteration
            return original(data, link)

        party.receive_bytes = receive_bytes
    with contextlib.suppress(StopIteration):
        run.advance(BUDGET)
    for each in run.network.parties.values():
        del each.receive_bytes
    return run, *caught[-1]


def why(party, message) -> str:
    """What a refusal says."""
    number = next_number(party, message.sender)
    return str(party.receive(stamped(party, message, number=number)).why)


def duplicate(party, message) -> None:
    """A message that came before is dropped, and changes nothing at all."""
    earlier = party.dump()
    receipt = party.receive(message)
    assert receipt.outcome == "duplicate"
    assert type(receipt.why) is m.DuplicateError
    assert party.dump() == earlier


def flip(data: bytes, position: int = 0) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def test_comp_names_what_is_wrong_with_scores():
    _, comp, good = before(ScoreList, skip=2)
    sealed = good.sealed
    silent = Explore(sender="controller", receiver="comp", step=good.step)
    for wrong, kind in (
        (change(good, sealed=(flip(sealed[0]), *sealed[1:])), aead.TamperedPacketError),
        (change(good, sealed=(sealed[1], sealed[0], sealed[2])), aead.TamperedPacketError),
        (change(good, sealed=(sealed[0][:-1], *sealed[1:])), aead.PacketLengthError),
        (change(good, sealed=sealed[:2]), aead.PacketLengthError),
        (change(good, sealed=()), aead.PacketLengthError),
        (change(good, sealed=sealed * 1000), aead.PacketLengthError),
        *((change(good, step=step), m.OutOfOrderError) for step in around(good.step)),
        *((change(good, iteration=i), m.OutOfOrderError) for i in around(1)),
        (silent, m.OutOfOrderError),
    ):
        refused_next(comp, wrong, kind)
    duplicate(comp, change(good, number=good.number - 1))
    refused(comp, change(good, sender="owner-0"), m.WrongSenderError)
    refused(comp, good, m.WrongSenderError, link="owner-0")
    assert len(taken(comp, good)) == 1
    duplicate(comp, good)
    refused_next(comp, good, m.OutOfOrderError)


def around(number):
    """Numbers that are not this one, absurd ones included."""
    return (number - 1, number + 1, -1, 2**62, -(2**62), 2**63 - 1)


EXPLORES = {"algorithm": "epsilon-greedy(1)", "exploration_shortcut": "published"}


def test_comp_names_what_is_wrong_with_drawn_scores():
    _, comp, good = before(Drawn, "egreedy", skip=1, **EXPLORES)
    for wrong in (good.scores[:-1], (*good.scores, 0.5), ()):
        refused_next(comp, change(good, scores=wrong), aead.PacketLengthError)
    refused_next(comp, change(good, scores=(np.nan, 0.1, 0.2)), m.NotFiniteError)
    chosen = (good.scores[0] + 0.1, *good.scores[1:])
    refused_next(comp, change(good, scores=chosen), m.OutOfOrderError)  # one number is for all
    for step in around(good.step):
        refused_next(comp, change(good, step=step), m.OutOfOrderError)
    refused(comp, change(good, sender="owner-0"), m.WrongSenderError)
    silent = Explore(sender="controller", receiver="comp", step=good.step)
    assert "shortcut 'published'" in why(comp, silent)
    refused_next(comp, silent, m.OutOfOrderError)
    assert len(taken(comp, good)) == 1
    duplicate(comp, good)


def test_drawn_scores_are_refused_where_none_were_agreed_on():
    _, comp, silent = before(Explore, "egreedy", algorithm="epsilon-greedy(1)")
    drawn = Drawn(sender="controller", receiver="comp", step=silent.step, scores=(0.5,) * ARMS)
    refused_next(comp, drawn, m.OutOfOrderError)
    _, comp, scores = before(ScoreList, "ucb")
    refused_next(comp, change(drawn, step=scores.step), m.OutOfOrderError)


def test_the_controller_draws_on_the_beat_alone():
    _, controller, order = before(Order, "egreedy", **EXPLORES)
    assert controller.next_end is None
    with pytest.raises(LocalProtocolError, match="EndRound is not possible while idle"):
        controller.end_round(ARMS)
    taken(controller, order)
    earlier = controller.dump()
    with pytest.raises(LocalProtocolError, match="end of round 9, not of 3"):
        controller.end_round(9)
    assert controller.dump() == earlier
    score = Score(sender="owner-0", receiver="controller", step=ARMS + 1, iteration=1, sealed=b"")
    refused_next(controller, score, m.OutOfOrderError)
    (drawn,) = controller.end_round(controller.next_end)
    assert (drawn.step, len(drawn.scores)) == (ARMS + 1, ARMS)


def test_every_message_has_its_sender():
    """A peer is not enough: it must be the one whose message this is."""
    run = federated(variant("ucb"), ARMS, BUDGET)
    everybody = ["customer", "comp", "owner-0"]
    who = {Order: "customer", Score: "owner-0", BitList: "comp", Sum: "owner-0"}
    fields = {
        Order: {"budget": BUDGET, "algorithm": UCB(), "public_key": public_bytes(customer_key())},
        Score: {"step": 4, "iteration": 1, "sealed": bytes(36)},
        BitList: {"step": 4, "iteration": 1, "sealed": (bytes(29),) * ARMS},
        Sum: {"ciphertext": bytes(512)},
    }  # fmt: skip
    for kind, right in who.items():
        for sender in everybody:
            if sender != right:
                message = kind(sender=sender, receiver="controller", **fields[kind])
                refused_next(run.one("controller"), message, m.WrongSenderError)


@pytest.mark.parametrize(
    "wrong",
    [{"arms": 2**20}, {"arms": 2**62}, {"arms": -1}, {"budget": 2**50}, {"budget": 2**62},
     {"budget": -(2**62)}, {"run": b""}, {"run": bytes(15)}],
)  # fmt: skip
def test_absurd_orders_are_refused(wrong):
    _, comp, start = before(Start)
    refused_next(comp, change(start, **wrong), ImpossibleOrderError)
    assert taken(comp, start) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"budget": BUDGET + 1}, "budget is 10 there and 9 in the terms"),
     ({"budget": BUDGET - 1}, "budget is 8 there"), ({"arms": ARMS + 1}, "arms is 4 there"),
     ({"algorithm": UCB(1.0)}, "algorithm is UCB"), ({"algorithm": Pursuit()}, "algorithm is")],
)  # fmt: skip
def test_orders_are_held_to_the_terms(wrong, said):
    """What nobody has agreed on is not played, whoever says so."""
    for kind in (Order, Start, Setup):
        _, party, good = before(kind)
        if hasattr(good, next(iter(wrong))):
            assert said in why(party, change(good, **wrong))
            refused_next(party, change(good, **wrong), OtherOrderError)
            assert party.stage == "idle"
            taken(party, good)


def test_sums_in_clear_are_checked_before_anything_changes():
    _, controller, good = before(Sum, execution="distributed")
    refused_next(controller, change(good, ciphertext=b"\xff" * 8), CiphertextError)
    refused_next(controller, change(good, ciphertext=b""), CiphertextError)
    assert taken(controller, good) == []


def test_a_replayed_list_does_not_open_at_a_later_step():
    _, comp, old = before(ScoreList)
    taken(comp, old)
    refused_next(comp, change(old, step=old.step + 1), aead.TamperedPacketError)


def test_a_wrong_key_is_noticed_by_comp_and_by_the_owner():
    wrong = aead.GcmCipher(bytes(32))
    _, comp, scores = before(ScoreList)
    comp._tools = comp._tools._replace(scores=aead.Channel(wrong, SCORES, 8))
    refused_next(comp, scores, aead.TamperedPacketError)
    _, owner, bit = before(Bit)
    owner._tools.bits = aead.Channel(wrong, BITS, 1)
    refused_next(owner, bit, aead.TamperedPacketError)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_is_refused_by_comp(bad):
    _, comp, good = before(ScoreList)
    payloads = [np.array([value]).tobytes() for value in (1.0, bad, 2.0)]
    sealed = comp._tools.scores.seal(good.step, 1, range(3), payloads, aead.NEVER)
    refused_next(comp, change(good, sealed=tuple(sealed)), m.NotFiniteError)
    taken(comp, good)


def test_the_controller_names_what_is_wrong():
    _, controller, good = before(Score, skip=3)
    for step in around(good.step):
        refused_next(controller, change(good, step=step), m.OutOfOrderError)
    for iteration in around(1):
        refused_next(controller, change(good, iteration=iteration), m.OutOfOrderError)
    for length in (0, 35, 37, 100_000):
        refused_next(controller, change(good, sealed=bytes(length)), aead.PacketLengthError)
    assert taken(controller, good) == []
    refused_next(controller, good, m.DuplicateError)
    _, controller, bits = before(BitList)
    refused_next(controller, change(bits, step=99), m.OutOfOrderError)
    for wrong in (bits.sealed[:-1], bits.sealed * 1000, (), (b"", *bits.sealed[1:])):
        refused_next(controller, change(bits, sealed=wrong), aead.PacketLengthError)
    assert len(taken(controller, bits)) == ARMS


def test_an_owner_names_what_is_wrong_with_a_bit():
    _, owner, good = before(Bit, skip=4)
    refused_next(owner, change(good, sealed=flip(good.sealed)), aead.TamperedPacketError)
    refused_next(owner, change(good, sealed=good.sealed[:-1]), aead.PacketLengthError)
    for step in around(good.step):
        refused_next(owner, change(good, step=step), m.OutOfOrderError)
    for place in (ARMS, -1, 2**62):
        refused_next(owner, change(good, place=place), m.OutOfOrderError)
    seal = owner._tools.bits.seal
    (odd,) = seal(good.step, 1, [owner.state.place], [b"\x02"], aead.NEVER)
    refused_next(owner, change(good, sealed=odd), aead.TamperedPacketError)
    taken(owner, good)
    duplicate(owner, good)
    refused_next(owner, good, m.OutOfOrderError)


def test_sums_are_checked_where_they_arrive():
    _, controller, good = before(Sum)
    for wrong in (b"", good.ciphertext[:-1], bytes(512), b"\xff" * 512):
        refused_next(controller, change(good, ciphertext=wrong), CiphertextError)
    assert taken(controller, good) == []
    refused_next(controller, good, m.DuplicateError)
    _, customer, total = before(Total)
    refused_next(customer, change(total, ciphertext=total.ciphertext[1:]), CiphertextError)
    other = customer_key().public_key.encrypt(BUDGET + 1)
    refused_next(customer, change(total, ciphertext=other), aead.TamperedPacketError)
    huge = customer_key().public_key.encrypt(2**200)
    refused_next(customer, change(total, ciphertext=huge), aead.TamperedPacketError)
    assert taken(customer, total) == []


@pytest.mark.parametrize("budget", [0, ARMS - 1])
def test_too_small_a_budget_is_refused_by_whoever_is_told(budget):
    for kind in (Order, Start, Setup):
        _, party, good = before(kind)
        refused_next(party, change(good, budget=budget), ImpossibleOrderError)
        taken(party, good)
    _, owner, setup = before(Setup)
    refused_next(owner, change(setup, arms=1), ImpossibleOrderError)
    for place in (7, ARMS, -1, 2**62):
        refused_next(owner, change(setup, place=place), m.OutOfOrderError)
    taken(owner, setup)


def test_weak_and_missing_public_keys_are_refused():
    # Of 2048 bits: a power of two, a prime, a small factor.
    prime, small = 2**2048 - 1557, 3 * (2**2046 // 3 * 2 + 1)
    assert gmpy2.is_prime(prime)
    long = [n.to_bytes(256, "big") for n in (2**2047, prime, small)]
    other = public_bytes(paillier.generate(3072))  # a good one, which the terms do not have
    for kind in (Setup, Order):
        _, party, good = before(kind)
        for weak in (b"", b"\x0f", (2**1023 + 1).to_bytes(128, "big"), *long, other):
            refused_next(party, change(good, public_key=weak), WeakKeyError)
        taken(party, good)
    _, owner, setup = before(Setup)
    refused_next(owner, change(setup, mask_key=bytes(31)), WeakKeyError)
    refused_next(owner, change(setup, exploration_key=b""), WeakKeyError)
    _, owner, setup = before(Setup, execution="distributed")
    good = public_bytes(customer_key())
    refused_next(owner, change(setup, public_key=good), WeakKeyError)


def make(role, supply, execution="samba", owners=ARMS):
    """A party that is made with something else than it should bring."""
    plan = plan_of(variant("ucb", execution), Bernoulli(arms=ARMS), BUDGET)
    terms = terms_of(SYSTEM, plan, "secure")
    parties = terms.parties | {"owner": terms.parties["owner"][:owners]}
    roles = SYSTEM.roles(plan)
    found = next(each for each in roles.roles if each.name == role)
    return roles.make(found, 0, msgspec.structs.replace(terms, parties=parties), supply)


def test_one_arm_is_nothing_to_choose_from():
    with pytest.raises(ConfigError, match="at least 2"):
        make("controller", Supply({"controller": bytes(32)}, bytes(16)), owners=1)


def test_what_a_party_brings_is_checked_when_it_is_made():
    with pytest.raises(LocalProtocolError, match="named by 16 random bytes"):
        make("controller", Supply({"controller": bytes(32)}, bytes(15)))
    for execution, key in (("samba", None), ("distributed", customer_key())):
        with pytest.raises(LocalProtocolError, match="the terms have"):
            make("customer", Supply(private_key=key), execution)


@pytest.mark.parametrize("reward", [0.5, -1, 2, np.nan, np.inf, 1 + 0j, np.ones(2), "one", None])
def test_rewards_other_than_0_and_1_are_refused(reward):
    _, owner, setup = before(Setup)
    taken(owner, setup)
    earlier = owner.dump()
    with pytest.raises(BoundExceededError) as refusal:
        owner.observe(owner.decide(None), reward)
    assert str(reward) not in str(refusal.value).replace("0 or 1", "")
    assert owner.dump() == earlier
    assert owner.observe(owner.decide(None), 1) == []
    assert len(owner.end_round(ARMS)) == 1


def test_misuse_is_not_the_peers_fault():
    run = federated(variant("ucb"), ARMS, BUDGET)
    idle = run.of("owner")[0]
    with pytest.raises(LocalProtocolError, match="Decide is not possible while idle"):
        idle.decide(None)
    with pytest.raises(LocalProtocolError, match="Observe is not possible while idle"):
        idle.observe(Decision(1, True), 1)
    with pytest.raises(LocalProtocolError, match="Start is not possible while waiting"):
        run.one("customer").handle(events.Start())
    _, owner, setup = before(Setup)
    taken(owner, setup)
    earlier = owner.dump()
    others = Decision(1, False), Decision(2, True), Decision(0, True), Decision(2**62, True)
    for wrong in (*others, Decision(1, np.ones(2))):
        with pytest.raises(LocalProtocolError, match="pull 1 is due, not "):
            owner.observe(wrong, 1)
    assert owner.dump() == earlier


def test_a_decision_is_the_pull_that_is_due():
    """After a restart the same pull may be decided on again; it counts once."""
    _, owner, setup = before(Setup)
    taken(owner, setup)
    first = owner.decide(None)
    assert first == Decision(1, True)
    saved = owner.dump()
    owner.load(saved)
    assert owner.decide(None) == owner.decide(None) == first
    assert owner.dump() == saved
    owner.observe(first, 1)
    assert (owner.state.pulls, owner.state.rewards) == (1, 1)
    with pytest.raises(LocalProtocolError, match="Observe is not possible while resting"):
        owner.observe(first, 1)


def test_a_refused_message_and_then_a_good_one_on_the_same_link():
    """Nothing is lost: the same result as without it."""
    run, comp, good = before(ScoreList, skip=1)
    refused_next(comp, change(good, sealed=(b"", b"", b"")), aead.PacketLengthError)
    run.one("controller")._links.all["comp"].sent += 1  # it was the Controller's
    run.network.send(taken(comp, good))
    run.advance(BUDGET)
    undisturbed = federated(variant("ucb"), ARMS, BUDGET)
    undisturbed.advance(BUDGET)
    total = run.one("customer").state.cumulative_reward
    assert total == undisturbed.one("customer").state.cumulative_reward
    assert total is not None


class TestConfiguration:
    def experiment(self, rounds=50, environment=None, **parts):
        environment = environment or Bernoulli(arms=10)
        return fb.Experiment(
            rounds=rounds, environment=environment, systems=(fb.system("samba-ucb", **parts),)
        )

    def test_too_few_rounds(self):
        with pytest.raises(ConfigError, match="10 arms need at least as many rounds"):
            self.experiment(rounds=9).check()

    def test_another_environment(self):
        linear = fb.environments.Linear(agents=2, dim=2, arms=3)
        with pytest.raises(ConfigError, match="'samba-ucb' does not play in environment 'linear'"):
            self.experiment(environment=linear).check()

    def test_no_rounds_at_all(self):
        with pytest.raises(ConfigError, match="10 arms need at least as many rounds"):
            plan_of(variant("ucb"), Bernoulli(arms=10), 0)

    @pytest.mark.parametrize(
        "parts",
        [
            {"cipher": "des"}, {"paillier_bits": 1024}, {"algorithm": "reinforcement"},
            {"algorithm": "softmax(0)"}, {"algorithm": "pursuit(1)"},
            {"algorithm": "epsilon-greedy(1.5)"}, {"execution": "cloud"},
            {"exploration_shortcut": "sometimes"},
            {"algorithm": "decreasing-epsilon-greedy(1, 1, slow)"},
        ],
    )  # fmt: skip
    def test_impossible_parts(self, parts):
        with pytest.raises(ConfigError, match=next(iter(parts))):
            self.experiment(**parts)

    def test_one_arm(self):
        with pytest.raises(ConfigError, match="arms"):
            self.experiment(environment=msgspec.structs.replace(Bernoulli(), arms=1))


@settings(max_examples=150)
@given(
    st.sampled_from(ALGORITHMS), st.integers(0, 400), st.integers(0, 2**32 - 1),
    st.booleans(), st.sampled_from(["empty", "published"]),
)  # fmt: skip
def test_mutated_messages_meet_named_errors_and_change_nothing(
    algorithm, skip, seed, truncate, shortcut
):
    cipher = "stream" if seed % 2 else "aes-gcm"
    config = variant(algorithm, cipher=cipher, exploration_shortcut=shortcut)
    run = federated(config, ARMS, BUDGET)
    for _ in range(skip % 60):
        if run.network.deliver() is None:
            for owner in run.players:
                if owner.stage == "pulling":
                    owner.observe(owner.decide(None), 1.0)
            for party in run.parties:
                if party.next_end is not None:
                    run.network.send(party.end_round(party.next_end))
    if not run.network._queue:
        return
    _, _, sender, receiver, data = run.network._queue[0]
    rng = np.random.default_rng(seed)
    mutated = bytearray(data[: rng.integers(len(data))] if truncate else data)
    for _ in range(rng.integers(1, 4)):
        if mutated:
            mutated[rng.integers(len(mutated))] ^= int(rng.integers(1, 256))
    party = run.network.parties[receiver]
    earlier = party.dump()
    receipt = party.receive_bytes(bytes(mutated), sender)
    if receipt.outcome != "taken":
        assert receipt.outcome == "early" or isinstance(receipt.why, RemoteProtocolError)
        require_untouched(earlier, party.dump(), sender, receipt)


def test_a_rule_without_numbers_stops_the_simulation():
    """A temperature below what the configuration allows overflows e^(μ / τ)."""
    for execution, parts in (("plain", {}), ("samba", {"cipher": "aes-gcm"})):
        config = variant("softmax", execution, **parts)
        run = simulate(config, Bernoulli(means=(1.0, 1.0), arms=2), 10, 0, 0)
        run.rule = OpenRule(Softmax(1e-4), run.rule.records)
        with pytest.raises(FedbanditsError, match="step 3: a score is not a finite number"):
            run.advance(10)
