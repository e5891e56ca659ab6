"""Flower's simulation in a process of its own: rounds of FedAvg over one vector.

    python -m beside.flower

A line of JSON comes in with clients, numbers and rounds; one goes out with the seconds of each
round but the first, in which actors start. A client adds its number to what it was sent and sends
it back.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from itertools import pairwise
from typing import Any

#: Nothing is reported to the makers of either.
os.environ.update(FLWR_TELEMETRY_ENABLED="0", RAY_USAGE_STATS_ENABLED="0")


def play(clients: int, numbers: int, rounds: int) -> list[float]:
    """Seconds of each round after the first."""
    import numpy as np
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    client, server, ended = ClientApp(), ServerApp(), list[float]()

    @client.train()
    def train(message: Message, context: Context) -> Message:
        (values,) = message.content["arrays"].to_numpy_ndarrays()
        own = values + float(context.node_config["partition-id"])
        content = RecordDict(
            {"arrays": ArrayRecord([own]), "metrics": MetricRecord({"num-examples": 1})}
        )
        return Message(content=content, reply_to=message)

    def note(round_: int, arrays: Any) -> None:
        ended.append(time.perf_counter())

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = FedAvg(
            fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=clients,
            min_available_nodes=clients,
        )  # fmt: skip
        begin = ArrayRecord([np.zeros(numbers)])
        strategy.start(grid=grid, initial_arrays=begin, num_rounds=rounds + 1, evaluate_fn=note)

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server, client, num_supernodes=clients, backend_config=resources)
    return [after - before for before, after in pairwise(ended[1:])]


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        seconds = play(**json.loads(line))
        answers.write(json.dumps({"seconds": seconds}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
