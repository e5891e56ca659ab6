"""Named SAMBA variants: every algorithm, secure, distributed without encryption, and plain."""

from __future__ import annotations

from fedbandits.systems.base import Preset

_ALGORITHMS = {
    "ucb": ("ucb", "UCB"),
    "ucb-tuned": ("ucb-tuned", "UCB1-Tuned"),
    "kl-ucb": ("kl-ucb", "KL-UCB"),
    "thompson": ("thompson", "Thompson sampling"),
    "egreedy": ("epsilon-greedy", "ε-greedy"),
    "egreedy-decreasing": ("decreasing-epsilon-greedy", "ε-greedy with decreasing ε"),
    "softmax": ("softmax", "Softmax"),
    "pursuit": ("pursuit", "Pursuit"),
}
_EXECUTIONS = {
    "samba": ("secure", "{} by SAMBA: scores and bits are encrypted, and servers see masked ones"),
    "distributed": (
        "distributed",
        "{} with SAMBA's messages in clear; shows the cost of encryption",
    ),
    "plain": ("plain", "{} on one machine; SAMBA must return the same"),
}

#: How the algorithm is run, and what hides it: one machine that has all data pulls the same arms.
_SHARING = (
    "execution", "cipher", "paillier_bits", "exploration_shortcut", "tie_breaking", "comparison",
    "arity", "total",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    f"{prefix}-{name}": Preset(
        description.format(title),
        {"algorithm": algorithm, "execution": execution},
        stands_for="pooled" if prefix == "plain" else "",
        sharing=_SHARING,
    )
    for prefix, (execution, description) in _EXECUTIONS.items()
    for name, (algorithm, title) in _ALGORITHMS.items()
}
PRESETS["samba-egreedy-printed"] = Preset(
    "ε-greedy by SAMBA as printed: the Controller draws the scores of exploring steps",
    {
        "algorithm": "epsilon-greedy",
        "execution": "secure",
        "exploration_shortcut": "published",
        "tie_breaking": "first",
        "paillier_bits": 2048,
    },
)

PRESETS |= {
    f"samba-silent-{name}": Preset(
        f"{title} by SAMBA with shared scores: neither server learns anything about them",
        {
            "algorithm": algorithm,
            "execution": "secure",
            "comparison": "silent",
            "total": "shares",
        },
        sharing=_SHARING,
    )
    for name, (algorithm, title) in _ALGORITHMS.items()
}
