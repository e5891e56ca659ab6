"""Noise of the privatizers per unit of L² + B² at μ = 1, and of whole FedUCB plans."""

from __future__ import annotations

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.privacy.continual import calibrated
from fedbandits.systems.feducb.plan import make_plan


def main() -> None:
    print("largest off-diagonal deviation at μ = 1:  n  toeplitz  tree")
    for power in (7, 10, 14):
        n = 2**power
        toeplitz, tree = (calibrated(m, n, 1.0, 1.0) for m in ("toeplitz", "tree"))
        largest = max(tree.deviation(n - 1), tree.deviation(n))
        print(f"  {n:6d}  {toeplitz.deviation(n):.3f}  {largest:.2f}")
    print("deviation of the released sum, M=10, d=10, T=60,000, ε=1:  δ  feducb  published  ratio")
    for delta in (0.1, 1e-5):
        sums = [
            make_plan(
                system(preset, delta=delta).config, Linear().facts, 60_000
            ).release.largest_deviation()
            for preset in ("feducb", "feducb-published")
        ]
        print(f"  {delta:6g}  {sums[0]:.2f}  {sums[1]:.1f}  {sums[1] / sums[0]:.0f}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
