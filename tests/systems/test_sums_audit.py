"""An audit of secure sums finds mistakes beside noise, and without them all holds."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.crypto import masks as mask_module
from fedbandits.crypto.masks import Masks, PairKeys
from fedbandits.federation.exchange.outlet import SecureOutlet
from fedbandits.federation.state import Step
from fedbandits.federation.totals import keys as totals_keys
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import Opening
from fedbandits.federation.totals.sender import Sender
from fedbandits.privacy.claims import View
from fedbandits.systems import registry, secure_claim, secure_sums
from fedbandits.systems.application import SharedSecret
from fedbandits.systems.feducb import plan as feducb_claim
from fedbandits.systems.sums_audit import played, refused, stated
from fedbandits.systems.sums_audit.stated import Claimed
from fedbandits.testing.replicates import plan_of, system_of
from tests.systems.private_learners import PrivateLinUCB

LINEAR = fb.environments.Linear(agents=12, dim=2, arms=3)
BUYING = fb.environments.Procurement(
    agents=12, producers=2, max_capacity=4, quality_threshold=0.3, instance=1
)
SUMS = {"kind": "secure-sum", "helpers": 2, "least_parties": 9, "colluding": 2}
WORLDS = {"feducb-secure": LINEAR, "feducb-secure-hybrid": LINEAR, "pfcb-secure": BUYING}
STATED, REFUSED, MASKS, TOTALS, OWN_NOISE, BELIEVED = range(6)


def checks_of(name="feducb-secure", **parts):
    config = fb.system(name, **({"aggregation": SUMS} | parts)).config
    plan = plan_of(config, WORLDS.get(name, LINEAR), 40)
    return system_of(config).protocol_checks(plan, WORLDS.get(name, LINEAR))


def wrong(which, name="feducb-secure", **parts):
    """What one check finds wrong."""
    return " and ".join(checks_of(name, **parts)[which].play()[1])


@pytest.mark.parametrize("name", [*WORLDS, "private-lin-ucb"])
def test_without_a_mistake_all_holds(name, monkeypatch):
    if name not in WORLDS:
        monkeypatch.setattr(registry, "_registered", {})
        fb.register(PrivateLinUCB)
    found = [check.play() for check in checks_of(name)]
    assert [wrong for _, wrong in found] == [()] * 6
    words = " ".join(said for said, _ in found)
    assert "2 helpers" in words
    assert "9 of 12 members at least, of whom 2 may tell their noise" in words
    assert "refuses sums of 1, 2, 4, 8 of 12" in words
    assert "0 of 55 decisions differ" in words


def test_there_are_none_where_releases_are_seen():
    assert checks_of("feducb", aggregation="clear") == []


# ------------------------------------------------------------------------ stated


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"helpers": 1}, "the claim counts 2 helpers, the terms have 1"),
        ({"least_parties": 2}, "9 members of a sum at least, helpers open sums of 2"),
        ({"colluding": 1}, "2 colluders, sums are closed against 1"),
    ],
)
def test_numbers_that_the_claim_does_not_state(changed, said, monkeypatch):
    planned = secure_sums.totals_plan
    for module in (secure_sums, stated):
        monkeypatch.setattr(
            module, "totals_plan", lambda *given: planned(*given)._replace(**changed)
        )
    assert said in wrong(STATED)


def test_a_claim_is_read_as_it_is_written():
    for helpers in (1, 2, 3):
        config = fb.system("feducb-secure", aggregation=SUMS | {"helpers": helpers}).config
        plan = plan_of(config, LINEAR, 40)
        read = Claimed(" ".join(system_of(config).claim(plan).conditional_on))
        stated = read.helpers, read.least, read.members, read.colluding, read.honest
        assert stated == (helpers, 9, 12, 2, 7)
    assert Claimed("Nothing.").honest == 0


@pytest.mark.parametrize("helpers", [1, 2, 3])
def test_a_claim_that_lets_more_look_at_sums_is_found(helpers, monkeypatch):
    """One helper more with the controller, or colluders that its noise was not made for."""
    claimed = secure_claim.claim_sums
    more = {0: "the controller and any one helper,", 1: "the controller and all helpers,"}

    def with_all(*given):
        claim = claimed(*given)
        said = secure_claim._ALL_BUT_ONE[helpers - 1] + ","
        words = claim.from_whom.replace(said, more[min(helpers - 1, 1)])
        return msgspec.structs.replace(claim, from_whom=words.replace("at most 2", "at most 3"))

    monkeypatch.setattr(feducb_claim, "claim_sums", with_all)
    found = wrong(STATED, aggregation=SUMS | {"helpers": helpers})
    assert f"helpers beside the controller, it may have {helpers - 1}" in found
    assert "the claim counts 3 colluders to look at sums, the settings have 2" in found


def test_keys_that_follow_from_no_secret_are_found(monkeypatch):
    derive = PairKeys.derive.__func__

    def public(cls, secret, terms, agent, helper):
        return derive(cls, b"what all may know", terms, agent, helper)

    monkeypatch.setattr(PairKeys, "derive", classmethod(public))
    assert "keys are those of two pairs, or of any secret" in wrong(STATED)


def test_one_secret_for_all_members_is_found(monkeypatch):
    monkeypatch.setattr(SharedSecret, "gift", lambda self, secret, party: secret)
    assert "secrets are those of two pairs" in wrong(STATED)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda claim: {"one_noise": False}, "members have noise of their own"),
        (lambda claim: {"views": ()}, "states no ε for all other members together"),
        (lambda claim: {"views": claim.views[:1] + claim.views[2:]}, "the controller and all"),
        (
            lambda claim: {
                "views": tuple(View(v.who, min(v.epsilon, claim.epsilon)) for v in claim.views)
            },
            "states ε = 1 for the controller and all helpers, whose view costs 2.953",
        ),
    ],
)  # fmt: skip
def test_a_claim_that_states_too_little_by_who_looks_is_found(changed, said, monkeypatch):
    claimed = secure_claim.claim_sums

    def less(*given):
        claim = claimed(*given)
        return msgspec.structs.replace(claim, **changed(claim))

    monkeypatch.setattr(feducb_claim, "claim_sums", less)
    assert said in wrong(STATED)


# ----------------------------------------------------------------- sums of too few


def test_a_plan_that_opens_sums_of_two_is_found_by_three_checks(monkeypatch):
    planned = secure_sums.totals_plan

    def two(plan, role="agent"):
        return planned(plan, role)._replace(least_parties=2)

    for module in (refused, secure_sums):
        monkeypatch.setattr(module, "totals_plan", two)
    assert "helper 0 opens a sum of 2, of 9 agents at least" in wrong(REFUSED)
    assert "a sum of 3 was opened, of 4 at least" in wrong(TOTALS)
    assert "× the μ that is charged" in wrong(TOTALS)


def test_helpers_that_open_whatever_is_asked_are_found(monkeypatch):
    monkeypatch.setattr(Helper, "_fit", lambda self, opening: self._named(opening))
    assert "helper 1 opens a sum of 8, of 9 agents at least" in wrong(REFUSED)


def test_helpers_that_take_a_member_twice_are_found(monkeypatch):
    named = lambda self, request: statements.unpack_members(request.members)  # noqa: E731
    monkeypatch.setattr(Helper, "_named", named)
    assert "helper 1 opens a sum with a member twice" in wrong(REFUSED)


def test_helpers_that_believe_the_controller_are_found(monkeypatch):
    monkeypatch.setattr(Helper, "_are_known", lambda self, _, members: np.ones(len(members), bool))
    assert "helper 0 opens a sum that its members have not stated" in wrong(REFUSED)


def test_helpers_that_keep_no_bases_are_found(monkeypatch):
    are_known = Helper._are_known

    def whatever_base(self, request, members):
        members = members.copy()
        members["base"] = self.state.newest[members["place"]]
        return are_known(self, request, members)

    monkeypatch.setattr(Helper, "_are_known", whatever_base)
    assert "helper 1 opens a sum with a member that goes on from what was" in wrong(REFUSED)


def test_helpers_that_open_a_sum_for_two_sets_are_found(monkeypatch):
    compute = Helper._compute

    def again(self, event):
        if isinstance(event, Opening) and event.release == self.state.answered:
            self._fit(event)
            return Step(self.state, [self._answer(self.state)])
        return compute(self, event)

    monkeypatch.setattr(Helper, "_compute", again)
    assert "helper 0 opens one sum for two sets of members" in wrong(REFUSED)


def test_members_that_believe_the_controller_are_found(monkeypatch):
    monkeypatch.setattr(Sender, "_expected", lambda self, state, total, salt: total.confirmations)
    assert "goes on from a total with a false tag of helper 1" in wrong(BELIEVED)


def test_members_that_retire_whatever_they_hear_are_found(monkeypatch):
    monkeypatch.setattr(Sender, "_expected", lambda self, state, total, salt: b"")
    assert "does not go on from a total with the tags of all helpers" in wrong(BELIEVED)


def test_few_members_keep_the_configured_shares():
    """A sum of 2 of 12 is one of 2 of 5, not one of the usual 4."""
    few = SUMS | {"least_parties": 2, "colluding": 1}
    found = [check.play() for check in checks_of(aggregation=few)]
    assert [wrong for _, wrong in found] == [()] * 6
    assert "none of fewer than 2" in found[TOTALS][0]


# ------------------------------------------------------------------------ masks


def one_key_a_pair(monkeypatch):
    """Keys do not step: the keys of all messages of a pair are alike."""
    for name in ("next_key", "message_key"):
        monkeypatch.setattr(totals_keys, name, lambda key: key)
    monkeypatch.setattr(totals_keys, "forward", lambda key, steps: key)


def cancelling(monkeypatch):
    """Each pair's mask with the second helper is that with the first one, with another sign."""
    derive, fill = PairKeys.derive.__func__, Masks.fill

    def derived(cls, secret, terms, agent, helper):
        keys = derive(cls, secret, terms, agent, helper)
        alike = derive(cls, b"the same for both helpers", terms, agent, "any")
        return keys._replace(chain=alike.chain[:31] + helper[-1:].encode())

    def filled(self, number, salt, out):
        fill(Masks(self._key[:31] + b"0"), number, salt, out)
        if self._key[31:] == b"1":
            np.negative(out, out=out)

    one_key_a_pair(monkeypatch)
    monkeypatch.setattr(PairKeys, "derive", classmethod(derived))
    monkeypatch.setattr(Masks, "fill", filled)


