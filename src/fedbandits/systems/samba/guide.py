"""SAMBA's guide: the protocol as pseudocode, messages in words, and findings in a run.

The pseudocode is steps 0 to 7 of the paper's Figure 5 (Ciucanu et al. 2022, section 4), and the
steps of a silent run, which the paper does not have.

A receiver reads a message with its own keys, through its own code. A listener has no key, and hears
messages as parties send them; between machines each message is sealed for its receiver as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fedbandits.federation.watching import Happened
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.guide import Acts, Found, Guide, Line, Passage, Pseudocode, line, numbers
from fedbandits.systems.samba.audit.examination import look
from fedbandits.systems.samba.ciphers import BIT, SCORES, floats
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import COMP, CONTROLLER, CUSTOMER, DEALER, OWNER
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.weakened import protections, without

_ACTS = Acts("is told to pull its arm", "pulls its arm, and earns {}")


def guide(plan: SambaPlan, off: Collection[str] = ()) -> Guide | None:
    """Return the guide to the parties of a plan; None in a plain run."""
    config = plan.config
    if config.execution == "plain":
        return None
    return Guide(
        pseudocode=pseudocode(config),
        passages=passages(config, off),
        acts=_ACTS,
        protections=protections(config),
        without=without,
        find=find,
    )


def find(run: PartiesReplicate, seed: int) -> Found:
    """Return the table of sight, and the guesses, of a run that was played to its end."""
    examined = look(run, seed=seed)
    return Found(
        examined.participants,
        examined.table,
        " ".join(f"{guess.text}." for guess in examined.guesses),
    )


# Pseudocode: a line's text, its transitions, and the message that is sent, see `systems.guide`.

_EACH_STEP = "for t = K + 1 … N, and each comparison of the rule:"
_ENDS = "if the Controller ends the run, or stays silent: stop | * End, * Deadline"
_ENDS_FOR_ALL = (
    "if somebody gives up or stays silent: end the run for all, with one reason"
    " | * Deadline, * GaveUp"
)
_OWNER = f"""
take the run's name, and a place in the first turn | idle {{setup}}
for t = 1 … N:
  if t is its own first pull, or its bit is 1: pull | pulling Decide
    s ← s + reward;  n ← n + 1 | pulling Observe
  (beat: the round is over for all) | resting EndRound
  send {{score}} to the Controller | resting EndRound, waiting {{bit}} | {{sent}}
  b ← open the {{opened}} that the Controller hands over | waiting {{bit}}
send {{sum}} to the Controller | resting EndRound | {{summed}}
{_ENDS}
"""
_PUBLISHED_OWNER = {
    "setup": "Setup", "bit": "Bit", "opened": "bit", "score": "Seal(αₜ · score(s, n, t))",
    "sent": "Score",
}  # fmt: skip
_SILENT_OWNER = {
    "setup": "SilentSetup", "bit": "Answer", "opened": "answer",
    "score": "Seal(score(s, n, t) - pad)", "sent": "Word",
}  # fmt: skip
#: How owners tell their sums, by the way that the customer gets the total.
_SUMS = {
    "shares": {"sum": "Seal(s - pad)", "summed": "SumShare"},
    "paillier": {"sum": "Paillier(s)", "summed": "Sum"},
}
_CONTROLLER = f"""
take the order; draw a name, keys and places; tell all that it begins | idle Order
{_EACH_STEP}
  collect the sealed scores of all K owners | collecting Score
  list them in the order σₜ; send the list to Comp | collecting Score | ScoreList
  (in a step that explores: ask Comp for any place) | collecting Score | Explore
  (as printed, in a step that explores: draw scores for Comp) | drawing EndRound
  undo σₜ: hand each owner its sealed bit, and its next place | comparing BitList
collect Paillier(s) of all K owners | summing Sum
multiply them; send the product to the customer | summing Sum | Total
{_ENDS_FOR_ALL}
"""
_SILENT_CONTROLLER = f"""
take the order; draw a name and places; tell all that it begins | idle Order
{_EACH_STEP}
  collect the owners' shares, Comp's masked ones, and dealt words | \
