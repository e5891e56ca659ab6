"""Who has which secret of a silent run: in memory, in dumps, and as members hand them over."""

from __future__ import annotations

import itertools

import pytest

from fedbandits.crypto.keystream import derive_key
from fedbandits.environments import Bernoulli
from fedbandits.errors import LocalProtocolError
from fedbandits.privacy.ledger import Ledger
from fedbandits.systems.application import SharedSecret
from fedbandits.systems.samba import SYSTEM, ciphers
from fedbandits.systems.samba.audit.attack import keys_of_party
from fedbandits.systems.samba.ciphers import channel_cipher
from fedbandits.systems.samba.keys import (
    CompKeys,
    ControllerKeys,
    DealtKeys,
    LinkKeys,
    OwnersKeys,
    PadKeys,
    SealKeys,
    ServerKeys,
    SilentControllerKeys,
    SimulatedSecrets,
    TotalKey,
    make_keys,
    owners_secret,
    shared,
)
from fedbandits.testing.applications import Setting
from fedbandits.testing.replicates import plan_of
from fedbandits.testing.resources import FederationResources
from tests.systems.samba_worlds import customer_key, federated, silent, variant

OWNERS = tuple(f"owner-{i}" for i in range(4))
SIMULATED = SimulatedSecrets.derive(0, 0)


def secrets_of(run):
    """Every secret of a run and all that is made of it, and who may have it."""
    owners = tuple(party.name for party in run.of("owner"))
    own, agreed = SimulatedSecrets.derive(0, 0), run.one("controller").agreement
    mine = own._asdict()
    pads = {owner: owners_secret(own.pads, "pads", owner) for owner in owners}
    packets = {owner: owners_secret(own.packets, "packets", owner) for owner in owners}
    found = {
        own.pads: {"comp"},
        own.packets: {"controller"},
        own.link: {"controller", "comp"},
        own.first: {"controller", "dealer"},
        own.second: {"comp", "dealer"},
        own.bill: {"controller", "customer"},
        own.receipt: {"comp", "customer"},
        own.controller: {"controller"},
        own.comp: set(),
        own.owners: set(owners),
        **{pads[owner]: {owner} for owner in owners},
        **{packets[owner]: {owner} for owner in owners},
    }

    def add(keys, *holders):
        for key in keys:
            if isinstance(key, bytes):
                found[key] = set(holders)
            else:
                add(key, *holders)

    for owner in owners:
        add(make_keys(PadKeys, pads[owner], agreed), owner, "comp")
        add(make_keys(SealKeys, packets[owner], agreed), owner, "controller")
    first = ServerKeys.make(mine, owners, agreed, True)
    second = ServerKeys.make(mine, owners, agreed, False)
    dealer = [make_keys(DealtKeys, secret, agreed) for secret in (own.first, own.second)]
    assert first.link == second.link
    assert [first.dealt, second.dealt] == dealer
    add(first.link, "controller", "comp")
    add(first.dealt, "controller", "dealer")
    add(second.dealt, "comp", "dealer")
    add([make_keys(TotalKey, own.bill, agreed).total], "controller", "customer")
    add([make_keys(TotalKey, own.receipt, agreed).total], "comp", "customer")
    add(make_keys(SilentControllerKeys, own.controller, agreed), "controller")
    add(make_keys(OwnersKeys, own.owners, agreed), *owners)
    return found


@pytest.mark.parametrize("total", ["shares", "paillier"])
def test_no_dump_holds_a_key_and_nobody_anothers(total):
    # Of four owners a vector of words would be as long as a key.
    run = federated(silent("egreedy", algorithm="epsilon-greedy(0.5)", total=total), 5, 12)
    secrets, dumps = secrets_of(run), 0
    assert len(secrets) > 40
    while run.network.deliver() or run.run._act_as_told() or run.run._end_rounds():
        for party in run.parties:
            dump = party.dump()
            assert not [key for key in secrets if key in dump]
            assert keys_of_party([party.state]) == (set(), [])
            dumps += 1
    assert dumps > 1_500
    assert {party.stage for party in run.parties} == {"done"}
    for party in run.parties:
        held, private = keys_of_party(party)
        for key in held & secrets.keys():
            assert party.name in secrets[key], party.name
        assert bool(private) == (party.name == "customer" and total == "paillier")
        assert held & secrets.keys() or party.name == "customer"
    primes = (customer_key().p, customer_key().q)
    assert all(prime.to_bytes(128, "big") not in run.one("customer").dump() for prime in primes)


