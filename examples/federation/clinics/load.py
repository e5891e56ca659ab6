"""The application of one clinic: patients come, are treated, and tell how it went, later.

The world is made up, and simple: a treatment is four numbers, and helps with a probability that
is linear in them. No clinic knows in which way; that is what they learn together.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import secrets
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits.client import Client, DuplicateError, LateError, UnavailableError, UnreachableError

#: How treatments truly work: nobody is told.
THETA = np.array([0.7, -0.5, 0.4, 0.3162])
TREATMENTS = 5
#: Seconds until a patient comes back, at least and on average.
SOONEST, USUALLY = 0.3, 1.5
#: This share of the patients never comes back.
LOST = 0.03
#: What a request does that has no answer: the clinic's process may be gone for a while.
GONE = (UnreachableError, UnavailableError)
_PAUSE = 0.2


class Visit(NamedTuple):
    """A visit: when it was, in seconds since 1970, what was hoped for, and what could be best."""

    at: float
    mean: float
    best: float


class Clinic:
    """Patients of one clinic, until a time is over.

    Parameters
    ----------
    client
        Of the door of the clinic's party.
    seed
        Of its patients.
    end
        When no more come, in seconds since 1970.
    """

    def __init__(self, client: Client, seed: int, end: float) -> None:
        self._client, self._rng, self._end = client, np.random.default_rng(seed), end
        self._due: list[tuple[float, int, str, float]] = []
        self._count = itertools.count()
        self.visits: list[Visit] = []
        #: How often there was no answer, and how many rewards came too late to count.
        self.unanswered = self.late = 0
        self.told = self.lost = 0

    def play(self) -> None:
        """Treat patients, and tell of those who are back; at the end all others' rewards."""
        while time.time() < self._end:
            self._treat()
            self._tell(time.time())
        self._tell(float("inf"))

    def _treat(self) -> None:
        treatments = self._rng.normal(size=(TREATMENTS, THETA.size))
        treatments /= np.linalg.norm(treatments, axis=1, keepdims=True) * (1.0 + 1e-6)
        means = treatments @ THETA
        key = secrets.token_hex(16)  # asked again with it, it is the same decision
        decision = self._asked(partial(self._client.decide, actions=treatments, key=key))
        if decision is None:
            return
        mean = float(means[decision.action])
        self.visits.append(Visit(time.time(), mean, float(means.max())))
        helped = 1.0 if self._rng.random() < (1.0 + mean) / 2.0 else -1.0
        if self._rng.random() < LOST:
            self.lost += 1
            return
        back = time.time() + SOONEST + self._rng.exponential(USUALLY - SOONEST)
        heapq.heappush(self._due, (back, next(self._count), decision.id, helped))

    def _tell(self, now: float) -> None:
        """Tell of all patients who are back by now."""
        while self._due and self._due[0][0] <= now:
            _, _, decision, reward = self._due[0]
            self._asked(partial(self._reward, decision, reward), patience=60.0)
            heapq.heappop(self._due)

    def _reward(self, decision: str, reward: float) -> None:
        """A reward can be told again if there was no answer: it counts once."""
        try:
            self._client.reward(decision, reward)
            self.told += 1
        except DuplicateError:  # it had arrived; the answer was lost
            self.told += 1
        except LateError:  # a default stands in its place
            self.late += 1

    def _asked(self, ask: Callable[[], Any], patience: float = 0.0) -> Any:
        """What is answered; again and again while nobody answers, until the time is over."""
        while True:
            with contextlib.suppress(*GONE):
                return ask()
            self.unanswered += 1
            if time.time() > self._end + patience:
                return None
            time.sleep(_PAUSE)


def play_all(clinics: list[Clinic]) -> list[threading.Thread]:
    """Let all clinics begin; the threads in which they work."""
    threads = [threading.Thread(target=clinic.play, daemon=True) for clinic in clinics]
    for thread in threads:
        thread.start()
    return threads
