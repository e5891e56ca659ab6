"""The configuration of a SAMBA variant."""

from __future__ import annotations

from typing import Literal

import msgspec

from fedbandits.crypto.aead import CipherName
from fedbandits.systems.samba.parts import UCB, Algorithm


class Samba(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SAMBA (Ciucanu et al. 2022): one arm a data owner, two servers, a customer with a budget.

    Parameters
    ----------
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``, ``decreasing-epsilon-greedy(1, 1)``,
        ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Of the secure protocol: ``aes-gcm``, or ``stream``, which hides as much, is many times
        faster in simulation, and notices no tampering.
    paillier_bits
        Of the customer's key; 2048 is the paper's.
    exploration_shortcut
        In a step that explores, owners send no scores (section 5.4).
    """

    algorithm: Algorithm = msgspec.field(default_factory=UCB)
    execution: Literal["secure", "distributed", "plain"] = "secure"
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm"
    paillier_bits: Literal[2048, 3072, 4096] = 3072
    exploration_shortcut: bool = True

    @property
    def packet_cipher(self) -> CipherName:
        """The cipher of scores and bits, as it is really used."""
        return self.cipher if self.execution == "secure" else "none"
