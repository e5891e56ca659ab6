"""Flower's simulation in a process of its own: rounds of FedAvg over one vector.

    python -m beside.flower CLIENTS NUMBERS TURNS ROUNDS

Ray starts once. Every line of input has so many rounds played, and one line of JSON comes out with
the seconds of each. The first round, in which actors start, is not among them. A client adds its
number to what it was sent and sends it back.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

#: Nothing is reported to the makers of either.
os.environ.update(FLWR_TELEMETRY_ENABLED="0", RAY_USAGE_STATS_ENABLED="0")


class Turns:
    """Called at the end of each round: it tells the seconds of a turn, and waits for the next."""

    def __init__(self, rounds: int) -> None:
        self._answers = os.fdopen(os.dup(1), "w")  # what others print goes to the error channel
        os.dup2(2, 1)
        self._rounds, self._seconds, self._began = rounds, list[float](), 0.0

    def __call__(self, round_: int, arrays: Any) -> None:
        if round_ == 0:  # before the first one
            return
        if round_ > 1:
            self._seconds.append(time.perf_counter() - self._began)
        if len(self._seconds) == self._rounds:
            self._answers.write(json.dumps({"seconds": self._seconds}) + "\n")
            self._answers.flush()
            self._seconds = []
        if not self._seconds:
            sys.stdin.readline()
        self._began = time.perf_counter()


def main(clients: int, numbers: int, turns: int, rounds: int) -> None:
    import numpy as np
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    client, server, note = ClientApp(), ServerApp(), Turns(rounds)

    @client.train()
    def train(message: Message, context: Context) -> Message:
        (values,) = message.content["arrays"].to_numpy_ndarrays()
        own = values + float(context.node_config["partition-id"])
        content = RecordDict(
            {"arrays": ArrayRecord([own]), "metrics": MetricRecord({"num-examples": 1})}
        )
        return Message(content=content, reply_to=message)

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy = FedAvg(
            fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=clients,
            min_available_nodes=clients,
        )  # fmt: skip
        begin, most = ArrayRecord([np.zeros(numbers)]), turns * rounds + 1
        strategy.start(grid=grid, initial_arrays=begin, num_rounds=most, evaluate_fn=note)

    warnings.simplefilter("ignore")
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server, client, num_supernodes=clients, backend_config=resources)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
