"""SAMBA's guide: the protocol as pseudocode, messages in words, and findings in a run.

The pseudocode is steps 0 to 7 of the paper's Figure 5 (Ciucanu et al. 2022, section 4), and those
of a silent run, which is not in the paper.

A receiver reads a message with its own keys, through its own code. Whoever listens has no key, and
hears messages as parties send them; between machines each is sealed for its receiver beside that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fedbandits.federation.watching import Happened
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.guide import Acts, Found, Guide, Line, Passage, Pseudocode, line, numbers
from fedbandits.systems.samba.audit.examination import look
from fedbandits.systems.samba.ciphers import BIT, SCORES, floats
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.guide.weakened import protections, without
from fedbandits.systems.samba.keys import OWNER
from fedbandits.systems.samba.plan import SambaPlan

_ACTS = Acts("is told to pull its arm", "pulls its arm, and earns {}")


def guide(plan: SambaPlan, off: Collection[str] = ()) -> Guide | None:
    """Return what is told of the parties of a plan; None in a plain run."""
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
    """Return who sees what in a run that was played to its end, and who guesses what."""
    examined = look(run, seed=seed)
    return Found(
        examined.participants,
        examined.table,
        " ".join(f"{guess.text}." for guess in examined.guesses),
    )


_EACH_STEP = line("for t = K + 1 … N, and each comparison of the rule:")
#: The Controller ends a run that cannot go on.
_ENDS_FOR_ALL = line(
    "if somebody gives up or stays silent: end the run for all, with one reason",
    "* Deadline",
    "* GaveUp",
)
_STARTS = line("make a key pair; order N pulls, with the public key", "idle Start")
#: What a customer does when the total is there.
_TOTAL = line("decrypt the cumulative reward with its own key", "waiting Total")


#: The last line of a member.
_ENDS = line("if the Controller ends the run, or stays silent: stop", "* End", "* Deadline")


def _owner(setup: str, bit: str, score: str, sent: str) -> tuple[Line, ...]:
    """Make an owner's lines: they differ in how a score and a bit are hidden."""
    return (
        line("take the run's name, and a place in the first turn", f"idle {setup}"),
        line("for t = 1 … N:"),
        line("  if t is its own first pull, or its bit is 1: pull", "pulling Decide"),
        line("    s ← s + reward;  n ← n + 1", "pulling Observe"),
        line("  (beat: the round is over for all)", "resting EndRound"),
        line(f"  {score}", "resting EndRound", f"waiting {bit}", sends=sent),
        line(f"  b ← open the {bit.lower()} that the Controller hands over", f"waiting {bit}"),
    )


_OWNER = (
    *_owner("Setup", "Bit", "send Seal(αₜ · score(s, n, t)) to the Controller", "Score"),
    line("send Paillier(s) to the Controller", "resting EndRound", sends="Sum"),
    _ENDS,
)
_CONTROLLER = (
    line("take the order; draw a name, keys and places; tell all that it begins", "idle Order"),
    _EACH_STEP,
    line("  collect the sealed scores of all K owners", "collecting Score"),
    line("  list them in the order σₜ; send the list to Comp", "collecting Score",
         sends="ScoreList"),
    line("  (in a step that explores: ask Comp for any place)", "collecting Score",
         sends="Explore"),
    line("  (as printed, in a step that explores: draw scores for Comp)", "drawing EndRound"),
    line("  undo σₜ: hand each owner its sealed bit, and its next place", "comparing BitList"),
    line("collect Paillier(s) of all K owners", "summing Sum"),
    line("multiply them; send the product to the customer", "summing Sum", sends="Total"),
    _ENDS_FOR_ALL,
)  # fmt: skip
_COMP = (
    line("take N, K and the algorithm", "idle Start"),
    _EACH_STEP,
    line("  open the masked scores; p ← the place that wins", "ready ScoreList"),
    line("  (in a step that explores: p ← any place)", "ready Explore"),
    line("  (as printed, in a step that explores: p ← the largest drawn score)", "ready Drawn"),
    line("  send K sealed bits, 1 at p and 0 elsewhere", "ready ScoreList", "ready Explore",
         "ready Drawn", sends="BitList"),
    _ENDS,
)  # fmt: skip
_CUSTOMER = (_STARTS, _TOTAL, _ENDS)

