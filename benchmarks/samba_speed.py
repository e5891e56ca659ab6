"""CPU seconds of SAMBA's UCB at N = 100,000, K = 100: every way to play it, and Paillier's part.

Medians over repetitions; give a smaller N as the first argument for a quick look.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.systems import Simulation
from fedbandits.systems.samba import Samba
from fedbandits.testing.replicates import federate, simulate
from usage import explain

explain(__doc__)
BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ARMS = 100


def cpu_seconds(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def played(config: Samba, repetitions: int) -> tuple[float, Simulation]:
    """Median seconds of all rounds but the last, which is followed by Paillier's part."""
    seconds = []
    for repetition in range(repetitions):
        run = simulate(config, Bernoulli(arms=ARMS), BUDGET, 0, repetition)
        seconds.append(cpu_seconds(lambda run=run: run.advance(BUDGET - 1)))
    return statistics.median(seconds), run


def main() -> None:
    print(f"UCB, N = {BUDGET:,}, K = {ARMS}, CPU seconds of one process:")
    for name, config, repetitions in (
        ("plain", Samba(execution="plain"), 5),
        ("distributed, compiled loop", Samba(execution="distributed"), 3),
        ("secure, stream cipher", Samba(cipher="stream"), 3),
        ("secure, AES-GCM", Samba(), 1),
    ):
        seconds, run = played(config, repetitions)
        each = 1e6 * seconds / (BUDGET * ARMS)
        print(f"  {name:28s} {seconds:7.2f}   ({each:.3f} µs an arm-step)", flush=True)
    total = sum(run.seconds.values())
    shares = ", ".join(f"{role} {100 * s / total:.1f}%" for role, s in run.seconds.items())
    print(f"  shares of time, AES-GCM: {shares}")
    run.advance(BUDGET)
    print(f"  messages {run.messages:,}, bytes of ciphertext {run.bytes:,}")
    for bits in (2048, 3072):
        print(f"Paillier, {bits} bits: {paillier_part(bits)}")
    steps = 1000
    parties = federate(Samba(paillier_bits=2048), Bernoulli(arms=ARMS), ARMS + steps, 0, 0)
    parties.advance(ARMS)
    each = 1e6 * cpu_seconds(lambda: parties.advance(ARMS + steps - 1)) / (steps * ARMS)
    print(f"parties with messages, AES-GCM: {each:.1f} µs an arm-step")


def paillier_part(bits: int) -> str:
    keys: list[paillier.PrivateKey] = []
    made = statistics.median(
        cpu_seconds(lambda: keys.append(paillier.generate(bits))) for _ in range(5)
    )
    public, ciphertexts = keys[-1].public_key, []
    encrypted = cpu_seconds(lambda: ciphertexts.extend(map(public.encrypt, range(ARMS))))
    summed = cpu_seconds(lambda: keys[-1].decrypt(public.add(*ciphertexts)))
    return f"key {made:.2f}, {ARMS} encryptions {encrypted:.2f}, sum and decryption {summed:.3f}"


if __name__ == "__main__":
    main()
