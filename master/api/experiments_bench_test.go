package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/trial"
)

// manyExperiments fills a database as years of use do: most have ended, each has a
// trial and its own configuration.
func (r *rig) manyExperiments(n int) {
	r.t.Helper()
	ctx := context.Background()
	first := r.user("determined").create(yaml("labels: [a, b]", "description: something to look at"))
	e, err := experiments.Get(ctx, r.db, first)
	if err != nil {
		r.t.Fatal(err)
	}
	var wg sync.WaitGroup
	const workers = 8
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n-1; i += workers {
				_, err := experiments.Create(ctx, r.db, nil, experiments.New{OwnerID: 1 + i%2, ProjectID: 1, Config: e.Config, OriginalConfig: e.OriginalConfig,
					Name: fmt.Sprintf("experiment %d", i), Description: e.Description, Labels: e.Labels, Pool: "default", SlotsPerTrial: 1, Weight: 1, Priority: 42})
				if err != nil {
					r.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var c rows.Changes
	for id := first; id < first+n; id++ {
		if id != first { // the submission made that one's
			c.NewTrials = append(c.NewTrials, trial.Row{ExperimentID: id, TaskID: fmt.Sprintf("%d.0", id), Name: "t", HParams: json.RawMessage(`{}`)})
		}
		if id%20 != 0 {
			c.Experiments = append(c.Experiments, rows.ExperimentChange{ID: id, Saw: "PAUSED", State: "COMPLETED", Ended: true})
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

// searchable gives each experiment hyperparameters, a best trial and summaries of reports.
func (r *rig) searchable() {
	r.t.Helper()
	for _, sql := range []string{
		`UPDATE experiments SET labels = ARRAY['l' || id % 50], config = config || jsonb_build_object('hyperparameters', jsonb_build_object(
			'lr', jsonb_build_object('type', 'const', 'val', (id % 1000) / 1000.0), 'layers', jsonb_build_object('type', 'int', 'minval', id % 7, 'maxval', 9),
			'optimizer', jsonb_build_object('type', 'categorical', 'vals', jsonb_build_array('adam', 'sgd'))))`,
		`UPDATE experiments e SET best_trial_id = t.id, best_metric = 1.0 / e.id FROM trials t WHERE t.experiment_id = e.id`,
		`INSERT INTO trial_summaries (trial_id, summary) SELECT t.id, jsonb_build_object('validation_metrics', jsonb_object_agg(n, m),
				'avg_metrics', jsonb_object_agg(n, m))
			FROM trials t, unnest(ARRAY['accuracy', 'loss', 'f1']) n, LATERAL (SELECT jsonb_build_object('count', 100, 'sum', 50, 'min', 0.1,
				'max', 0.99, 'mean', 0.5, 'last', (t.id % 1000) / 1000.0, 'type', 'number') m) x GROUP BY t.id`,
		`VACUUM ANALYZE`,
	} {
		if err := r.db.Exec(context.Background(), sql); err != nil {
			r.t.Fatal(err)
		}
	}
}

// BenchmarkSearchExperiments is the first page of what questions find among 10,000
// experiments, counted and read, over HTTP.
func BenchmarkSearchExperiments(b *testing.B) {
	r := newRig(b)
	r.manyExperiments(10_000)
	r.searchable()
	me := r.user("determined")
	for name, members := range map[string]string{
		"all":                   ``,
		"metric, hp and label":  `"query":"validation.accuracy > 0.9 and hp.lr < 0.95 and label = l7"`,
		"metric and hp":         `"query":"validation.accuracy > 0.9 and hp.lr < 0.95"`,
		"metric":                `"query":"validation.accuracy > 0.5"`,
		"hp":                    `"query":"hp.lr < 0.5 and hp.optimizer = sgd"`,
		"any of three":          `"query":"label = l3 or validation.loss < 0.01 or hp.layers > 8"`,
		"name and state":        `"query":"name ~ 99 and state = completed"`,
		"sorted by metric":      `"query":"validation.accuracy > 0.5","sort":"validation.accuracy=desc"`,
		"sorted by hp":          `"sort":"hp.lr=asc"`,
		"what is not in any":    `"query":"hp.nothing = 1"`,
		"checkpoints and owner": `"query":"checkpoints = 0 and owner = admin"`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				me.asks(strings.TrimSuffix(`"limit":40,"withoutConfig":true,`+members, ",")).ok()
			}
		})
	}
}