collecting Word, collecting ToFirst, * DealtFirst
  shuffle the shares; send them to Comp, masked, and open comparisons | \
collecting Word, collecting ToFirst, collecting DealtFirst | ToSecond
  ask the dealer for the next block, in time | \
collecting Word, collecting ToFirst, collecting DealtFirst | Ask
  go on comparing: send Comp the shares that are to be opened | comparing ToFirst | ToSecond
  undo the shuffle: hand each owner its padded bit, and its next place | comparing ToFirst | Answer
collect what all K owners send of their sums | summing SumShare, summing Sum
{{total}}
{_ENDS_FOR_ALL}
"""
#: How the Controller tells the total of a silent run.
_TOTALS = {
    "shares": "add up the shares; send the sum, sealed, to the customer"
    " | summing SumShare | FirstTotal",
    "paillier": "multiply them; send the product to the customer | summing Sum | Total",
}
_COMP = f"""
take N, K and the algorithm | idle Start
{_EACH_STEP}
  open the masked scores; p ← the place that wins | ready ScoreList
  (in a step that explores: p ← any place) | ready Explore
  (as printed, in a step that explores: p ← the largest drawn score) | ready Drawn
  send K sealed bits, 1 at p and 0 elsewhere | ready ScoreList, ready Explore, ready Drawn | BitList
{_ENDS}
"""
_SILENT_COMP = f"""
take N, K and the algorithm | idle Start
take dealt words; make shares ahead, masked | * DealtSecond
{_EACH_STEP}
  compare shares with the Controller: open what is to be opened | ready ToSecond
  at the end, share the winner's place, padded for each owner | ready ToSecond