def test_keys_are_all_different():
    run = federated(silent("ucb"), 4, 12)
    other = SimulatedSecrets.derive(0, 1)
    found = secrets_of(run)
    # 7 and 3 secrets, 2 an owner, 5 keys of an owner, 2 links, 4 dealt, 2 totals, 1 and 1 others
    assert len(found) == 7 + 3 + 4 * 2 + 4 * 5 + 2 + 4 + 2 + 1 + 1
    assert not found.keys() & set(other)


def keys_of(secret, plan, run):
    """Everything that a party of a run of that name could make of one secret."""
    agreed = plan.agreement(run)
    if not plan.config.is_silent:
        channel = published_key(secret, agreed)
        published = (ControllerKeys, CompKeys)
        return {channel, *(key for kind in published for key in make_keys(kind, secret, agreed))}
    kinds = (PadKeys, SealKeys, LinkKeys, DealtKeys)
    made = {key for kind in kinds for key in make_keys(kind, secret, agreed)}
    for name in ("pads", "packets"):
        own = owners_secret(secret, name, "owner-0")
        made |= {own, *(key for kind in kinds for key in make_keys(kind, own, agreed))}
    others = (SilentControllerKeys, OwnersKeys, TotalKey)
    return made | {key for kind in others for key in make_keys(kind, secret, agreed)}


def published_key(secret, agreed):
    """The key of a published run's packets."""
    made = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ciphers, "make_cipher", lambda _, key: made.append(key))
        channel_cipher("aes-gcm", secret, agreed)
    return made[0]


def test_a_silent_run_has_no_key_of_a_published_one():
    """Even if both had the same name and the same secrets, under the same names."""
    world, run = Bernoulli(arms=3), bytes(16)
    plans = [plan_of(make("ucb"), world, 9) for make in (variant, silent)]
    one, other = (keys_of(bytes(32), plan, run) for plan in plans)
    assert (len(one), len(other)) == (7, 9 + 2 * 10 + 2 + 1)
    assert not one & other
    names = [{secret.name for secret in SYSTEM.shared(plan)} for plan in plans]
    assert not names[0] & names[1]
    assert len(set(SIMULATED)) == len(SIMULATED)


@pytest.mark.parametrize("other", [{"arity": 2}, {"total": "paillier"}])
def test_runs_that_differ_in_how_words_are_made_share_no_word(other):
    """Of one name and one secret: a dealt word must not be used in two ways."""
    plans = [plan_of(silent("ucb", **parts), Bernoulli(arms=3), 9) for parts in ({}, other)]
    keys = [
        {key for kind in (PadKeys, SealKeys, LinkKeys, DealtKeys)
         for key in make_keys(kind, bytes(32), plan.agreement(bytes(16)))}
        for plan in plans
    ]  # fmt: skip
    assert len(keys[0] | keys[1]) == 2 * 9


# ------------------------------------------------------------------------------- between machines


def workplace_of(setting, ledger):
    return FederationResources(setting.system, setting.plan, ledger, setting.own())


