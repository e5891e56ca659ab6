"""Findings of a run's participants, where encryption protects and no ε is claimed."""

from __future__ import annotations

import msgspec

from fedbandits.privacy.error_rates import rate_bound


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of how often somebody was right about what it was not told."""

    who: str  # who guessed, in words
    what: str  # what was guessed, in words
    right: int  # how many guesses were right
    of: int  # how many guesses there were
    chance: float  # share of right guesses that needs no attack
    stated: bool  # whether the claim says that this is not protected

    def beats_chance(self, confidence: float) -> bool:
        """Tell whether right guesses are more than chance makes (Clopper & Pearson 1934)."""
        return 1.0 - rate_bound(self.of - self.right, self.of, 1.0 - confidence) > self.chance

    @property
    def share(self) -> str:
        """Right guesses, in words."""
        return f"{self.right:,} of {self.of:,} ({100 * self.right / max(1, self.of):.1f}%)"

    @property
    def text(self) -> str:
        """The guess in one line."""
        said = "the claim says so" if self.stated else f"by chance {100 * self.chance:.1f}%"
        return f"{self.who}: {self.what}: {self.share}, {said}"


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an examination of a run's participants."""

    guesses: tuple[Guess, ...]
    participants: tuple[str, ...]  # columns of the table: who looked
    table: tuple[tuple[str, ...], ...]  # rows: a datum, and how each participant sees it
    excess: tuple[str, ...]  # cells that show more than the claim says, in words

    def broken(self, confidence: float) -> tuple[str, ...]:
        """Return what shows more than the claim says; all is right with this confidence."""
        each = 1.0 - (1.0 - confidence) / max(1, len(self.guesses))
        return self.excess + tuple(
            guess.text for guess in self.guesses if not guess.stated and guess.beats_chance(each)
        )
