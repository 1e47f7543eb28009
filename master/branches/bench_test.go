package branches_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const large = `
name: large
entrypoint: python3 train.py
searcher: {name: async_halving, metric: loss, num_rungs: 4, divisor: 4, max_trials: 10000, max_concurrent_trials: 64, max_length: {batches: 4096}, sampler: random%s}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0}
  units: {type: int, minval: 4, maxval: 64}
`

// BenchmarkBranch measures the request that branches a search of 10,000 trials at its end, each with a checkpoint and a summary: with trials that
// wait at their rungs, and with trials that stop.
func BenchmarkBranch(b *testing.B) {
	for name, more := range map[string]string{"waiting": "", "stopping": ", stop_once: true"} {
		b.Run(name, func(b *testing.B) {
			m := servertest.Start(b, nil)
			c := m.Client("determined")
			made, err := c.CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: new(fmt.Sprintf(large, more))}, nil)
			if err != nil {
				b.Fatal(err)
			}
			id := made.Experiment.ID
			events := fill(b, m, id, []byte(made.Config))
			fastest := time.Hour
			for b.Loop() {
				began := time.Now()
				if _, err := client.Send(b.Context(), c, v1.BranchExperiment, v1.BranchExperimentRequest{At: "end", Set: []string{"searcher.max_trials=10010"}}, id); err != nil {
					b.Fatal(err)
				}
				fastest = min(fastest, time.Since(began))
			}
			b.ReportMetric(fastest.Seconds(), "s/fastest")
			b.ReportMetric(float64(events), "events")
		})
	}
}

// fill writes the rows of a search that has run to its end.
func fill(b *testing.B, m *servertest.Master, id int, config []byte) int {
	b.Helper()
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil {
		b.Fatal(err)
	}
	s, err := search.New(cfg, int64(cfg.Reproducibility.ExperimentSeed))
	if err != nil {
		b.Fatal(err)
	}
	var kinds, bodies []string
	var trials []int
	happen := func(kind string, trial int, body any) {
		text, err := json.Marshal(body)
		if err == nil {
			err = s.Apply(search.Event{Seq: s.Seq() + 1, Kind: kind, Trial: trial, Body: text})
		}
		if err != nil {
			b.Fatal(err)
		}
		kinds, trials, bodies = append(kinds, kind), append(trials, trial), append(bodies, string(text))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	steps := map[int]int{}
	for busy := true; busy; {
		busy = false
		for n := range s.Len() {
			switch w := s.Trial(n); {
			case w.Ended, w.Hold && w.Suspended:
				continue
			case w.Stop:
				happen(search.Exited, n, search.Exit{Reason: lifecycle.ExitStopped})
			case w.Hold:
				happen(search.Suspended, n, struct{}{})
			default:
				steps[n] = max(64, 4*steps[n])
				loss := rng.Float64()
				happen(search.Validated, n, search.Validation{Metric: &loss, Steps: steps[n], Run: 1})
			}
			busy = true
		}
	}
	ctx := b.Context()
	var numbers []int
	var ids, hparams []string
	for n := range s.Len() {
		text, err := json.Marshal(s.HParams(n))
		if err != nil {
			b.Fatal(err)
		}
		numbers, ids, hparams = append(numbers, n), append(ids, uuid.NewString()), append(hparams, string(text))
	}
	for _, x := range []struct {
		sql  string
		args []any
	}{
		{`DELETE FROM tasks WHERE experiment_id = $1 AND type = 'TRIAL'`, []any{id}},
		{`UPDATE experiments SET desired = 'killed' WHERE id = $1`, []any{id}},
		{`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
			SELECT u.task, 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'Trial', e.pool, 1, now() FROM unnest($2::text[]) u(task) JOIN experiments e ON e.id = $1`, []any{id, ids}},
		{`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, run_id, ended_at) SELECT $1, n, task, h::jsonb, n, 'COMPLETED', 1, now()
			FROM unnest($2::int[], $3::text[], $4::text[]) u(n, task, h)`, []any{id, numbers, ids, hparams}},
		{`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, ended_at, outcome) SELECT task_id || '.1', task_id, 1, 'default', 1, 42, 'TERMINATED', now(), 'completed' FROM trials WHERE experiment_id = $1`, []any{id}},
		{`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) SELECT gen_random_uuid(), task_id, id, 1, 64, 'COMPLETED' FROM trials WHERE experiment_id = $1`, []any{id}},
		{`INSERT INTO trial_summaries (trial_id, summary, best_run, best_steps, searcher_value) SELECT id, '{"validation_metrics": {"loss": {"max": 1, "min": 0, "last": 0.5, "sum": 1, "count": 2, "type": "number"}}}', 1, 64, 0.5
			FROM trials WHERE experiment_id = $1`, []any{id}},
		{`INSERT INTO search_events (experiment_id, seq, kind, trial, body) SELECT $1, n, k, t, x::jsonb FROM unnest($2::text[], $3::int[], $4::text[]) WITH ORDINALITY u(k, t, x, n)`, []any{id, kinds, trials, bodies}},
		{`UPDATE search_counters SET next = $2 WHERE experiment_id = $1`, []any{id, len(kinds) + 1}},
		{`ANALYZE`, nil},
	} {
		if err := m.DB.Exec(ctx, x.sql, x.args...); err != nil {
			b.Fatalf("%s: %v", x.sql, err)
		}
	}
	return len(kinds)
}
