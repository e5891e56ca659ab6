"""An adversary in a published run, and the truth about that run."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import (
    NEVER,
    Channel,
    CipherName,
    ClearCipher,
    PacketCipher,
    PacketLengthError,
    TamperedPacketError,
    make_cipher,
)
from fedbandits.crypto.paillier import CiphertextError
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.adversary import ONE_OWNER, Adversary, Exposure
from fedbandits.systems.samba.audit.attack import (
    SCORES_KNOWN,
    common_divisor,
    exploring_steps,
    guess_by_drawn_score,
    guess_by_place,
    pulled_arms,
)
from fedbandits.systems.samba.ciphers import (
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    channel_cipher,
    decrypt,
    floats,
)
from fedbandits.systems.samba.keys import ControllerKeys, make_keys
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Drawn,
    Score,
    ScoreList,
    Setup,
    Sum,
    Total,
)
from fedbandits.systems.samba.streams import Masks, Places

_CIPHERS: tuple[CipherName, ...] = ("aes-gcm", "stream")
#: Powers of two that a mask may have contributed.
_OCTAVES = 2.0 ** np.arange(-100, 100)


class Truth:
    """Truth about a run, which follows from all keys."""

    def __init__(self, run: PartiesReplicate) -> None:
        self._comp, self._controller = run.one("comp"), run.one("controller")
        #: sᵢ of every owner.
        self.sums = [owner.state.rewards for owner in run.of("owner")]
        #: The sum of all rewards.
        self.total = sum(self.sums)
        turns = {
            (m.step, m.iteration)
            for _, m in run.network.transcript.deliveries
            if isinstance(m, ScoreList)
        }
        #: (arms,) places of the owners, by step and iteration.
        self.lists = {turn: self._controller.draws.places(*turn) for turn in turns}
        self._contents: dict[tuple[int, int, int, bytes], bytes] = {}
        self._scores: dict[tuple[int, int], Floats] = {}
        for _, message in run.network.transcript.deliveries:
            if isinstance(message, ScoreList | BitList):
                self._note(message)

    def _note(self, message: ScoreList | BitList) -> None:
        direction = SCORES if isinstance(message, ScoreList) else BITS
        opened = self._comp.reopen(direction, message.step, message.iteration, message.sealed)
        for sealed, contents in zip(message.sealed, opened, strict=True):
            self._contents[direction, message.step, message.iteration, sealed] = contents
        if isinstance(message, ScoreList):
            mask = self._controller.draws.mask(message.step, message.iteration)
            self._scores[message.step, message.iteration] = floats(opened) / mask

    def contents(self, direction: int, message: Any, sealed: bytes) -> bytes:
        """Return the contents of a packet."""
        return self._contents[direction, message.step, message.iteration, sealed]

    def place(self, message: Any, owner: int) -> int:
        """Return an owner's place in a list."""
        return int(self.lists[message.step, message.iteration][owner])

    def score(self, message: Any, owner: int) -> float:
        """Return an owner's score without its mask."""
        return float(self._scores[message.step, message.iteration][self.place(message, owner)])


