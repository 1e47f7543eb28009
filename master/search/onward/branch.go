// Package onward says with which settings a search goes on: as a branch, which shares the past of the search up to one of its events, or as a new search
// that learns from it. It compares and changes configurations, and is pure; what a search does with them is in the package search.
package onward

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
)

// branchable are the settings of a search that may change in a branch. All others decide what the results of the common past mean, or
// which trials there were.
var branchable = map[string]bool{"max_trials": true, "max_length": true, "max_time": true, "max_concurrent_trials": true, "sampler": true, "mode": true, "budget": true,
	"stop_when": true}

// fixedBecause says of a setting of a search why a branch cannot change it.
func fixedBecause(field string) string {
	switch field {
	case "metric", "metrics", "smaller_is_better":
		return "the results of the common past are values of the metrics that it has"
	case "name":
		return "the trials of the common past were judged by that searcher"
	case "time_metric", "stop_once", "divisor", "num_rungs", "max_rungs", "bracket_rungs", "progressive":
		return "the trials of the common past were judged at their rungs by it"
	case "learn_from", "start_with", "constraints":
		return "the trials of the common past were proposed by it"
	case "repeat":
		return "the results of the common past that it needs were not kept"
	case "source_trial_id", "source_checkpoint_uuid":
		return "the trials of the common past began with it"
	}
	return "the common past was decided by it"
}

// Changes compares the settings of a search with those that a branch is to have. It returns whether the search itself
// changes, and an error for what cannot change. created is how many trials the common past has. Both configurations are stored ones.
func Changes(before, after []byte, created int) (changed bool, err error) {
	a, err := searchFields(before)
	if err != nil {
		return false, err
	}
	b, err := searchFields(after)
	if err != nil {
		return false, err
	}
	old, err := expconf.ParseConfigJSON(before)
	if err != nil {
		return false, err
	}
	cfg, err := expconf.ParseConfigJSON(after)
	if err != nil {
		return false, err
	}
	const instead = "submit a new search with learn_from instead, which learns from the results so far"
	for _, field := range []string{"hyperparameters", "reproducibility"} {
		if !sameJSON(a.top[field], b.top[field]) {
			return false, fmt.Errorf("%s cannot change in a branch: the trials of the common past were drawn from them; %s", field, instead)
		}
	}
	if !sameJSON(a.top["records_per_epoch"], b.top["records_per_epoch"]) {
		return false, fmt.Errorf("records_per_epoch cannot change in a branch: the lengths of the common past were computed with it")
	}
	for _, field := range slices.Sorted(keysOf(a.searcher, b.searcher)) {
		if sameJSON(a.searcher[field], b.searcher[field]) {
			continue
		}
		if changed = true; !branchable[field] {
			return false, fmt.Errorf("searcher.%s cannot change in a branch: %s; %s", field, fixedBecause(field), instead)
		}
	}
	if !changed {
		return false, nil
	}
	return true, checkBranch(old.Searcher, cfg.Searcher, created)
}

// checkBranch returns why the new settings do not fit the common past.
func checkBranch(old, c expconf.Searcher, created int) error {
	before, unit := old.FullLength()
	full, measure := c.FullLength()
	halving := c.Name == expconf.AdaptiveASHA || c.Name == expconf.AsyncHalving
	if c.Name == expconf.PBT {
		return fmt.Errorf("the settings of a population (pbt) cannot change in a branch: its rounds were decided by them")
	}
	if old.ByProgram() != c.ByProgram() {
		return fmt.Errorf("searcher.sampler cannot change between program and another one in a branch: the proposals of the program are part of the common past")
	}
	switch {
	case c.MaxTrials < old.MaxTrials && c.MaxTrials < created:
		return fmt.Errorf("searcher.max_trials: %d is less than the %d trials that the common past has; branch at an earlier event", c.MaxTrials, created)
	case unit != measure && (halving || unit != "" && measure != ""):
		return fmt.Errorf("the unit of a length cannot change in a branch: the common past counts %s", cmp.Or(unit, "none"))
	case full < before && full > 0:
		return fmt.Errorf("a training can only become longer in a branch: it is %d %s in the common past, and trials may have trained for as long", before, unit)
	case halving && full > before && c.Progressive:
		return fmt.Errorf("a training cannot become longer in a branch of a search with progressive: true, which decides itself how long trials train")
	case c.Mode != old.Mode && (c.Revision == 1 || len(c.BracketRungs) > 0):
		return fmt.Errorf("searcher.mode cannot change in a branch of a search with several brackets: it has decided which there are")
	}
	return nil
}

type fields struct{ top, searcher map[string]json.RawMessage }

func searchFields(config []byte) (f fields, err error) {
	if err = json.Unmarshal(config, &f.top); err == nil {
		err = json.Unmarshal(f.top["searcher"], &f.searcher)
	}
	return f, err
}

func keysOf(maps ...map[string]json.RawMessage) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, m := range maps {
			for k := range m {
				if !seen[k] && !yield(k) {
					return
				}
				seen[k] = true
			}
		}
	}
}

// sameJSON compares two values; a missing one is null.
func sameJSON(a, b json.RawMessage) bool {
	return canonical(a) == canonical(b)
}

func canonical(v json.RawMessage) string {
	if len(v) == 0 {
		return "null"
	}
	var x any
	if json.Unmarshal(v, &x) != nil {
		return string(v)
	}
	b, _ := json.Marshal(x) //nolint:errchkjson // it was decoded from JSON
	return string(b)
}

// CanBranch returns why a search of this kind cannot be branched; "" if it can.
func CanBranch(name string) string {
	if name == expconf.Custom {
		return "its searcher is custom: the program that controls it decides, and would have to be rewound too"
	}
	return ""
}
