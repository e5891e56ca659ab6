"""Processor seconds of compilation, case after case in one process, with nothing cached.

A case is a world and presets that play in it: the synthetic world, real data, agents that join
late, and persons. What a case needs beyond the cases before it is the price of a new world or of a
new variant. A unit is a kernel that is compiled for one signature.

    python benchmarks/compilation.py [ROOT …]      other checkouts, for comparison
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

CASES = textwrap.dedent(
    """
    import time
    from numba.core import event

    class Listener(event.Listener):
        units = 0
        def on_start(self, event): self.units += 1
        def on_end(self, event): pass

    listener = Listener()
    event.register("numba:compile", listener)
    import fedbandits as fb
    from fedbandits.environments import Classification, Linear

    linear = Linear(agents=3, dim=4, arms=5)
    visits = Classification(dataset="breast_cancer", agents=3, components=4)
    late = Linear(agents=3, dim=4, arms=5, first_round=(1, 5, 9))
    own = dict(epsilon=4.0, delta=0.1)
    cases = {
        "linear: feducb": (linear, "feducb", own),
        "linear: + hybrid": (linear, "feducb-hybrid", own),
        "breast cancer: feducb": (visits, "feducb", own),
        "breast cancer: + hybrid": (visits, "feducb-hybrid", own),
        "late joiners: feducb": (late, "feducb", own),
        "persons: feducb": (visits, "feducb", own | {"unit": "person"}),
        "linear: peer to peer": (
            linear, "feducb-p2p", own | {"graph": "ring", "gamma": 1}
        ),
        "breast cancer: peer to peer": (
            visits, "feducb-p2p", own | {"graph": "ring", "gamma": 1}
        ),
    }
    total = 0.0
    for name, (world, preset, settings) in cases.items():
        world.prepare()
        began, units = time.process_time(), listener.units
        played = fb.Experiment(
            rounds=20, environment=world, systems=[fb.system(preset, **settings)]
        )
        fb.run(played, jobs=1)
        spent = time.process_time() - began
        total += spent
        print(f"{name:28} {spent:6.1f} s {listener.units - units:4d} units", flush=True)
    print(f"{'all':28} {total:6.1f} s {listener.units:4d} units", flush=True)
    """
)


def main() -> None:
    for root in sys.argv[1:] or ["."]:
        source = pathlib.Path(root).resolve() / "src"
        with tempfile.TemporaryDirectory() as cache:
            own = os.environ | {"PYTHONPATH": str(source), "XDG_CACHE_HOME": cache}
            own.pop("NUMBA_CACHE_DIR", None)
            print(root, flush=True)
            subprocess.run([sys.executable, "-c", CASES], env=own, check=True)  # noqa: S603


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