"""
_COMPS_TOTAL = """
send its share of the sum, sealed, to the customer | ready ToSecond, idle Start | SecondTotal
"""
_CUSTOMER = f"""
make a key pair; order N pulls, with the public key | idle Start
decrypt the cumulative reward with its own key | waiting Total
{_ENDS}
"""
_SHARES_CUSTOMER = f"""
order N pulls | idle Start
open both servers' shares; the cumulative reward is their sum | \
waiting FirstTotal, waiting SecondTotal
{_ENDS}
"""
_DEALER = f"""
take N, K and the algorithm; deal the first block | idle Dealing
deal both servers the next block of correlated words | dealing Ask
{_ENDS}
"""


def _lines(text: str) -> tuple[Line, ...]:
    """Read the lines of a role."""
    rows = ([*row.split(" | "), "", ""][:3] for row in text.splitlines() if row)
    return tuple(
        line(words, *filter(None, at.split(", ")), sends=sends or None) for words, at, sends in rows
    )


def pseudocode(config: Samba) -> Pseudocode:
    """Return the lines of every role."""
    sums = _SUMS[config.total]
    if not config.is_silent:
        texts = {
            OWNER: _OWNER.format(**_PUBLISHED_OWNER, **sums), CONTROLLER: _CONTROLLER, COMP: _COMP,
            CUSTOMER: _CUSTOMER,
        }  # fmt: skip
    else:
        shared = config.total == "shares"
        texts = {
            OWNER: _OWNER.format(**_SILENT_OWNER, **sums),
            CONTROLLER: _SILENT_CONTROLLER.format(total=_TOTALS[config.total]),
            COMP: _SILENT_COMP + (_COMPS_TOTAL if shared else "") + _ENDS,
            CUSTOMER: _SHARES_CUSTOMER if shared else _CUSTOMER,
            DEALER: _DEALER,
        }
    return {role: _lines(text) for role, text in texts.items()}


# Messages in words.


class _Words:
    """Words of a passage that are computed from the event of receiving a message."""

    def __init__(self, happened: Happened) -> None:
        self._happened, self._message, self._party = happened, _event(happened), happened.party

    @property
    def rule(self) -> str:
        return str(self._message.algorithm.__struct_config__.tag)

    @property
    def key(self) -> str:
        key: bytes = self._message.public_key
        return f"a public key of {8 * len(key)} bits" if key else "no key"

    @property
    def size(self) -> int:
        return len(getattr(self._message, "sealed", None) or self._message.ciphertext)

    @property
    def packet_size(self) -> int:
        return len(self._message.sealed[0])

    @property
    def drawn(self) -> str:
        return numbers(self._message.scores)

    @property
    def scores(self) -> str:
        return numbers(floats(self._message.sealed))

    @property
    def opened(self) -> str:
        m = self._message
        return numbers(floats(self._party.reopen(SCORES, m.step, m.iteration, m.sealed)))

    @property
    def chosen(self) -> int:
        return int(self._message.sealed.index(BIT[1]))

    @property
    def owner(self) -> str:
        places = self._party.draws.places(self._message.step, self._message.iteration)
        return f"{OWNER}-{places.tolist().index(self.chosen)}"

    @property
    def bit(self) -> str:
        bit = self._party.reopen(self._message, self._happened.before.place)
        last = self._party.stage != "waiting"
        return f"{bit}: {('do not pull', 'pull')[bit] if last else 'the comparison goes on'}"

    @property
    def sum(self) -> int:
        return int.from_bytes(self._message.ciphertext, "big")

    @property
    def share(self) -> str:
        word: bytes = self._party.reopen(self._message)
        return word[::-1].hex()


def _event(happened: Happened) -> Any:
    return happened.event


def _says(text: str) -> Callable[[Happened], str]:
    """Return the reading of a message ``m`` by a party in a ``state``: a text to be filled in."""

    def says(happened: Happened) -> str:
        return text.format(m=happened.event, state=happened.party.state, w=_Words(happened))

    return says


_BEGINS = "N = {m.budget}, K = {m.arms}, {w.rule}, the run's name: in clear."
_BEGINNING = Passage("the beginning of the run", _says(_BEGINS))
_ENDING = Passage("the end of the run", _says("Why the run ends: {m.reason.value}."))
_COMMON = {
    "Order": Passage("an order", _says("{m.budget} pulls by {w.rule}, and {w.key}: in clear.")),
    "Start": _BEGINNING,
    "GaveUp": _ENDING,
    "End": _ENDING,
}
_SEALED = _says("{w.size} sealed bytes: no key opens them.")
_READS_BIT = _says("Its bit is {w.bit}. Its next place is {m.place}.")


def passages(config: Samba, off: Collection[str]) -> Mapping[str, Passage]:
    """Return the words about each message, by the message's name."""
    clear = config.packet_cipher == "none" or "encryption" in off
    kind = _silent(clear) if config.is_silent else _published(clear, off)
    return {**_COMMON, **kind, **_by_paillier(config.encrypts_sums and "paillier" not in off)}


def _published(clear: bool, off: Collection[str]) -> dict[str, Passage]:
    """Return the words about scores and bits, which depend on their protections."""
    masks, permutes = "mask" not in off, "permutation" not in off
    masked = "masked score" if masks else "score"
    hidden = ", times αₜ, which Comp does not know" if masks else ""
    names = "Whose a place is, Comp does not know" if permutes else "Place i is owner i's"
    if clear:
        known = " times αₜ, whose key was told in clear" if masks else ""
        sealed, bit = "", "The bit of {m.receiver}, in clear: {m.sealed[0]}"
        scores = f"Scores by place, in clear{known}: {{w.scores}}."
        bits = "Bits by place, in clear: 1 at place {w.chosen}."
        owner = "That is {w.owner}'s."
    else:
        sealed, bit = " sealed", "{w.size} sealed bytes for {m.receiver}: no key opens them"
        scores = bits = "{w.size} packets of {w.packet_size} sealed bytes: no key opens them."
        owner = "Whose each place is it knows."
    opened = _says(f"Scores by place{hidden}: {{w.opened}}. {names}.")
    setup = _says(
        "The run's name, the customer's public key, the keys of masks and of exploration, and "
        "place {m.place} in Comp's first list: in clear. They open no packet."
    )
    explores = _says("Step {m.step} explores: any place will do.")
    drawn = _says("Scores that the Controller drew, by place: {w.drawn}.")
    place = _says(f"{bit}; its next place, {{m.place}}, in clear.")
    return {
        "Setup": Passage("keys and a place", setup),
        "Score": Passage(f"a{sealed} {masked}", lambda happened: _score(happened, clear, masks)),
        "ScoreList": Passage("the list of scores", opened, _says(scores)),
        "Explore": Passage("a question for any place", explores),
        "Drawn": Passage("drawn scores", drawn),
        "BitList": Passage("the list of bits", _says(f"{bits} {owner}"), _says(bits)),
        "Bit": Passage(f"a{sealed} bit", _READS_BIT, place),
    }