_SILENT_OWNER = _owner(
    "SilentSetup", "Answer", "send Seal(score(s, n, t) - pad) to the Controller", "Word"
)
_SILENT_CONTROLLER = (
    line("take the order; draw a name and places; tell all that it begins", "idle Order"),
    _EACH_STEP,
    line("  collect the owners' shares, Comp's masked ones, and dealt words", "collecting Word",
         "collecting ToFirst", "* DealtFirst"),
    line("  shuffle the shares; send them to Comp, masked, and open comparisons",
         "collecting Word", "collecting ToFirst", "collecting DealtFirst", sends="ToSecond"),
    line("  ask the dealer for the next block, in time", "collecting Word", "collecting ToFirst",
         "collecting DealtFirst", sends="Ask"),
    line("  go on comparing: send Comp the shares that are to be opened", "comparing ToFirst",
         sends="ToSecond"),
    line("  undo the shuffle: hand each owner its padded bit, and its next place",
         "comparing ToFirst", sends="Answer"),
    line("collect what all K owners send of their sums", "summing SumShare", "summing Sum"),
)  # fmt: skip
_SILENT_COMP = (
    line("take N, K and the algorithm", "idle Start"),
    line("take dealt words; make shares ahead, masked", "* DealtSecond"),
    _EACH_STEP,
    line("  compare shares with the Controller: open what is to be opened", "ready ToSecond"),
    line("  at the end, share the winner's place, padded for each owner", "ready ToSecond"),
)
#: How owners tell their sums in a silent run, by the way that the customer gets the total.
_TELL_SUM = {
    "shares": line("send Seal(s - pad) to the Controller", "resting EndRound", sends="SumShare"),
    "paillier": line("send Paillier(s) to the Controller", "resting EndRound", sends="Sum"),
}
#: How the servers tell the total.
_TELL_TOTAL = {
    "shares": line("add up the shares; send the sum, sealed, to the customer", "summing SumShare",
                   sends="FirstTotal"),
    "paillier": line("multiply them; send the product to the customer", "summing Sum",
                     sends="Total"),
}  # fmt: skip
_COMP_TELLS_TOTAL = {
    "shares": (line("send its share of the sum, sealed, to the customer", "ready ToSecond",
                    "idle Start", sends="SecondTotal"),),
    "paillier": (),
}  # fmt: skip
_SHARES_CUSTOMER = (
    line("order N pulls", "idle Start"),
    line("open both servers' shares; the cumulative reward is their sum", "waiting FirstTotal",
         "waiting SecondTotal"),
    _ENDS,
)  # fmt: skip
_DEALER = (
    line("take N, K and the algorithm; deal the first block", "idle Dealing"),
    line("deal both servers the next block of correlated words", "dealing Ask"),
    _ENDS,
)


def pseudocode(config: Samba) -> Pseudocode:
    """Return the lines of every role."""
    if not config.is_silent:
        return {
            "owner": _OWNER, "controller": _CONTROLLER, "comp": _COMP, "customer": _CUSTOMER
        }  # fmt: skip
    total = config.total
    return {
        "owner": (*_SILENT_OWNER, _TELL_SUM[total], _ENDS),
        "controller": (*_SILENT_CONTROLLER, _TELL_TOTAL[total], _ENDS_FOR_ALL),
        "comp": (*_SILENT_COMP, *_COMP_TELLS_TOTAL[total], _ENDS),
        "customer": _SHARES_CUSTOMER if total == "shares" else _CUSTOMER,
        "dealer": _DEALER,
    }


def passages(config: Samba, off: Collection[str]) -> Mapping[str, Passage]:
    """Return what is told of each message, by its name."""
    words = {
        "Order": Passage("an order", _reads_order),
        "Start": Passage("the beginning of the run", _reads_beginning),
        **dict.fromkeys(("GaveUp", "End"), Passage("the end of the run", _reads_reason)),
        **(_silent(config, off) if config.is_silent else _published(config, off)),
    }
    return words


def _reads_order(happened: Happened) -> str:
    order: Any = happened.event
    key = f"a public key of {8 * len(order.public_key)} bits" if order.public_key else "no key"
    return f"{order.budget} pulls by {_name(order.algorithm)}, and {key}: in clear."


def _reads_beginning(happened: Happened) -> str:
    said: Any = happened.event
    return f"N = {said.budget}, K = {said.arms}, {_name(said.algorithm)}, the run's name: in clear."


def _reads_reason(happened: Happened) -> str:
    ending: Any = happened.event
    return f"Why the run ends: {ending.reason.value}."


