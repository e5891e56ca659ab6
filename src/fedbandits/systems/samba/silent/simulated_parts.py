"""What a simulated silent run is made of, whichever way its packets are sealed."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits.systems.samba.fixed_point import bits_for_ties
from fedbandits.systems.samba.players import Setting
from fedbandits.systems.samba.silent.blocks import Turn, make_turn
from fedbandits.systems.samba.silent.draws import SilentStreams
from fedbandits.systems.samba.silent.owner_streams import OwnerStreams
from fedbandits.systems.samba.silent.simulated_dealer import Dealer, SeedWords
from fedbandits.systems.samba.silent.steps import SilentScratch, new_silent_scratch
from fedbandits.systems.samba.silent.streams import LinkKeys, OwnerKeys, SilentSecrets


class SimulatedParts(NamedTuple):
    """Everything that one machine holds which plays all parties."""

    turn: Turn
    draws: SilentStreams
    tie_bits: int
    scratch: SilentScratch
    owners: list[OwnerKeys]
    streams: OwnerStreams
    link: LinkKeys
    dealer: Dealer
    words: SeedWords


def make_parts(setting: Setting, most: int) -> SimulatedParts:
    """The parts of one run.

    Parameters
    ----------
    setting
        What is played.
    most
        Turns that are dealt for at once, at most. Servers expand words of one turn more.
    """
    agreed, config = setting.agreed, setting.plan.config
    arms, cipher = agreed.arms, config.packet_cipher
    turn, secrets = make_turn(arms, config.arity), SilentSecrets.simulated(setting.secrets)
    owners = [secrets.owner(f"owner-{i}", agreed) for i in range(arms)]
    keys, comparisons = secrets.dealer(agreed), sum(turn.comparisons)
    return SimulatedParts(
        turn=turn,
        draws=SilentStreams(setting.secrets, agreed),
        tie_bits=bits_for_ties(arms),
        scratch=new_silent_scratch(arms),
        owners=owners,
        streams=OwnerStreams(owners, agreed, cipher == "stream"),
        link=secrets.controller((), agreed).link,
        dealer=Dealer(keys, arms, comparisons, most, cipher, setting.timer),
        words=SeedWords(keys, arms, comparisons, most + 1),
    )
