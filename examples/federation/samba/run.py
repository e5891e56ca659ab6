"""A customer orders displays of four offers; nobody sees how an offer does but its owner.

See docs/federation-integrate.md, "SAMBA: an owner's pulls".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from machine import PATIENCE, Machine, stop_at_sigterm  # noqa: E402

#: How likely a click is: each owner can find out its own offer's alone.
OFFERS = {"books": 0.2, "music": 0.35, "films": 0.7, "games": 0.5}


def main() -> None:
    """Order, answer pulls, and compare the total with the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/samba"))
    parser.add_argument("--rounds", type=int, help="another number of displays")
    parser.add_argument("--begins", type=float, help="seconds until the clock begins")
    given = parser.parse_args()
    stop_at_sigterm()
    machine = Machine(HERE / "federation.toml", given.out, given.begins, rounds=given.rounds)
    tokens = {name: machine.token(name, "shop-window") for name in OFFERS}
    with machine.up(), owners(machine, tokens) as processes:
        said = machine.command("samba", "order", given.out / "customer")
        for process in processes:
            process.wait(PATIENCE)
    total = int(said.rpartition("total:")[2])
    truth = [json.loads(_truth(given.out, name).read_text()) for name in OFFERS]
    true_total = sum(told["clicks"] for told in truth)
    print(f"the customer has decrypted {total}; the owners' clicks add up to {true_total}")
    if total != true_total:
        raise SystemExit("they differ")


@contextlib.contextmanager
def owners(machine: Machine, tokens: dict[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """An owner's application each; they have ended when the block has."""
    processes = []
    try:
        for seed, (name, mean) in enumerate(OFFERS.items()):
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, str(HERE / "owner.py"), name,
                 "--url", machine.running(name)["url"], "--mean", str(mean),
                 "--seed", str(seed), "--truth", str(_truth(machine.folder, name))],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )  # fmt: skip
            processes.append(process)
            print(tokens[name], file=process.stdin, flush=True)
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _truth(folder: pathlib.Path, name: str) -> pathlib.Path:
    return folder / f"{name}.json"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; everything that was started has ended")