def _name(algorithm: Any) -> str:
    return str(algorithm.__struct_config__.tag)


def _published(config: Samba, off: Collection[str]) -> dict[str, Passage]:
    words, clear = _Published(config, off), _in_clear(config, off)
    masked = "score" if "mask" in off else "masked score"
    score, bit = (f"a{'' if clear else ' sealed'} {what}" for what in (masked, "bit"))
    return {
        "Setup": Passage("keys and a place", _reads_setup),
        "Score": Passage(score, words.score),
        "ScoreList": Passage("the list of scores", words.comp_reads_scores, words.scores),
        "Explore": Passage("a question for any place", _reads_explore),
        "Drawn": Passage("drawn scores", _reads_drawn),
        "BitList": Passage("the list of bits", words.controller_reads_bits, words.bits),
        "Bit": Passage(bit, _reads_bit, words.bit),
        **_by_paillier(config, off),
    }


def _in_clear(config: Samba, off: Collection[str]) -> bool:
    """Tell whether scores and bits are not sealed."""
    return config.packet_cipher == "none" or "encryption" in off


def _by_paillier(config: Samba, off: Collection[str]) -> dict[str, Passage]:
    words = _Sums(config.encrypts_sums and "paillier" not in off)
    return {
        "Sum": Passage("a sum of rewards", words.of_owner, releases=True),
        "Total": Passage("the sum of all rewards", _reads_total, words.of_all, releases=True),
    }


def _reads_setup(happened: Happened) -> str:
    return (
        "The run's name, the customer's public key, the keys of masks and of exploration, and "
        f"place {_event(happened).place} in Comp's first list: in clear. They open no packet."
    )


def _reads_explore(happened: Happened) -> str:
    return f"Step {_event(happened).step} explores: any place will do."


def _reads_drawn(happened: Happened) -> str:
    return f"Scores that the Controller drew, by place: {numbers(_event(happened).scores)}."


def _reads_bit(happened: Happened) -> str:
    bit = happened.party.reopen(happened.event, happened.before.place)
    last = happened.party.stage != "waiting"
    meaning = ("do not pull", "pull")[bit] if last else "the comparison goes on"
    return f"Its bit is {bit}: {meaning}. Its next place is {_event(happened).place}."


def _reads_total(happened: Happened) -> str:
    return f"The cumulative reward is {happened.party.state.cumulative_reward}."


def _event(happened: Happened) -> Any:
    return happened.event


class _Published:
    """Words for scores and bits, which depend on what is left of their protection."""

    def __init__(self, config: Samba, off: Collection[str]) -> None:
        self._clear = _in_clear(config, off)
        self._masks, self._permutes = "mask" not in off, "permutation" not in off

    def score(self, happened: Happened) -> str:
        """Say what is seen of one owner's score without a key."""
        message = _event(happened)
        if not message.sealed:
            return "An empty packet: this step explores."
        if not self._clear:
            return f"{len(message.sealed)} sealed bytes of {message.sender}: no key opens them."
        (value,) = floats([message.sealed])
        mask = happened.party.draws.mask(message.step, message.iteration)
        known = f", and αₜ = {mask:.6g} is known" if self._masks else ""
        return f"The score of {message.sender}, in clear: {value:.6g}{known}."

    def scores(self, happened: Happened) -> str:
        """Say what is seen of all scores without a key."""
        sealed = _event(happened).sealed
        if not self._clear:
            return f"{len(sealed)} packets of {len(sealed[0])} sealed bytes: no key opens them."
        known = " times αₜ, whose key was told in clear" if self._masks else ""
        return f"Scores by place, in clear{known}: {numbers(floats(sealed))}."

    def comp_reads_scores(self, happened: Happened) -> str:
        """Say what Comp makes of all scores."""
        message = _event(happened)
        opened = happened.party.reopen(SCORES, message.step, message.iteration, message.sealed)
        masked = ", times αₜ, which Comp does not know" if self._masks else ""
        whose = "Whose a place is, Comp does not know" if self._permutes else "Place i is owner i's"
        return f"Scores by place{masked}: {numbers(floats(opened))}. {whose}."

    def bits(self, happened: Happened) -> str:
        """Say what is seen of all bits without a key."""
        sealed = _event(happened).sealed
        if self._clear:
            return f"Bits by place, in clear: 1 at place {sealed.index(BIT[1])}."
        return f"{len(sealed)} packets of {len(sealed[0])} sealed bytes: no key opens them."

    def controller_reads_bits(self, happened: Happened) -> str:
        """Say what the Controller makes of all bits: it knows the order, and no key."""
        message = _event(happened)
        if not self._clear:
            return f"{self.bits(happened)} Whose each place is it knows."
        places = happened.party.draws.places(message.step, message.iteration).tolist()
        owner = places.index(message.sealed.index(BIT[1]))
        return f"{self.bits(happened)} That is {OWNER}-{owner}'s."

    def bit(self, happened: Happened) -> str:
        """Say what is seen of one owner's bit without a key."""
        message = _event(happened)
        seen = f"{len(message.sealed)} sealed bytes for {message.receiver}: no key opens them"
        if self._clear:
            seen = f"The bit of {message.receiver}, in clear: {message.sealed[0]}"
        return f"{seen}; its next place, {message.place}, in clear."