def _score(happened: Happened, clear: bool, masks: bool) -> str:
    """Say what an owner's score shows without a key."""
    message = _event(happened)
    if not message.sealed:
        return "An empty packet: this step explores."
    if not clear:
        return f"{len(message.sealed)} sealed bytes of {message.sender}: no key opens them."
    (value,) = floats([message.sealed])
    mask = happened.party.draws.mask(message.step, message.iteration)
    known = f", and αₜ = {mask:.6g} is known" if masks else ""
    return f"The score of {message.sender}, in clear: {value:.6g}{known}."


def _by_paillier(encrypted: bool) -> dict[str, Passage]:
    """Return the words about sums, as ciphertexts or in clear."""
    seen = "in clear: {w.sum}"
    if encrypted:
        seen = "as {w.size} bytes that the customer's key alone decrypts"
    total = _says("The cumulative reward is {state.cumulative_reward}.")
    one, added = (_says(f"The sum of {text}, {seen}.") for text in ("{m.sender}", "all"))
    return {
        "Sum": Passage("a sum of rewards", one, releases=True),
        "Total": Passage("the sum of all rewards", total, added, releases=True),
    }


def _silent(clear: bool) -> dict[str, Passage]:
    """Return the words about shares, which depend on their seals."""
    heard = part = _SEALED
    if clear:
        heard = _says(
            "{w.size} bytes in clear. Whoever lacks the pad or the other share sees random words."
        )
        part = _says(
            "A share of the total, in clear: with the other one it is the cumulative reward."
        )
    dealt = _says("Block {m.block} of random words, made before any data: it tells nothing.")
    compared = _says(
        "Part {m.part} of a turn: shares of masked differences, and who wins in an order that no "
        "server knows. Alone they are random words."
    )
    share = _says("A share, 0x{w.share}: a random word, as Comp's share is not known here.")
    begins = _says(f"{_BEGINS} Its place among equal scores is {{m.place}}.")
    asks = _says("Block {m.block} is needed next: this follows from the turn.")
    block = Passage("a block of dealt words", dealt, heard)
    shares = Passage("shares to compare", compared, heard)
    total = Passage("a share of the total", _reads_part, part, releases=True)
    return {
        "SilentSetup": Passage("the beginning of the run", begins),
        "Dealing": _BEGINNING,
        "Ask": Passage("a question for the next block", asks),
        "DealtFirst": block,
        "DealtSecond": block,
        "Word": Passage("a share of a score", share, heard),
        "ToSecond": shares,
        "ToFirst": shares,
        "Answer": Passage("a padded bit", _READS_BIT, heard),
        "SumShare": Passage("a share of a sum", share, heard, releases=True),
        "FirstTotal": total,
        "SecondTotal": total,
    }


def _reads_part(happened: Happened) -> str:
    state = happened.party.state
    if state.cumulative_reward is None:
        return "One share of the total: a random word without the other one."
    return f"The other share. The cumulative reward is their sum, {state.cumulative_reward}."
