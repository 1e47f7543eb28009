"""One of two workers that average gradients: by the chief, with collectives, or with a strategy."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from typing import Any, Callable, Dict, List

import tensorflow as tf

from determined import core
from determined.keras import _average, _collectives

SIZES = {1: 10, 40: 10, 400: 2}  # MB, and how often in a round


def seconds(do: Callable[[], Any], times: int) -> float:
    do()
    started = time.perf_counter()
    for _ in range(times):
        do()
    return (time.perf_counter() - started) / times


def main(rank: int, rounds: int) -> None:
    distributed = core.DistributedContext(
        rank=rank, size=2, local_rank=rank, local_size=2, cross_rank=0, cross_size=1
    )
    joined = _collectives.Collectives(distributed)
    strategy = joined._strategy
    found: Dict[int, Dict[str, List[float]]] = {}
    chief = _average._through_chief(distributed)
    # As workers of two nodes talk, but over loopback.
    tcp = core.DistributedContext(
        rank=rank,
        size=2,
        local_rank=rank,
        local_size=2,
        cross_rank=0,
        cross_size=1,
        port_offset=1,
        force_tcp=True,
    )
    networked = _average._through_chief(tcp)

    def ways_of(gradients: Any) -> Dict[str, Callable[[], Any]]:
        def all_reduce() -> Any:
            return tf.distribute.get_replica_context().all_reduce("MEAN", gradients)

        return {
            "chief": tf.function(lambda: chief(gradients)),
            "network": tf.function(lambda: networked(gradients)),
            "ours": tf.function(lambda: joined.mean(gradients)),
            "yard": tf.function(lambda: strategy.run(all_reduce)),
        }

    for size, times in SIZES.items():
        ways = ways_of([tf.random.uniform((size * 131072,)) for _ in range(2)])
        found[size] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                found[size][name].append(1000 * seconds(way, times))
    if rank == 0:
        pathlib.Path(os.environ["BENCH_OUT"]).write_text(json.dumps(found))
    for context in (tcp, distributed):
        context.broadcast(None)
        context.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
