"""SAMBA as pseudocode: steps 0 to 7 of the paper's Figure 5, and a silent run.

Source: Ciucanu et al. 2022, section 4 and Figure 5. A silent run is not in the paper.
"""

from __future__ import annotations

from fedbandits.systems.guide import Line, Pseudocode, line
from fedbandits.systems.samba.config import Samba

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