class _Sums:
    """Words for sums, as ciphertexts or in clear."""

    def __init__(self, encrypted: bool) -> None:
        self._encrypted = encrypted

    def of_owner(self, happened: Happened) -> str:
        """Say what is seen of an owner's sum."""
        return self._seen(f"The sum of {_event(happened).sender}", _event(happened).ciphertext)

    def of_all(self, happened: Happened) -> str:
        """Say what is seen of the sum of all without the customer's key."""
        return self._seen("The sum of all", _event(happened).ciphertext)

    def _seen(self, what: str, ciphertext: bytes) -> str:
        if self._encrypted:
            return f"{what}, as {len(ciphertext)} bytes that the customer's key alone decrypts."
        return f"{what}, in clear: {int.from_bytes(ciphertext, 'big')}."


def _silent(config: Samba, off: Collection[str]) -> dict[str, Passage]:
    sealed, part = (_share, _heard_part) if _in_clear(config, off) else (_sealed, _sealed)
    return {
        "SilentSetup": Passage("the beginning of the run", _reads_silent_setup),
        "Dealing": Passage("the beginning of the run", _reads_beginning),
        "Ask": Passage("a question for the next block", _reads_ask),
        "DealtFirst": Passage("a block of dealt words", _reads_dealt, sealed),
        "DealtSecond": Passage("a block of dealt words", _reads_dealt, sealed),
        "Word": Passage("a share of a score", _reads_share, sealed),
        "ToSecond": Passage("shares to compare", _reads_compared, sealed),
        "ToFirst": Passage("shares to compare", _reads_compared, sealed),
        "Answer": Passage("a padded bit", _reads_bit, sealed),
        "SumShare": Passage("a share of a sum", _reads_share, sealed, releases=True),
        "FirstTotal": Passage("a share of the total", _reads_part, part, releases=True),
        "SecondTotal": Passage("a share of the total", _reads_part, part, releases=True),
        **_by_paillier(config, off),
    }


def _sealed(happened: Happened) -> str:
    return f"{len(_event(happened).sealed)} sealed bytes: no key opens them."


def _share(happened: Happened) -> str:
    size = len(_event(happened).sealed)
    return f"{size} bytes in clear. Whoever lacks the pad or the other share sees random words."


def _heard_part(happened: Happened) -> str:
    del happened
    return "A share of the total, in clear: with the other one it is the cumulative reward."


def _reads_silent_setup(happened: Happened) -> str:
    place = _event(happened).place
    return f"{_reads_beginning(happened)} Its place among equal scores is {place}."


def _reads_ask(happened: Happened) -> str:
    return f"Block {_event(happened).block} is needed next: this follows from the turn."


def _reads_dealt(happened: Happened) -> str:
    return (
        f"Block {_event(happened).block} of random words, made before any data: it tells nothing."
    )


def _reads_share(happened: Happened) -> str:
    word = happened.party.reopen(happened.event)
    return f"A share, 0x{word[::-1].hex()}: a random word, as Comp's share is not known here."


def _reads_compared(happened: Happened) -> str:
    return (
        f"Part {_event(happened).part} of a turn: shares of masked differences, and who wins in an "
        "order that no server knows. Alone they are random words."
    )


def _reads_part(happened: Happened) -> str:
    state = happened.party.state
    if state.cumulative_reward is None:
        return "One share of the total: a random word without the other one."
    return f"The other share. The cumulative reward is their sum, {state.cumulative_reward}."
