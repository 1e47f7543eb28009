package control

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"
)

var loopMetrics = flag.Int("loop-metrics", 8_000_000, "how many metrics the experiment has that BenchmarkLoop deletes")

// BenchmarkLoop is whole cycles at 10,000 live trials, each of an experiment of its
// own, 8,000 of them running on 1,000 nodes, over a real PostgreSQL: while nothing
// happens, while the rows of an experiment of very many metrics are deleted, and
// while Nomad hangs. Nomad's part is a fake that answers at once or not at all.
func BenchmarkLoop(b *testing.B) {
	names := make([]string, benchTrials/10)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	w := newBench(b, names...)
	hung := &unsteadyNomad{fakeNomad: w.nomad}
	w.term.nomad, w.term.beside = hung, true
	w.term.cfg.Pools[0].Slots.PerNode = 8
	w.watched()
	w.watched()
	w.crowd()
	for range 3 { // says of those that wait why they do
		w.watched()
	}
	b.Run("steady", func(b *testing.B) { w.cycles(b, func() {}) })
	b.Run("deleting", func(b *testing.B) {
		e := w.experiment("")
		w.exec(`UPDATE experiments SET state = 'DELETING', desired = 'deleted', ended_at = now() WHERE id = $1`, e)
		w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
			SELECT 'big', 'TRIAL', gen_random_uuid(), owner_id, 1, id, 'x', 'default', 1, now() FROM experiments WHERE id = $1`, e)
		w.exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, ended_at) VALUES ($1, 1, 'big', '{}', 1, 'COMPLETED', now())`, e)
		for made := 0; made < *loopMetrics; made += 500_000 {
			w.exec(`INSERT INTO metrics (trial_id, run_id, grp, steps, ord, reported_at, avg) SELECT t.id, 1, 'training', s, s, now(), '{"loss": 1}'
				FROM trials t, generate_series($1::int, $2::int) s WHERE t.task_id = 'big'`, made+1, min(made+500_000, *loopMetrics))
		}
		w.exec(`INSERT INTO work (kind, about, whose) VALUES ('erase', $1::int::text, 'user 1')`, e)
		began := time.Now()
		erase := w.term.lanes[3]
		w.cycles(b, func() { erase.pass(b.Context()) })
		for w.int(`SELECT count(*) FROM experiments WHERE id = $1`, e) > 0 {
			erase.pass(b.Context())
			w.term.hands.wait()
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/deletion")
	})
	b.Run("hung", func(b *testing.B) {
		hung.hang()
		defer hung.resume()
		w.cycles(b, func() {})
	})
}

// watched is a cycle that begins with what Nomad says.
func (b *bench) watched() {
	b.t.Helper()
	b.term.watch.wanted = true
	if err := b.term.cycle(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	a := <-b.term.watch.answers
	b.term.watch.answer = &a
}

// cycles measures them, with something begun before each.
func (b *bench) cycles(t *testing.B, before func()) {
	t.Helper()
	var took []time.Duration
	for t.Loop() {
		before()
		began := time.Now()
		b.term.watch.wanted = true
		if err := b.term.cycle(b.t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
		select {
		case a := <-b.term.watch.answers:
			b.term.watch.answer = &a
		default:
		}
	}
	slices.Sort(took)
	t.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
	t.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/max")
}

// crowd makes the rows of benchTrials live trials.
func (b *bench) crowd() {
	b.t.Helper()
	e := b.experiment("")
	b.exec(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, state, pool, slots_per_trial)
		SELECT owner_id, project_id, config, '', 1, 'test', 'active', 'ACTIVE', 'default', 1 FROM experiments, generate_series(2, $2::int) WHERE id = $1`, e, benchTrials)
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT 't' || id, 'TRIAL', gen_random_uuid(), owner_id, 1, id, 'x', 'default', 1 FROM experiments`)
	b.exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, run_id) SELECT id, 0, 't' || id, '{}', 1, 'ACTIVE', 1 FROM experiments`)
	b.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, assigned_at, submitted_at, tried_at, started_at)
		SELECT 't' || id || '.1', 't' || id, 1, 'default', 1, 42, 'RUNNING', now(), now(), now(), now() FROM experiments ORDER BY id LIMIT $1`, benchSlots)
	b.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state)
		SELECT 't' || id || '.1', 't' || id, 1, 'default', 1, 42, 'PENDING' FROM experiments ORDER BY id OFFSET $1`, benchSlots)
	b.exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, nomad_alloc_id, nomad_status, nomad_index, started, claimed_at, claimed_by)
		SELECT a.id, 0, 'id-n' || (n / 8), 'n' || (n / 8), ARRAY[n % 8], 'x' || n, 'running', 7, true, now(), 'x'
		FROM (SELECT id, (row_number() OVER (ORDER BY id) - 1)::int AS n FROM allocations WHERE state = 'RUNNING') a`)
	b.exec(`ANALYZE`)
}
