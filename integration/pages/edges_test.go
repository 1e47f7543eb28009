package pages

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestEdges is the pages where things are not as usual: webui/test/edges.mjs. It has a cluster of its own, because
// the stories of TestUI count what lists show.
func TestEdges(t *testing.T) {
	turn.Second(t)
	rig.BrowserTools(t)
	r, dir := rig.NewOwn(t, "edges")
	t.Cleanup(func() { rig.RemoveOwn(t, r, dir) })
	err := r.Configure(t.Context(), "")
	if err == nil {
		r.Client, err = r.SignIn(t.Context(), "determined")
	}
	if err != nil {
		t.Fatal(err)
	}
	inBrowser(t, r, "test/edges.mjs", edgesWorld(t, r))
}

// uiOdd reports numbers, and what is no number.
const uiOdd = `
import determined
from determined import core
with core.init() as context:
    kind = determined.get_cluster_info().trial.hparams["kind"]
    odd = {"finite": 0.25, "nan": float("nan"), "infinite": float("inf")}
    for step in range(1, 41):
        loss = float("nan") if 10 <= step < 20 else 1 / step
        context.train.report_training_metrics(step, {"loss": loss})
    if kind in odd:
        context.train.report_validation_metrics(40, {"val_loss": odd[kind]})
`

// edgesWorld has that of uiWorld, with a search that reports odd numbers, and one of 10,000 trials.
func edgesWorld(t *testing.T, r *rig.Rig) map[string]any {
	t.Helper()
	odd := r.Submit(t, `
name: edge-odd
entrypoint: python3 train.py
hyperparameters: {kind: {type: categorical, vals: [finite, nan, infinite, none]}}
searcher: {name: grid, metric: val_loss, max_length: {batches: 40}}
max_restarts: 0
`, rig.Script(uiOdd))
	r.WaitState(t, odd, v1.ExperimentStateCompleted)
	many := r.Submit(t, `
name: edge-many
entrypoint: python3 train.py
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}, layers: {type: int, minval: 1, maxval: 31}}
searcher: {name: random, metric: val_loss, max_trials: 1, max_length: {batches: 100}}
max_restarts: 0
`, rig.Script(uiDone))
	r.WaitState(t, many, v1.ExperimentStateCompleted)
	multiply(t, r, many, 10_000)
	world := uiWorld(t, r, "edge") // last, because one of its experiments waits for all slots
	world["odd"], world["many"] = odd, many
	return world
}

// multiply makes a search of one trial one of many, each with its own hyperparameters and a value of its metric.
// All copies have ended, so that neither the leader nor Nomad does anything for them.
func multiply(t *testing.T, r *rig.Rig, experiment, trials int) {
	t.Helper()
	const ended = `SELECT count(*) FROM trials t JOIN tasks k ON k.id = t.task_id WHERE t.experiment_id = $1 AND t.ended_at IS NOT NULL AND k.ended_at IS NOT NULL`
	rig.Eventually(t, "the end of the trial to copy", func() (bool, error) { return rig.Value[int](t, r, ended, experiment) == 1, nil })
	insert := func(table, which string, other map[string]string) {
		names, err := rig.Query(t, r, pgx.RowTo[string], `SELECT column_name FROM information_schema.columns
			WHERE table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`, table)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(names))
		for i, n := range names {
			if values[i] = "x." + n; other[n] != "" {
				values[i] = other[n]
			}
		}
		rig.Alter(t, r, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") SELECT "+strings.Join(values, ", ")+" FROM "+table+" x, generate_series(1, $2) i WHERE x.experiment_id = $1 AND "+which,
			experiment, trials-1)
	}
	// Only the task of the trial: a copy of a garbage collection that waits would run.
	insert("tasks", "x.type = 'TRIAL' AND x.ended_at IS NOT NULL", map[string]string{"id": "x.id || '.' || i"})
	insert("trials", "x.ended_at IS NOT NULL", map[string]string{"number": "x.number + i", "task_id": "x.task_id || '.' || i",
		"hparams": "jsonb_build_object('lr', random(), 'layers', 1 + (random() * 30)::int)"})
	if n := rig.Value[int](t, r, ended, experiment); n != trials {
		t.Fatalf("%d trials have ended; expected %d", n, trials)
	}
	if n := rig.Value[int](t, r, `SELECT count(*) FROM tasks WHERE experiment_id = $1 AND ended_at IS NULL`, experiment); n > 1 {
		t.Fatalf("%d tasks of the copies would run", n)
	}
	rig.Alter(t, r, `INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT id, run_id, 'validation', 100, 100, now(), jsonb_build_object('val_loss', random()) FROM trials WHERE experiment_id = $1
		AND NOT EXISTS (SELECT FROM metrics m WHERE m.trial_id = trials.id)`, experiment)
}