def test_masks_that_cancel_are_found_and_totals_are_right_all_the_same(monkeypatch):
    cancelling(monkeypatch)
    assert "less masks (none) are not uniform" in wrong(MASKS)
    assert wrong(TOTALS) == ""


def test_one_mask_of_both_helpers_is_found(monkeypatch):
    derive = PairKeys.derive.__func__

    def derived(cls, secret, terms, agent, helper):
        alike = derive(cls, b"the same for both helpers", terms, agent, "any")
        return derive(cls, secret, terms, agent, helper)._replace(chain=alike.chain)

    monkeypatch.setattr(PairKeys, "derive", classmethod(derived))
    found = wrong(MASKS)
    assert "masks come twice" in found
    assert "those of helper 0 and those of helper 0) are not uniform" in found


def test_one_mask_for_all_sums_is_found(monkeypatch):
    one_key_a_pair(monkeypatch)
    monkeypatch.setattr(mask_module, "nonce", lambda number, salt: bytes(16))
    assert "masks come twice" in wrong(MASKS)


def test_masks_of_half_the_bits_are_found(monkeypatch):
    fill = Masks.fill

    def filled(self, number, salt, out):
        fill(self, number, salt, out)
        out &= np.uint64(0xFFFFFFFF00000000)

    monkeypatch.setattr(Masks, "fill", filled)
    assert "are not uniform" in wrong(MASKS)


