package api

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/store"
)

// manyExperiments fills a database as years of use do: most are over, each has a
// trial and its own configuration.
func (r *rig) manyExperiments(n int) {
	r.t.Helper()
	ctx := context.Background()
	first := r.user("determined").create(yaml("labels: [a, b]", "description: something to look at"))
	e, err := r.db.Experiment(ctx, first)
	if err != nil {
		r.t.Fatal(err)
	}
	var wg sync.WaitGroup
	const workers = 8
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n-1; i += workers {
				_, err := r.db.CreateExperiment(ctx, store.NewExperiment{OwnerID: 1 + i%2, ProjectID: 1, Config: e.Config, OriginalConfig: e.OriginalConfig,
					Name: fmt.Sprintf("experiment %d", i), Description: e.Description, Labels: e.Labels, Pool: "default", SlotsPerTrial: 1, Weight: 1, Priority: 42})
				if err != nil {
					r.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var c store.Changes
	for id := first; id < first+n; id++ {
		c.NewTrials = append(c.NewTrials, store.NewTrial{ExperimentID: id, TaskID: fmt.Sprintf("%d.0", id), Name: "t", HParams: json.RawMessage(`{}`)})
		if id%20 != 0 {
			c.Experiments = append(c.Experiments, store.ExperimentChange{ID: id, Saw: "PAUSED", State: "COMPLETED", Ended: true})
		}
	}
	r.apply(c)
}

// BenchmarkListExperiments is the first page of 10,000 experiments, as det
// experiment list and the web interface ask for it, over HTTP.
func BenchmarkListExperiments(b *testing.B) {
	r := newRig(b)
	r.manyExperiments(10_000)
	me := r.user("determined")
	for name, query := range map[string]string{
		"det e list": "archived=false&limit=200&offset=0&users=determined",
		"newest 40":  "limit=40&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_ID",
		"by name":    "limit=40&sortBy=SORT_BY_NAME",
		"by state":   "limit=40&sortBy=SORT_BY_STATE",
		"running":    "limit=40&states=STATE_RUNNING",
		"last page":  "limit=40&offset=9960",
		"only count": "limit=-2",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				me.get("/api/v1/experiments?" + query).ok()
			}
		})
	}
}
