"""Terms: what all agree on. Who was built on others is refused by the key that differs."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.errors import LocalProtocolError, SnapshotError
from fedbandits.federation import messages as m
from fedbandits.federation import snapshots
from fedbandits.federation.messages import TheseTerms
from fedbandits.federation.party import LAYOUT, Dump
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.terms import Schedule, Terms
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Key, replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb.roles import Upload
from fedbandits.systems.terms import claim_under, terms_of
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.federation.receiving import snapshot

ENVIRONMENT = Linear(agents=3, dim=2, arms=3)


def terms(noise="simulated", **parts):
    config = system("feducb", **parts).config
    return terms_of(system_of(config), plan_of(config, ENVIRONMENT, 30), noise)


def with_a_stranger(stranger, **theirs):
    """A federation of ε = 1 in which one agent was built on other settings."""
    config = system("feducb", schedule="every(5)", epsilon=1.0).config
    other = system("feducb", **{"schedule": "every(5)", "epsilon": 1.0} | theirs).config
    found, plan = system_of(config), plan_of(config, ENVIRONMENT, 30)
    odd = plan_of(other, ENVIRONMENT, 30)
    stage = ENVIRONMENT.stage(replicate_key(0, 0))
    brought = found.simulated_supplies(plan, stage.world, 0, 0)
    agreed, run = terms_of(found, plan, "simulated"), None
    roles, strange = found.roles(plan), found.roles(odd)

    def embody(make):
        party = make()
        if party.name != stranger:
            return party
        role = next(role for role in strange.roles if stranger in role.parties)
        place = role.parties.index(stranger)
        return strange.make(
            role, place, terms_of(found, odd, "simulated"), brought(role.name, place)
        )

    run = PartiesRun(roles, brought, agreed, stage, 30, lenient=True, embody=embody)
    run.advance(30)
    return run


@pytest.mark.parametrize(
    ("theirs", "key", "value"),
    [
        ({"epsilon": 1000.0}, "settings.epsilon", "1000.0 there and 1.0 here"),
        ({"schedule": "every(6)"}, "schedule.ends", "'every 6' there and 'every 5' here"),
        ({"context_bound": 2.0}, "settings.context_bound", "2.0 there and 1.0 here"),
    ],
)
def test_an_agent_of_other_terms_takes_no_part(theirs, key, value):
    """It was built with ε = 1000, say: not one of its releases is in a sum."""
    run = with_a_stranger("agent-1", **theirs)
    controller = run.one("controller")
    assert controller.state.newest.tolist()[1] == 0
    assert controller.state.newest.min(where=[True, False, True], initial=9) >= 4
    refused = [r for r in run.network.refusals if r.party == "controller"]
    assert {type(r.why) for r in refused} == {m.OtherTermsError}
    named = [str(r.why) for r in refused]
    assert any(f"{key} is {value}" in text for text in named)
    # Both have been told once, and both name the key.
    told = [x for _, x in run.network.transcript.deliveries if isinstance(x, TheseTerms)]
    assert sorted(x.sender for x in told) == ["agent-1", "controller"]
    mine = [str(r.why) for r in run.network.refusals if r.party == "agent-1"]
    assert any(f"controller has other terms: {key} is" in text for text in mine)


def test_who_was_built_on_other_terms_is_set_right_and_begins_anew():
    """What it sent under them has used up none of its numbers."""
    run = with_a_stranger("agent-1", epsilon=1000.0)
    fresh = federate(
        system("feducb", schedule="every(5)", epsilon=1.0).config, ENVIRONMENT, 30, 0, 0
    ).of("agent")[1]
    (upload,) = fresh.end_round(5)
    assert upload.number == 0
    assert run.one("controller").receive(upload).outcome == "taken"


def test_a_controller_of_other_terms_is_refused_by_all():
    run = with_a_stranger("controller", epsilon=1000.0)
    assert all(agent.state.taken == 0 for agent in run.of("agent"))
    assert run.done == 30


def test_after_the_key_is_known_every_refusal_names_it():
    run = with_a_stranger("agent-1", epsilon=1000.0)
    texts = [str(r.why) for r in run.network.refusals if r.party == "controller"]
    assert len(texts) == 6  # five uploads and the terms
    assert all("settings.epsilon" in text for text in texts[2:])


def test_terms_do_not_depend_on_how_a_number_is_written():
    assert terms(epsilon=1).digest == terms(epsilon=1.0).digest
    assert terms(epsilon=1).digest != terms(epsilon=2).digest


def test_where_noise_comes_from_is_a_term():
    simulated, secure = terms("simulated"), terms("secure")
    assert simulated.difference(secure.content) == ("noise", "simulated", "secure")
    older = msgspec.structs.replace(simulated, wire=m.VERSION - 1)
    assert str(simulated.difference(older.content)) == (
        f"messages are of version {m.VERSION - 1} there and {m.VERSION} here: run the same "
        "fedbandits everywhere"
    )


def test_simulated_noise_promises_nothing():
    config = system("feducb").config
    found, plan = system_of(config), plan_of(config, ENVIRONMENT, 30)
    promised = claim_under(found, plan, terms_of(found, plan, "secure"))
    assert promised == found.claim(plan)
    none = claim_under(found, plan, terms_of(found, plan, "simulated"))
    assert (none.epsilon, none.epsilon_contents, none.mu) == (math.inf,) * 3
    assert none.holds_for == "nothing"
    assert not none.is_private
    assert "simulated" in none.not_protected[0].why


def test_secure_terms_take_no_noise_from_a_seed():
    def supply(role, place):
        return AgentSupply(lambda step: np.zeros(5), Key(0, 0))

    with pytest.raises(LocalProtocolError, match="require secure noise"):
        federate(system("feducb").config, ENVIRONMENT, 30, 0, 0, supplies=supply)
    clear = federate(system("feducb-nonprivate").config, ENVIRONMENT, 30, 0, 0, supplies=supply)
    assert clear.run.terms.noise == "secure"


def test_the_digest_of_given_terms():
    """A golden value: terms that are written down must mean the same for ever."""
    given_ = Terms(
        system="feducb", settings={"epsilon": 1.0}, facts={"dimension": 2},
        schedule=Schedule(rounds=30, releases=6, ends="every 5", most_records=5),
        parties={"agent": ("a", "b")}, noise="secure", wire=2,
    )  # fmt: skip
    by_hand = {
        "facts": {"dimension": 2}, "noise": "secure", "parties": {"agent": ["a", "b"]},
        "schedule": {"ends": "every 5", "most_records": 5, "releases": 6, "rounds": 30},
        "settings": {"epsilon": 1.0}, "system": "feducb", "wire": 2,
    }  # fmt: skip
    assert given_.content == msgspec.msgpack.encode(by_hand)  # keys in order of their names
    assert given_.digest == "c606a3a39abbb6e351b6e2f192478d99"


values = st.recursive(
    st.one_of(st.integers(-3, 3), st.floats(allow_nan=False), st.text(max_size=3), st.booleans()),
    lambda inside: st.dictionaries(st.sampled_from("abc"), inside, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from("abc"), values), st.dictionaries(st.sampled_from("abc"), values)
)
def test_terms_differ_if_and_only_if_a_key_does(one, other):
    ours, theirs = (
        Terms(
            system="s", settings=settings, facts={}, schedule=Schedule(rounds=1), parties={},
            noise="secure",
        )
        for settings in (one, other)
    )  # fmt: skip
    assert (ours.digest == theirs.digest) == (ours.difference(theirs.content) is None)
    found = ours.difference(theirs.content)
    assert found is None or found.key.startswith("settings")


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x93\x01", b"\x80", b"\xff" * 90])
def test_what_are_no_terms_is_refused(content):
    run = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0)
    controller = run.one("controller")
    before = snapshot(controller, "agent-0", told=True)
    message = TheseTerms(
        sender="agent-0", receiver="controller", number=0, terms="x", content=content
    )
    receipt = controller.receive(message)
    assert receipt.outcome == "refused"
    assert type(receipt.why) in (m.UnknownMessageError, m.OtherTermsError)
    assert snapshot(controller, "agent-0", told=True) == before


anything = st.recursive(
    st.one_of(st.none(), st.integers(-9, 2**64 - 1), st.floats(), st.text(), st.binary()),
    lambda inside: st.one_of(
        st.lists(inside), st.dictionaries(st.one_of(st.text(), st.integers(0, 9)), inside)
    ),
    max_leaves=9,
)


@given(st.one_of(st.binary(max_size=60), anything.map(msgspec.msgpack.encode)))
def test_whatever_a_peer_tells_as_its_terms_is_refused_in_one_line(content):
    ours = terms()
    try:
        text = str(ours.difference(content))
    except ValueError as error:
        text = str(error)
    assert text.isprintable()
    assert len(text) < 300


class TestSaved:
    """What a party saves is its own, whole, and of these terms."""

    def play(self, **parts):
        run = federate(system("feducb", schedule="every(5)", **parts).config, ENVIRONMENT, 30, 0, 0)
        run.advance(12)
        return run

    def test_another_party_or_other_terms_are_refused(self):
        run, other = self.play(), self.play(epsilon=2.0)
        one, two = run.of("agent")[:2]
        before = one.dump()
        for saved in (two.dump(), other.of("agent")[0].dump()):
            with pytest.raises(SnapshotError, match="a saved state of"):
                one.load(saved)
        assert one.dump() == before

    def test_a_state_of_another_layout_is_refused(self):
        one = self.play().of("agent")[0]
        before = one.dump()
        dump = snapshots.decode(Dump, before)
        for layout in (0, LAYOUT - 1, LAYOUT + 1):
            with pytest.raises(SnapshotError, match=f"of layout {layout}, and this version"):
                one.load(snapshots.encode(msgspec.structs.replace(dump, layout=layout)))
        assert one.dump() == before

    def test_whatever_is_damaged_is_refused(self):
        one = self.play().of("agent")[0]
        saved = one.dump()
        broken = [saved[:-1], saved[1:], b"", saved + b"0", bytes(16) + saved[16:]]
        flips = np.random.default_rng(0).integers(len(saved), size=50)
        broken += [saved[:i] + bytes([saved[i] ^ 4]) + saved[i + 1 :] for i in flips]
        for each in broken:
            with pytest.raises(SnapshotError):
                one.load(each)
        assert one.dump() == saved

    def test_what_is_held_is_saved_too(self):
        run = federate(system("feducb", schedule="every(5)").config, ENVIRONMENT, 30, 0, 0)
        fresh = federate(run.plan.config, ENVIRONMENT, 30, 0, 0).one("controller")
        run.advance(12)
        uploads = [x for _, x in run.network.transcript.deliveries if isinstance(x, Upload)]
        first, second = [x for x in uploads if x.sender == "agent-0"]
        assert fresh.receive(second).outcome == "early"
        saved = fresh.dump()
        restored = federate(run.plan.config, ENVIRONMENT, 30, 0, 0).one("controller")
        restored.load(saved)
        assert restored.receive(second).outcome == "duplicate"
        receipt = restored.receive(first)
        assert [each.outcome for each in (receipt, *receipt.followed)] == ["taken", "taken"]
        assert restored.state.newest.tolist() == [2, 0, 0]

    def test_no_noise_that_was_drawn_ahead_is_saved(self):
        source = SecureNoise()
        agent = federate(
            system("feducb").config, ENVIRONMENT, 30, 0, 0,
            supplies=lambda role, place: AgentSupply(source, Key(0, 0)),
        ).of("agent")[0]  # fmt: skip
        assert len(source._ahead) == 5
        saved = agent.dump()
        for drawn in source._ahead:
            assert np.float64(drawn).tobytes() not in saved
