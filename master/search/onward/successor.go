package onward

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
)

// Successor returns the configuration of a new search that goes on where another one has ended: it learns from the trials of that one, whose number is id,
// and makes as many trials fewer as that one has tried. config is the stored configuration of the other search.
func Successor(config []byte, id, tried int) ([]byte, error) {
	fields := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("the configuration of experiment %d cannot be read: %w", id, err)
	}
	s, _ := fields["searcher"].(map[string]any)
	name, _ := s["name"].(string)
	switch name {
	case expconf.Random, expconf.AdaptiveASHA, expconf.AsyncHalving:
	case expconf.Single:
		return nil, fmt.Errorf("experiment %d has a single trial and no search: continue it without --new-search", id)
	default:
		return nil, fmt.Errorf("a search of the kind %q cannot begin from what experiment %d has tried; the searchers random, adaptive_asha and async_halving can", name, id)
	}
	planned, _ := s["max_trials"].(json.Number)
	trials, err := planned.Int64()
	if err != nil {
		return nil, fmt.Errorf("experiment %d has no searcher.max_trials", id)
	}
	left := trials - int64(tried)
	if left < 1 {
		return nil, fmt.Errorf("experiment %d has tried all of its %d trials; submit a new search with learn_from: [%d] and the max_trials that you want", id, trials, id)
	}
	// A search of a release that did not learn yet has no revision, or an older one.
	delete(s, "revision")
	s["max_trials"], s["learn_from"], s["sampler"] = left, []int{id}, expconf.TPE
	return json.Marshal(fields)
}
