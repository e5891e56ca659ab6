"""Two shops recommend items to customers of two kinds, by a server each, under FCLUB.

See docs/federation-integrate.md. The world is made up: a customer buys with a probability that is
linear in the item, and customers of a kind are alike, wherever they shop.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from machine import Machine, stop_at_sigterm  # noqa: E402

from fedbandits.client import Client, DuplicateError  # noqa: E402

#: Customers of each shop, by their numbers in the terms; which kind they are is told to nobody.
CUSTOMERS = {"downtown": (0, 1, 2, 3), "harbour": (4, 5, 6, 7)}
KINDS = np.array([[0.9, 0.1, 0.1], [0.1, 0.1, 0.9]])
ITEMS = 5


class Shop:
    """Customers of one shop, until a time is over.

    Parameters
    ----------
    client
        Of the door of the shop's server.
    customers
        Their numbers.
    seed
        Of what they do.
    """

    def __init__(self, client: Client, customers: tuple[int, ...], seed: int) -> None:
        self._client, self._customers = client, customers
        self._rng = np.random.default_rng(seed)
        #: For every visit how likely a purchase was, and how likely it could have been.
        self.visits: list[tuple[float, float]] = []

    def play(self, end: float) -> None:
        """Recommend, and tell what was bought."""
        while time.time() < end:
            user = int(self._rng.choice(self._customers))
            items = np.abs(self._rng.normal(size=(ITEMS, KINDS.shape[1])))
            items /= np.linalg.norm(items, axis=1, keepdims=True) * (1.0 + 1e-6)
            chances = items @ KINDS[user % 2]
            decision = self._client.decide(user=user, items=items)
            chance = float(chances[decision.action])
            self.visits.append((chance, float(chances.max())))
            try:
                self._client.reward(decision, float(self._rng.random() < chance))
            except DuplicateError:  # it had arrived; the answer was lost
                continue


def main() -> None:
    """Play, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/shops"))
    parser.add_argument("--seconds", type=float, default=24.0, help="how long customers come")
    parser.add_argument("--every", help="another length of a round")
    parser.add_argument("--begins", type=float, help="seconds until the clock begins")
    given = parser.parse_args()
    stop_at_sigterm()
    machine = Machine(HERE / "federation.toml", given.out, given.begins, given.every)
    tokens = {name: machine.token(name, "till") for name in CUSTOMERS}
    with machine.up():
        machine.wait_for_start()
        shops = [
            Shop(machine.client(name, tokens[name]), customers, seed)
            for seed, (name, customers) in enumerate(CUSTOMERS.items())
        ]
        end = time.time() + given.seconds
        threads = [threading.Thread(target=s.play, args=(end,), daemon=True) for s in shops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        machine.command("federation", "status", given.out)
    for name in CUSTOMERS:
        machine.command("party", "export", given.out / name, given.out / f"{name}.npz")
    machine.command("privacy", "--ledger", *(given.out / name / "store.db" for name in CUSTOMERS))
    for name, shop in zip(CUSTOMERS, shops, strict=True):
        part = max(1, len(shop.visits) // 5)
        first, last = (np.mean(v, axis=0) for v in (shop.visits[:part], shop.visits[-part:]))
        print(
            f"{name}: {len(shop.visits):,} visits; chance of a purchase {first[0]:.2f} in the "
            f"first fifth, {last[0]:.2f} in the last; the best items: {last[1]:.2f}"
        )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; everything that was started has ended")
