"""Runs Optuna on a table of learning curves, in virtual time.

    python optuna_runs.py TABLE SEEDS WORKERS TIME [NAME]

Workers train trials for one epoch at a time; after each, the trial reports and asks whether it is to be
pruned. Sampler and pruner see exactly what they would see with real workers. What is written is, for each
way to use Optuna (of whose name NAME is a part) and each seed, when which result became the best.
"""

import gzip
import heapq
import json
import sys
import warnings

import numpy as np
import optuna


def read(path):
    with gzip.open(path) as f:
        head = json.loads(f.readline())
        curves = np.frombuffer(f.read(), "<u2").reshape(-1, head["epochs"]) / 65535
    return head, curves


def setting(head, trial):
    at = 0
    for axis in head["axes"]:
        values = axis["values"]
        if axis["type"] == "categorical":
            place = values.index(trial.suggest_categorical(axis["name"], values))
        else:
            place = trial.suggest_int(axis["name"], 0, len(values) - 1)
        at = at * len(values) + place
    return at


def search(head, curves, sampler, pruner, workers, time):
    study = optuna.create_study(direction="minimize", sampler=sampler, pruner=pruner)
    trace, best, running = [], float("inf"), []

    def start(worker, now):
        trial = study.ask()
        heapq.heappush(running, (now + 1, worker, trial.number, 1, trial, curves[setting(head, trial)]))

    for worker in range(workers):
        start(worker, 0)
    while running and running[0][0] <= time:
        now, worker, number, epoch, trial, curve = heapq.heappop(running)
        value = float(curve[epoch - 1])
        if value < best:
            best = value
            trace.append({"time": now, "metric": value})
        trial.report(value, epoch)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            start(worker, now)
        elif epoch == head["epochs"]:
            study.tell(trial, value)
            start(worker, now)
        else:
            heapq.heappush(running, (now + 1, worker, number, epoch + 1, trial, curve))
    return trace


def main():
    path, seeds, workers, time = sys.argv[1], *map(int, sys.argv[2:5])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    head, curves = read(path)
    samplers = {
        "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        "multivariate TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True),
    }
    pruners = {
        "ASHA": lambda: optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=4),
        "Hyperband": lambda: optuna.pruners.HyperbandPruner(min_resource=1, max_resource=head["epochs"], reduction_factor=4),
    }
    out = []
    for sampler, pruner in (("TPE", "ASHA"), ("TPE", "Hyperband"), ("multivariate TPE", "ASHA")):
        method = f"Optuna: {sampler}, {pruner}"
        if len(sys.argv) > 5 and sys.argv[5] not in method:
            continue
        runs = [search(head, curves, samplers[sampler](seed), pruners[pruner](), workers, time) for seed in range(seeds)]
        out.append({"method": method, "runs": runs})
        print(f"{method}: {head['name']} is done", file=sys.stderr)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