class PublishedAdversary(Adversary):
    """An adversary in a published run."""

    def __init__(self, run: PartiesReplicate, *names: str) -> None:
        super().__init__(run, *names)
        derived = {
            key for held in self._held for key in make_keys(ControllerKeys, held, self._agreed)
        }
        self._keys = self._held | derived
        self._truth = Truth(run)

    def cumulative_reward(self) -> Exposure:
        if self._knows(self._truth.total):
            return Exposure.CLEAR
        # An owner knows the masks: with an owner's keys, scores without names are enough.
        if self._reads_sums(Exposure.PERMUTED if ONE_OWNER in self._names else Exposure.CLEAR):
            return Exposure.CLEAR
        totals = self._of(Total)
        if totals:
            return self._sum_exposure(totals[0].ciphertext, self._truth.total)
        senders = {message.sender for message in self._of(Sum)}
        return Exposure.ENCRYPTED if len(senders) == self._agreed.arms else Exposure.NOT_SEEN

    def _reads_sums(self, least: Exposure) -> bool:
        """Tell whether every owner's statistics are seen so well, and sums follow from scores."""
        owners = range(self._agreed.arms)
        return type(self._agreed.rule) in SCORES_KNOWN and all(
            self._statistics_of(owner) >= least for owner in owners
        )

    def _statistics_of(self, owner: int) -> Exposure:
        name = f"owner-{owner}"
        if name in self._names:
            return Exposure.CLEAR
        seen = [
            self._sum_exposure(message.ciphertext, self._truth.sums[owner])
            for message in self._of(Sum, sender=name)
        ]
        seen += [
            self._score_exposure(message, message.sealed, owner, named=True)
            for message in self._of(Score, sender=name)
            if message.sealed
        ]
        for message in self._of(ScoreList):
            sealed = message.sealed[self._truth.place(message, owner)]
            seen.append(self._score_exposure(message, sealed, owner, self._sees_through_places))
        return max(seen, default=Exposure.NOT_SEEN)

    def _score_exposure(self, message: Any, sealed: bytes, owner: int, named: bool) -> Exposure:
        if not self._opens(SCORES):
            return Exposure.ENCRYPTED
        value = float(floats([self._truth.contents(SCORES, message, sealed)])[0])
        true = self._truth.score(message, owner)
        known_masks = [Masks(key, self._agreed.iterations) for key in self._keys]
        unmasked = [value, *(value / m.draw(message.step, message.iteration) for m in known_masks)]
        if isinstance(message, ScoreList):
            seen = floats([self._truth.contents(SCORES, message, s) for s in message.sealed])
            unmasked += (value / common_divisor(seen) * _OCTAVES).tolist()
        if np.isclose(unmasked, true, rtol=1e-12, atol=0.0).any():
            return Exposure.CLEAR if named else Exposure.PERMUTED
        return Exposure.MASKED if named else Exposure.MASKED_PERMUTED

    def pulls(self) -> Exposure:
        """Return the exposure of the pulled arms.

        An owner sees its own bit. Others must open a bit and know its owner, or know the order of
        Comp's lists and guess.
        """
        if ONE_OWNER in self._names:
            return Exposure.CLEAR
        best = Exposure.NOT_SEEN
        for kind in (Bit, BitList):
            if self._of(kind):
                named = kind is Bit or self._sees_through_places
                opened = Exposure.CLEAR if named else Exposure.PERMUTED
                best = max(best, opened if self._opens(BITS) else Exposure.ENCRYPTED)
        return max(best, Exposure.GUESSED) if self._guesses_pulls() else best

    def _guesses_pulls(self) -> bool:
        if not self._sees_through_places:
            return False
        exploring, groups = exploring_steps(self._run), [list(pulled_arms(self._run))]
        if exploring:
            groups.append(exploring)
            if self._of(Drawn) and guess_by_drawn_score(self._run, exploring).beats_chance:
                return True
        return any(guess_by_place(self._run, group).beats_chance for group in groups)

    def single_rewards(self) -> Exposure:
        """Return the exposure of single rewards.

        An owner knows its own rewards. Readers of all sums in every step see the change by each
        pull.
        """
        seen = ONE_OWNER in self._names or (
            len(self._names) > 1 and self._reads_sums(Exposure.CLEAR)
        )
        return Exposure.CLEAR if seen else Exposure.NOT_SEEN

    @functools.cache  # noqa: B019 - an adversary is short-lived
    def _opens(self, direction: int) -> bool:
        """Tell whether some key opens all packets of a direction in the view."""
        scores = direction == SCORES
        kinds, size = ((Score, ScoreList), SCORE_BYTES) if scores else ((Bit, BitList), BIT_BYTES)
        packets = [
            (message, sealed)
            for message in self._of(*kinds)
            if message.sealed
            for sealed in self._listed(message)
        ]
        return any(
            all(self._reads(Channel(cipher, direction, size), *packet) for packet in packets)
            for cipher in self._ciphers()
        )

    @staticmethod
    def _listed(message: Any) -> Sequence[bytes]:
        return [message.sealed] if isinstance(message, Score | Bit) else message.sealed

    def _reads(self, channel: Channel, message: Any, sealed: bytes) -> bool:
        """Tell whether a packet opens to its true contents, at some slot."""
        true = self._truth.contents(channel.direction, message, sealed)
        for slot in range(self._agreed.arms):
            try:
                (opened,) = channel.open(message.step, message.iteration, [slot], [sealed], NEVER)
            except (TamperedPacketError, PacketLengthError):
                continue
            if opened == true:
                return True
        return False

    def _ciphers(self) -> Iterator[PacketCipher]:
        """Make ciphers with every key, as the secret of the run's key and as the key itself."""
        yield ClearCipher()
        for key in self._keys:
            for name in _CIPHERS:
                yield channel_cipher(name, key, self._agreed)
                yield make_cipher(name, key)

    @functools.cached_property
    def _sees_through_places(self) -> bool:
        """True if a standing order, some key or the messages give all places in every list."""
        agreed, lists = self._agreed, self._truth.lists
        guesses: list[Any] = [lambda step, iteration: np.arange(agreed.arms)]
        guesses += [Places(key, agreed.arms, agreed.iterations).draw for key in self._keys]
        guesses.append(self._told_places)
        return any(
            all(np.array_equal(guess(*turn), places) for turn, places in lists.items())
            for guess in guesses
        )

    def _told_places(self, step: int, iteration: int) -> Any:
        """Return the places that the messages tell: a Bit has the place in the next list."""
        owners = [f"owner-{i}" for i in range(self._agreed.arms)]
        places = self._places_told.get((step, iteration), {})
        return np.array([places.get(owner, -1) for owner in owners])

    @functools.cached_property
    def _places_told(self) -> dict[tuple[int, int], dict[str, int]]:
        agreed, places = self._agreed, dict[tuple[int, int], dict[str, int]]()
        for message in self._view:
            if isinstance(message, Setup):
                turn = (agreed.arms + 1, 1)
            elif isinstance(message, Bit):
                last = message.iteration == agreed.iterations
                turn = (message.step + 1, 1) if last else (message.step, message.iteration + 1)
            else:
                continue
            places.setdefault(turn, {})[message.receiver] = message.place
        return places

    def _sum_exposure(self, ciphertext: bytes, true: int) -> Exposure:
        for key in (*self._private, None):
            try:
                if decrypt(key, ciphertext) == true:
                    return Exposure.CLEAR
            except CiphertextError:
                continue
        return Exposure.ENCRYPTED
