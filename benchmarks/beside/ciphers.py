"""Paillier encryption with 2,048 bits: phe, and this package."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from beside.table import number, ratio, table
from beside.turns import ratios, take_turns

BITS, MESSAGE = 2048, 123_456_789
#: How often each is done in a turn; the time to find two primes varies much.
OFTEN = {"a key pair": 20, "encrypt": 20, "add two": 500, "decrypt": 40}


def compare(quick: bool) -> str:
    """A row for each operation: milliseconds of both."""
    try:
        both = {"ours": _ours(), "phe": _phe()}
    except ImportError as error:
        return f"Nothing is compared: {error}\n"
    rows = []
    for operation, often in OFTEN.items():
        jobs = {name: _repeated(made[operation], often) for name, made in both.items()}
        found = take_turns(jobs, 3 if quick else 5)
        ours, peer = (1e3 * median(found[name]) for name in ("ours", "phe"))
        rows.append(
            [operation, number(ours), number(peer), ratio(ratios(found["phe"], found["ours"]))]
        )
    return table(("", "ours, milliseconds", "phe, milliseconds", "phe's time, ours = 1"), rows)


def _repeated(job: Callable[[], Any], often: int) -> Callable[[], float]:
    def seconds() -> float:
        began = time.process_time()
        for _ in range(often):
            job()
        return (time.process_time() - began) / often

    return seconds


def _ours() -> dict[str, Callable[[], Any]]:
    from fedbandits.crypto import paillier

    private = paillier.generate(BITS)
    public = private.public_key
    one = public.encrypt(MESSAGE)
    assert private.decrypt(public.add(one, one)) == 2 * MESSAGE
    return {
        "a key pair": lambda: paillier.generate(BITS),
        "encrypt": lambda: public.encrypt(MESSAGE),
        "add two": lambda: public.add(one, one),
        "decrypt": lambda: private.decrypt(one),
    }


def _phe() -> dict[str, Callable[[], Any]]:
    from phe import paillier

    public, private = paillier.generate_paillier_keypair(n_length=BITS)
    one = public.encrypt(MESSAGE)
    assert private.decrypt(one + one) == 2 * MESSAGE
    return {
        "a key pair": lambda: paillier.generate_paillier_keypair(n_length=BITS),
        "encrypt": lambda: public.encrypt(MESSAGE),
        "add two": lambda: one + one,
        "decrypt": lambda: private.decrypt(one),
    }
