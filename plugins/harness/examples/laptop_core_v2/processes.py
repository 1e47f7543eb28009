"""A search with several processes, each of which runs trials: ``python3 processes.py NAME``."""

import concurrent.futures
import multiprocessing
import sys

import line

from determined.experimental import core_v2

RATES = (0.01, 0.05, 0.2, 0.3)


def run(name, rate):
    """Run one trial of the search; it is in the same experiment as the others."""
    config = line.config(name, f"rate-{rate}", rate)
    with core_v2.init_context(config=config) as core_context:
        return rate, line.train(core_context)


def main():
    name = sys.argv[1]
    # Each trial is a program of its own, so its output goes to its own log.
    fresh = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(max_workers=2, mp_context=fresh) as pool:
        results = list(pool.map(run, [name] * len(RATES), RATES))
    rate, loss = min(results, key=lambda result: result[1])
    print(f"the best learning rate is {rate}, with a loss of {loss:.4f}")


if __name__ == "__main__":
    main()
