"""An adversary in a published run, and the truth that it is held against."""

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
    """Truth about a run, known to whoever has every key."""

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
        """Return what is in a packet."""
        return self._contents[direction, message.step, message.iteration, sealed]

    def place(self, message: Any, owner: int) -> int:
        """Return where an owner stands in a list."""
        return int(self.lists[message.step, message.iteration][owner])

    def score(self, message: Any, owner: int) -> float:
        """Return an owner's score without its mask."""
        return float(self._scores[message.step, message.iteration][self.place(message, owner)])


class PublishedAdversary(Adversary):
    """An adversary in a published run."""

    def __init__(self, run: PartiesReplicate, *names: str) -> None:
        super().__init__(run, *names)
        derived = {
            own for key in self._found for own in make_keys(ControllerKeys, key, self._agreed)
        }
        self._keys = self._found | derived
        self._truth = Truth(run)

    def cumulative_reward(self) -> Exposure:
        known = [getattr(party.state, "cumulative_reward", None) for party in self._parties]
        if self._truth.total in known:
            return Exposure.CLEAR
        # An owner knows the masks: together with it, scores without names are enough.
        if self._reads_sums(Exposure.PERMUTED if ONE_OWNER in self._names else Exposure.CLEAR):
            return Exposure.CLEAR
        totals = [message for message in self._view if isinstance(message, Total)]
        if totals:
            return self._sum_exposure(totals[0].ciphertext, self._truth.total)
        sums = [message.sender for message in self._view if isinstance(message, Sum)]
        return Exposure.ENCRYPTED if len(set(sums)) == self._agreed.arms else Exposure.NOT_SEEN

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
        best = Exposure.NOT_SEEN
        for message in self._view:
            if isinstance(message, Sum) and message.sender == name:
                truth = self._truth.sums[owner]
                best = max(best, self._sum_exposure(message.ciphertext, truth))
            elif isinstance(message, Score) and message.sender == name and message.sealed:
                best = max(best, self._score_exposure(message, message.sealed, owner, named=True))
            elif isinstance(message, ScoreList):
                place = self._truth.place(message, owner)
                named = self._sees_through_places
                best = max(best, self._score_exposure(message, message.sealed[place], owner, named))
        return best

    def _score_exposure(self, message: Any, sealed: bytes, owner: int, named: bool) -> Exposure:
        opened = self._open(SCORES, SCORE_BYTES, message, sealed)
        if opened is None:
            return Exposure.ENCRYPTED
        value = float(floats([opened])[0])
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
        """Return how it sees which arm was pulled.

        An owner sees its own bit. Others must open a bit and know whose it is, or know the order of
        Comp's lists and guess.
        """
        if ONE_OWNER in self._names:
            return Exposure.CLEAR
        best = Exposure.NOT_SEEN
        for message in self._view:
            if isinstance(message, Bit):
                opened = self._open(BITS, BIT_BYTES, message, message.sealed)
                best = max(best, Exposure.ENCRYPTED if opened is None else Exposure.CLEAR)
            elif isinstance(message, BitList):
                opened = self._open(BITS, BIT_BYTES, message, message.sealed[0])
                named = Exposure.CLEAR if self._sees_through_places else Exposure.PERMUTED
                best = max(best, Exposure.ENCRYPTED if opened is None else named)
        return max(best, Exposure.GUESSED) if self._guesses_pulls() else best

    def _guesses_pulls(self) -> bool:
        if not self._sees_through_places:
            return False
        exploring, groups = exploring_steps(self._run), [list(pulled_arms(self._run))]
        if exploring:
            groups.append(exploring)
            drawn = any(isinstance(message, Drawn) for message in self._view)
            if drawn and guess_by_drawn_score(self._run, exploring).beats_chance:
                return True
        return any(guess_by_place(self._run, group).beats_chance for group in groups)

    def single_rewards(self) -> Exposure:
        """Return how it sees single rewards.

        An owner makes its own. An adversary that reads all sums in every step sees how each pull
        changes them.
        """
        seen = ONE_OWNER in self._names or (
            len(self._names) > 1 and self._reads_sums(Exposure.CLEAR)
        )
        return Exposure.CLEAR if seen else Exposure.NOT_SEEN

    def _open(self, direction: int, size: int, message: Any, sealed: bytes) -> bytes | None:
        """Return a packet's contents, if some key opens this and all others of the view."""
        if not self._opens(direction, size):
            return None
        return self._truth.contents(direction, message, sealed)

    @functools.cache  # noqa: B019 - an adversary is short-lived
    def _opens(self, direction: int, size: int) -> bool:
        kinds = (Score, ScoreList) if direction == SCORES else (Bit, BitList)
        packets = [
            (message, sealed)
            for message in self._view
            if isinstance(message, kinds) and message.sealed
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
        """Tell whether a packet opens to what is in it, at whatever slot."""
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
        """Make ciphers with every key: as the run's key is made of it, and as it is."""
        yield ClearCipher()
        for key in self._keys:
            for name in _CIPHERS:
                yield channel_cipher(name, key, self._agreed)
                yield make_cipher(name, key)

    @functools.cached_property
    def _sees_through_places(self) -> bool:
        """True if a standing order, or some key, tells who is where in every list."""
        agreed, lists = self._agreed, self._truth.lists
        guesses: list[Any] = [lambda step, iteration: np.arange(agreed.arms)]
        guesses += [Places(key, agreed.arms, agreed.iterations).draw for key in self._keys]
        guesses.append(self._told_places)
        return any(
            all(np.array_equal(guess(*turn), places) for turn, places in lists.items())
            for guess in guesses
        )

    def _told_places(self, step: int, iteration: int) -> Any:
        """Return the places that messages tell whoever sees them all (a Bit tells the next)."""
        owners = [f"owner-{i}" for i in range(self._agreed.arms)]
        told = self._places_told.get((step, iteration), {})
        return np.array([told.get(owner, -1) for owner in owners])

    @functools.cached_property
    def _places_told(self) -> dict[tuple[int, int], dict[str, int]]:
        agreed, told = self._agreed, dict[tuple[int, int], dict[str, int]]()
        for message in self._view:
            if isinstance(message, Setup):
                turn = (agreed.arms + 1, 1)
            elif isinstance(message, Bit):
                last = message.iteration == agreed.iterations
                turn = (message.step + 1, 1) if last else (message.step, message.iteration + 1)
            else:
                continue
            told.setdefault(turn, {})[message.receiver] = message.place
        return told

    def _sum_exposure(self, ciphertext: bytes, true: int) -> Exposure:
        for key in (*self._private, None):
            try:
                if decrypt(key, ciphertext) == true:
                    return Exposure.CLEAR
            except CiphertextError:
                continue
        return Exposure.ENCRYPTED
