"""Tries of a request that had no answer."""

from __future__ import annotations

import secrets

from fedbandits.client.calls import Call, DoorError, UnreachableError

#: Further tries of a request.
RETRIES, MOST_RETRIES = 3, 20
#: Seconds before the second try; each further wait is twice as long, up to the longest.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
#: No answer; a proxy's answer in the door's place; a door that is not ready. All may pass.
_PASSING = frozenset({0, 502, 503, 504})


class Tries:
    """Tries of one call, all with the same key, and what is known of those before.

    Parameters
    ----------
    call
        The call. A key that no other has is drawn unless it has one.
    retries
        How often it may be tried again.
    """

    def __init__(self, call: Call, retries: int) -> None:
        self.call = call._replace(key=call.key or secrets.token_hex(16))
        self._left = retries if call.again else 0
        self._wait = _FIRST_WAIT
        self._unanswered = False

    def wait_after(self, error: DoorError) -> float | None:
        """Return how many seconds to wait for the next try; None if an earlier one has arrived.

        Raises the ``error`` if it will not pass, or was the last one.
        """
        if self._unanswered and isinstance(error, self.call.done):
            return None
        if error.status not in _PASSING or not self._left:
            raise error
        self._unanswered |= isinstance(error, UnreachableError)
        self._left -= 1
        wait, self._wait = self._wait, min(2.0 * self._wait, _LONGEST_WAIT)
        return wait