@pytest.mark.parametrize("total", ["shares", "paillier"])
def test_secrets_go_to_whom_they_belong(total, tmp_path):
    setting = Setting("samba-ucb", comparison="silent", total=total, paillier_bits=2048)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = workplace_of(setting, ledger)
        brought = {
            party: workplace.supply(role, place)
            for role, parties in setting.roles.parties.items()
            for place, party in enumerate(parties)
        }
        again = {
            party: workplace.supply(role, place)
            for role, parties in setting.roles.parties.items()
            for place, party in enumerate(parties)
        }
    assert brought.keys() == {*OWNERS, "controller", "comp", "dealer", "customer"}
    if total == "paillier":
        assert brought.pop("customer").private_key.public_key.bits == 2048
        again.pop("customer")
    assert brought == again
    secrets = {name: supply.secrets for name, supply in brought.items()}
    c, p, dealer = (secrets[name] for name in ("controller", "comp", "dealer"))
    for owner in OWNERS:
        assert secrets[owner]["pads"] == derive_key(p["pads"], f"pads {owner}")
        assert secrets[owner]["packets"] == derive_key(c["packets"], f"packets {owner}")
    assert len({secrets[owner]["owners"] for owner in OWNERS}) == 1
    assert len({brought[owner].draws for owner in OWNERS}) == 4
    assert c["link"] == p["link"]
    assert dealer == {"first": c["first"], "second": p["second"]}
    if total == "shares":
        assert secrets["customer"] == {"bill": c["bill"], "receipt": p["receipt"]}
    held = {name: set(each.values()) for name, each in secrets.items()}
    held["controller"].add(brought["controller"].run)
    known = {("controller", "comp"): {c["link"]}, ("controller", "dealer"): {c["first"]},
             ("comp", "dealer"): {p["second"]}, ("controller", "customer"): {c["bill"]},
             ("comp", "customer"): {p["receipt"]}}  # fmt: skip
    for one, other in itertools.combinations(held, 2):
        both = {secrets[OWNERS[0]]["owners"]} if {one, other} <= set(OWNERS) else set()
        both |= known.get((one, other), set()) | known.get((other, one), set())
        assert held[one] & held[other] == both, (one, other)


def test_nobody_is_given_what_is_not_for_it(tmp_path):
    setting = Setting("samba-ucb", comparison="silent", total="shares")
    secrets = setting.system.shared(setting.plan)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = workplace_of(setting, ledger)
        for role, parties in setting.roles.parties.items():
            for place in range(len(parties)):
                for secret in secrets:
                    if secret.is_taken_by(role, place):
                        assert len(workplace.of(role, place).shared(secret.name)) == 32
                        continue
                    with pytest.raises(LocalProtocolError, match="is given no secret"):
                        workplace.of(role, place).shared(secret.name)
    assert len({secret.name for secret in secrets}) == len(secrets) == 8


def test_the_first_of_a_role_makes_a_secret_for_the_others():
    secret = SharedSecret("owners", "owner", "owner")
    assert [secret.is_made_by("owner", place) for place in range(3)] == [True, False, False]
    assert [secret.is_taken_by("owner", place) for place in range(3)] == [False, True, True]
    assert not secret.is_taken_by("comp", 1)
    assert secret.gift(b"x" * 32, "owner-1") == b"x" * 32
    each = SharedSecret("pads", "comp", "owner", each=True)
    gifts = {each.gift(b"x" * 32, owner) for owner in OWNERS}
    assert len(gifts | {b"x" * 32}) == 5
    assert not each.is_made_by("comp", 1)


@pytest.mark.parametrize("execution", ["samba", "plain", "distributed"])
def test_a_published_run_shares_one_secret(execution):
    setting = Setting(f"{execution}-ucb")
    assert setting.system.shared(setting.plan) == (SharedSecret("channel", "comp", "owner"),)
    plan = SYSTEM.plan(silent("ucb"), Bernoulli(arms=3).facts, 9)
    assert shared(plan) == SYSTEM.shared(plan)


def test_every_party_of_a_role_may_make_a_secret_of_its_own():
    one, two = (
        SharedSecret(f"masks-{at}", "helper", "agent", each=True, place=at) for at in range(2)
    )
    assert [two.is_made_by("helper", place) for place in range(3)] == [False, True, False]
    assert not two.is_taken_by("helper", 0)
    members = {"helper": ("x", "y"), "agent": ("a", "b")}
    assert two.partners("agent", 1, members) == ("y",)
    assert one.partners("agent", 1, members) == ("x",)
    assert two.partners("helper", 1, members) == ("a", "b")
    assert two.partners("helper", 0, members) == ()
