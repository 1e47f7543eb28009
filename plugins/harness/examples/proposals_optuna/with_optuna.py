"""Optuna proposes the hyperparameters of an experiment with ``sampler: program``.

    python3 with_optuna.py EXPERIMENT

It may be killed and started again at any time: the study is made again from the search's results.
"""

import argparse
import json
import warnings

import optuna
from drive import drive

from determined.experimental import client


class Optuna:
    """A study whose trials are those of the search."""

    def __init__(self, search, sampler):
        self.search = search
        direction = "minimize" if search.smaller_is_better else "maximize"
        self.study = optuna.create_study(direction=direction, sampler=sampler)

    def ask(self):
        trial = self.study.ask()
        return trial, self.search.sample(lambda h: suggest(trial, h))

    def adopt(self, hparams):
        space = self.search.space
        self.study.enqueue_trial({name: encoded(space[name], v) for name, v in hparams.items()})
        trial, _ = self.ask()
        return trial

    def report(self, trial, length, metric):
        trial.report(metric, step=round(length))

    def end(self, trial, metric, ended):
        if metric is None or ended in ("errored", "invalid_hp"):
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        elif ended == "completed":
            self.study.tell(trial, metric)
        else:
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)


def suggest(trial, h):
    """Ask Optuna for the value of one hyperparameter."""
    if h.kind == "categorical":  # its values may be lists, which Optuna does not take
        labels = [json.dumps(value) for value in h.choices]
        return h.choices[labels.index(trial.suggest_categorical(h.name, labels))]
    step = None if h.log else h.step
    if h.kind == "int":
        value = trial.suggest_int(h.name, int(h.low), int(h.high), step=int(step or 1), log=h.log)
    else:
        value = trial.suggest_float(h.name, h.low, h.high, step=step, log=h.log)
    return h.nearest(value)


def encoded(h, value):
    return json.dumps(value) if h.kind == "categorical" else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", type=int)
    parser.add_argument("--seed", type=int, help="of Optuna's sampler")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)

    search = client.get_experiment(arguments.experiment).search()
    sampler = optuna.samplers.TPESampler(
        multivariate=True, group=True, constant_liar=True, seed=arguments.seed
    )
    library = Optuna(search, sampler)
    drive(search, library)
    done = [t for t in library.study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    if done:
        print("the best:", library.study.best_value, library.study.best_params)


if __name__ == "__main__":
    main()
