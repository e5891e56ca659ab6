"""Numbers of secure sums in the claim, the terms, the settings and the plan: they must be equal."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterator
from typing import Any, cast

from fedbandits.federation.seats import HELPER
from fedbandits.federation.totals.keys import AgentKeys
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.privacy import gaussian
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.aggregation import secure_totals
from fedbandits.systems.application import SharedSecret
from fedbandits.systems.secure_sums import agent_secrets, helper_secrets, shared_masks, totals_plan
from fedbandits.systems.sums_audit.run import SumsAudited
from fedbandits.systems.terms import terms_of

#: Words of a claim for the helpers that must not collude with the controller.
_HELPERS = {"the helper": 1, "both helpers": 2, "all three helpers": 3}
#: Words of a claim for the helpers that may look at sums together with the controller.
_TOGETHER = {
    "either the controller or the helper": 0,
    "the controller and any one helper,": 1,
    "the controller and any two helpers,": 2,
}
#: Rounding of a price, as a share.
_ROUNDING = 1e-6
#: Members whose secrets are made, at most.
_MOST_MEMBERS = 100


def stated_check(audited: SumsAudited) -> ProtocolCheck:
    """Return a check that the terms have the helpers and members that the claim counts."""
    looks_at = "helpers, fewest members and colluders: terms, plan and secrets against the claim"
    return ProtocolCheck(looks_at, lambda: _compared(audited))


def _compared(audited: SumsAudited) -> tuple[str, tuple[str, ...]]:
    plan, terms = audited.plan, terms_of(audited.system, audited.plan, "secure")
    members, helpers = len(terms.parties[audited.role]), len(terms.parties[HELPER])
    claim = audited.system.claim(plan)
    claimed, headline = Claimed(" ".join(claim.conditional_on)), Headline(claim.from_whom)
    asked, summed = secure_totals(plan.config.aggregation, members), totals_plan(plan, audited.role)
    if asked is None:
        return "no sums", ("the settings add up in clear, and the plan has secure sums",)
    counted = (
        ("helpers", claimed.helpers, "the settings have", asked.helpers),
        ("helpers", claimed.helpers, "the terms have", helpers),
        ("helpers", claimed.helpers, "increments are masked for", shared_helpers(plan)),
        ("members in all", claimed.members, "the terms have", members),
        ("members of a sum at least", claimed.least, "the settings have", asked.least_parties),
        ("members of a sum at least", claimed.least, "helpers open sums of", summed.least_parties),
        ("colluders", claimed.colluding, "the settings have", asked.colluding),
        ("colluders", claimed.colluding, "sums are closed against", summed.colluding),
        ("helpers beside the controller", headline.helpers, "it may have", asked.helpers - 1),
        ("colluders to look at sums", headline.colluding, "the settings have", asked.colluding),
        ("members with unknown noise", claimed.honest, "noise is shared by", plan.secure.honest),
    )
    wrong = [
        f"the claim counts {there} {what}, {where} {here}"
        for what, there, where, here in counted if here != there
    ]  # fmt: skip
    result = (
        f"{helpers} helpers with a secret for each member; {claimed.least} of {members} members at "
        f"least, of whom {claimed.colluding} may tell their noise"
    )
    return result, (*wrong, *_wrong_prices(audited), *_wrong_secrets(plan, members))


class Claimed:
    """The numbers that a claim about sums states, 0 where it states none.

    The numbers are read from the claim's words, as a reader of the claim would.
    """

    def __init__(self, words: str) -> None:
        match = re.search(f"controller and ({'|'.join(_HELPERS)})", words)
        self.helpers = _HELPERS[match[1]] if match else 0
        self.least = _number(r"at least (\d+) of the \d+", words)
        self.members = _number(r"at least \d+ of the (\d+)", words)
        self.colluding = _number(r"most (\d+) of all", words)

    @property
    def honest(self) -> int:
        """Number of members of a sum that keep their noise to themselves."""
        return self.least - self.colluding


class Headline:
    """Numbers of colluders and helpers in the headline of a claim: -1 where none is stated."""

    def __init__(self, words: str) -> None:
        self.helpers = next((n for who, n in _TOGETHER.items() if who in words), -1)
        self.colluding = _number(r"at most (\d+) of the", words) or -1


def _number(pattern: str, words: str) -> int:
    match = re.search(pattern, words)
    return int(match[1]) if match else 0


def shared_helpers(plan: Any) -> int:
    """Return of how many helpers an agent is handed a secret."""
    return len({secret.place for secret in shared_masks(plan)})


def _wrong_prices(audited: SumsAudited) -> Iterator[str]:
    """Yield the views whose claimed ε is missing, or smaller than the price of the view.

    Against a view of single releases, or of all noise but one member's, one share is left: μ√h.
    """
    claim, honest = audited.system.claim(audited.plan), audited.plan.secure.honest
    if not claim.one_noise:
        yield "the claim says that members have noise of their own, and one noise covers all"
    share = claim.mu * math.sqrt(honest)
    for who, words, mu in (
        ("whoever sees sums", "while at most", claim.mu),
        ("the controller and all helpers", "who see single releases", share),
        ("all other members together", "if each of them tells its noise", share),
    ):
        stated = [view.epsilon for view in claim.views if words in view.who]
        least = gaussian.epsilon_of(mu, claim.delta)
        if not stated:
            yield f"the claim states no ε for {who}"
        elif not max(stated) >= least * (1.0 - _ROUNDING):
            yield f"the claim states ε = {max(stated):.4g} for {who}, whose view costs {least:.4g}"


class _Handed:
    """Secrets of parties in a deployment: their own, and secrets that others make."""

    def __init__(self, plan: Any) -> None:
        self._made: dict[tuple[str, str], bytes] = {}
        self._secrets: dict[str, SharedSecret] = {each.name: each for each in shared_masks(plan)}
        self.party = ""

    def secret(self, name: str, in_state: bool = False) -> bytes:
        del in_state  # nothing is stored here
        key = "" if name in self._secrets else self.party, name
        return self._made.setdefault(key, secrets.token_bytes(32))

    def shared(self, name: str, in_state: bool = False) -> bytes:
        del in_state
        return self._secrets[name].gift(self._made[("", name)], self.party)


def _wrong_secrets(plan: Any, members: int) -> Iterator[str]:
    """Yield secrets and keys of two pairs that are equal, or of one pair that are not."""
    handed, helpers = cast(Any, _Handed(plan)), shared_helpers(plan)
    made = [helper_secrets(plan, place, handed).pairs for place in range(helpers)]
    some = min(members, _MOST_MEMBERS)
    theirs, keys = list[AgentSecrets](), list[bytes]()
    for handed.party in plan.agent_names[:some]:
        theirs.append(agent_secrets(plan, handed) or AgentSecrets((), b""))
        keys += _keys(theirs[-1], handed.party)
    for place in range(helpers):
        found = [each.pairs[place : place + 1] for each in theirs]
        if found != [(secret,) for secret in made[place][:some]]:
            yield f"members have other secrets than helper {place}"
    every = [secret for pairs in made for secret in pairs] + [each.own for each in theirs]
    if len(set(every)) < len(every):
        yield f"{len(every) - len(set(every))} secrets are those of two pairs"
    # Under the same name, too: keys follow from secrets, not from public facts.
    keys += [key for each in theirs for key in _keys(each, "a member")]
    if len(set(keys)) < len(keys):
        yield f"{len(keys) - len(set(keys))} keys are those of two pairs, or of any secret"


def _keys(given: AgentSecrets, member: str) -> list[bytes]:
    """Return all first keys that a member has of its secrets."""
    helpers = [f"{HELPER}-{place}" for place in range(len(given.pairs))]
    keys = AgentKeys.first(given, "terms", member, helpers)
    return [*keys.chains, *keys.statements, *keys.confirmations, keys.own]
