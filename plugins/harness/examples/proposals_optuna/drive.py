"""Lets a library propose the hyperparameters of a search, whatever the library is.

A library needs four functions, which ``with_optuna.py`` has for Optuna:

* ``ask()`` returns what the library calls a trial, and its hyperparameters.
* ``adopt(hparams)`` returns the library's trial for hyperparameters that this process did not
  propose: it was started again, or the search has a starting point.
* ``report(trial, length, metric)`` is called for each result.
* ``end(trial, metric, ended)`` is called with the last result (or None) when the trial has ended.
"""

import sys

from determined.experimental import client

# Proposals that the search rejects, because they break one of its constraints, before this ends.
MAX_REJECTED = 1000


def drive(search, library):
    """Propose until the experiment has ended."""
    proposed = {}  # by their keys: trials of the library that the search has not created yet
    trials = {}  # by their numbers in the search: trials of the library
    last = {}  # by their numbers: last results
    for news in search:
        for trial in news.trials:
            if trial.key in proposed:
                trials[trial.number] = proposed.pop(trial.key)
            else:
                trials[trial.number] = library.adopt(trial.hparams)
        for result in news.results:
            if result.trial not in trials:  # it had ended, and somebody continued the experiment
                continue
            if result.ended:
                metric = last.pop(result.trial, None)
                library.end(trials.pop(result.trial), metric, result.ended)
                print(f"trial {result.trial}: {result.ended}, {search.metric} {metric}", flush=True)
            elif result.metric is not None:
                last[result.trial] = result.metric
                library.report(trials[result.trial], result.length, result.metric)
        for _ in range(news.wanted):
            key, trial = propose(search, library)
            if key is None:
                break
            proposed[key] = trial


def propose(search, library):
    """Propose one trial; the key is None if the search wants none any more."""
    for _ in range(MAX_REJECTED):
        trial, hparams = library.ask()
        try:
            return search.propose(hparams), trial
        except client.ProposalError as err:
            library.end(trial, None, "invalid_hp")
            if err.late:
                return None, None
            why = err
    sys.exit(f"the search rejected {MAX_REJECTED} proposals; the last one: {why}")