@pytest.mark.parametrize("related", [0, 1, 2**40 + 1])
def test_numbers_of_a_mask_that_are_related_are_found(related, monkeypatch):
    """One number for a whole increment, or a counter: each alone is uniform."""
    fill = Masks.fill

    def filled(self, number, salt, out):
        fill(self, number, salt, out)
        out[:] = out[0] + np.uint64(related) * np.arange(out.size, dtype=np.uint64)

    monkeypatch.setattr(Masks, "fill", filled)
    assert "are not uniform" in wrong(MASKS)
    assert ("numbers of masks come twice" in wrong(MASKS)) == (related == 0)


def test_masks_that_differ_by_little_from_sum_to_sum_are_found(monkeypatch):
    fill = Masks.fill

    def filled(self, number, salt, out):
        fill(Masks(self._key), 0, 0, out)
        out += np.uint64(number << 8)

    one_key_a_pair(monkeypatch)
    monkeypatch.setattr(Masks, "fill", filled)
    assert "are not uniform" in wrong(MASKS)


def test_an_increment_with_the_mask_of_one_helper_is_found(monkeypatch):
    step = totals_keys.AgentKeys.step

    def one(self, release, draw):
        after, used = step(self, release, draw)
        return after, used._replace(masks=used.masks[:1])

    monkeypatch.setattr(totals_keys.AgentKeys, "step", one)
    assert "increments lack a mask" in wrong(MASKS)


