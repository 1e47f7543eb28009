package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/search/budget"
)

// TestAFullMemoryForSearches: a master whose memory for searches is full refuses what would make a search larger: a submission, a
// continuation, an activation, and the operations of a program.
func TestAFullMemoryForSearches(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	driven := me.create(drivenYAML)
	ended := me.create(yaml(), `"activate":true`)
	trial, task := r.trial(ended, 0)
	r.moves(ended, "PAUSED", "ACTIVE")
	r.runs(task+".1", "PENDING", "TERMINATED")
	r.apply(rows.Changes{Trials: []rows.TrialChange{{ID: trial, Saw: "ACTIVE", State: "ERROR", Ended: true, RunID: 1}}})
	r.moves(ended, "ACTIVE", "ERROR")

	full := r.another(everySearcher, func(c *Config) { c.Memory = budget.Budget{Bytes: 2} }).user("determined")
	full.post("/api/v1/experiments", createBody(yaml())).says(429, "search_memory_mb")
	full.post("/api/v1/experiments/continue", continueBody(ended, "{}")).says(429, "search_memory_mb")
	full.post(fmt.Sprintf("/api/v1/experiments/%d/activate", driven), "").says(429, "search_memory_mb")
	full.post(fmt.Sprintf("/api/v1/experiments/%d/searcher_operations", driven),
		`{"triggeredByEvent":{"id":1},"searcherOperations":[{"createTrial":{"requestId":"a","hyperparams":"{}"}}]}`).says(429, "search_memory_mb")
}
