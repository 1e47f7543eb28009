"""Runs Optuna's samplers for several metrics on tasks with a known front.

    python optuna_front.py SEEDS WORKERS TRIALS PARAMETERS

All trials take equally long, so the workers ask together and tell together. What is written is, for each
task, sampler and seed, the values of all trials in their order.
"""

import json
import math
import sys
import warnings

import optuna

TASKS = {
    "ZDT1": lambda share: 1 - math.sqrt(share),
    "ZDT2": lambda share: 1 - share * share,
}

SAMPLERS = {
    "Optuna: NSGA-II": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    "Optuna: NSGA-II, population of 16": lambda seed: optuna.samplers.NSGAIISampler(seed=seed, population_size=16),
    "Optuna: TPE for several metrics (MOTPE)": lambda seed: optuna.samplers.TPESampler(seed=seed, constant_liar=True),
    "Optuna: the same, multivariate": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True),
}


def values(last, xs):
    g = 1 + 9 * sum(xs[1:]) / (len(xs) - 1)
    return xs[0], g * last(xs[0] / g)


def search(last, sampler, workers, trials, parameters):
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    out = []
    while len(out) < trials:
        batch = [study.ask() for _ in range(workers)]
        points = [[trial.suggest_float(f"x{i}", 0, 1) for i in range(parameters)] for trial in batch]
        for trial, xs in zip(batch, points):
            found = values(last, xs)
            study.tell(trial, found)
            out.append(found)
    return out[:trials]


def main():
    seeds, workers, trials, parameters = map(int, sys.argv[1:5])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    out = []
    for task, last in TASKS.items():
        for method, sampler in SAMPLERS.items():
            runs = [search(last, sampler(seed), workers, trials, parameters) for seed in range(seeds)]
            out.append({"task": task, "method": method, "runs": runs})
            print(f"{method}: {task} is done", file=sys.stderr)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