def test_a_total_that_is_none_is_found(monkeypatch):
    add_up = TotalsController._add_up

    def more(self, *given):
        self.state.total[0] += np.uint64(1)
        return add_up(self, *given)

    monkeypatch.setattr(TotalsController, "_add_up", more)
    assert "totals are not the sum of what members released" in wrong(TOTALS)


@pytest.mark.parametrize("name", ["feducb-secure", "pfcb-secure"])
@pytest.mark.parametrize("forgets", ["noise", "earlier draws"])
def test_noise_that_lacks_after_an_absence_is_found(forgets, name, monkeypatch):
    send = SecureOutlet.send

    def forgetful(self, state, exact, keep, noise):
        was_away = state.sending.newest > state.sending.base
        if was_away and forgets == "earlier draws":
            draws = np.zeros_like(state.released.draws)
            return send(self, forgotten(state, draws), exact, keep, noise)
        after, messages = send(self, state, exact, keep, noise)
        if was_away and forgets == "noise":
            whole = np.rint(exact / self.mechanism.step).astype(np.int64)
            sending, messages = self._sender.send(state.sending, after.released.made, whole)
            after = msgspec.structs.replace(after, sending=sending)
        return after, messages

    def forgotten(state, draws):
        return msgspec.structs.replace(state, released=state.released._replace(draws=draws))

    monkeypatch.setattr(SecureOutlet, "send", forgetful)
    assert "releases have other noise than the draws up to them make" in wrong(TOTALS, name)


# ------------------------------------------------------------------------ uniformity


def test_uniform_numbers_are_near_and_others_are_far():
    drawn = np.random.default_rng(0).integers(0, 2**64, (40, 5), np.uint64, endpoint=False)
    assert played.distance(drawn) < 4.0
    for shifted in (drawn >> np.uint64(1), drawn << np.uint64(1), drawn & np.uint64(2**60 - 1)):
        assert played.distance(shifted) > 7.0
    assert played.distance(np.full((40, 5), 2**62 + 12345, np.uint64)) > 7.0
    assert played.distance(np.zeros((40, 5), np.uint64)) > 100.0


# ------------------------------------------------------------------------ own noise


def changed_totals(monkeypatch, change):
    """Let members read ``change(outlet, state, summed)`` in the place of a sum."""
    take = SecureOutlet.take

    def changed(self, state, message, noise, go_on):
        return take(self, state, message, noise, lambda summed: go_on(change(self, state, summed)))

    monkeypatch.setattr(SecureOutlet, "take", changed)


def test_own_noise_that_is_taken_out_is_found(monkeypatch):
    """A hybrid's view less its own share, noise and all."""

    def less_own(outlet, state, summed):
        own = state.sending.pending_values if state.sending.pending else state.sending.base_values
        noise = outlet.mechanism.step * own - state.statistic.reshape(-1)
        return summed._replace(values=summed.values - noise)

    changed_totals(monkeypatch, less_own)
    for name in ("feducb-secure", "feducb-secure-hybrid"):
        assert "of 55 decisions differ" in wrong(OWN_NOISE, name)


@pytest.mark.parametrize("name", ["feducb-secure-hybrid", "pfcb-secure"])
def test_own_noise_in_totals_that_the_member_is_not_in_is_found(name, monkeypatch):
    """It shows in no decision of so short a run, but in what the member goes on from."""

    def with_own(outlet, state, summed):
        sending = state.sending
        left_out = sending.pending and summed.own != sending.pending
        own = outlet.mechanism.step * sending.pending_values if left_out else 0.0
        return summed._replace(values=summed.values + own)

    changed_totals(monkeypatch, with_own)
    assert "states of members differ beside their shares" in wrong(OWN_NOISE, name)


def test_sending_that_depends_on_own_noise_is_found(monkeypatch):
    send = Sender.send

    def seldom(self, state, release, values):
        if release > 1 and values[0] % 4 == 0:
            return state, []
        return send(self, state, release, values)

    monkeypatch.setattr(Sender, "send", seldom)
    assert "messages are sent follows from own noise" in wrong(OWN_NOISE)
