package control

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
)

const maxDeletion = 15 * time.Minute

var (
	loopMetrics = flag.Int("loop-metrics", 8_000_000, "how many metrics the experiment has that BenchmarkLoop deletes")
	loopCycles  = flag.Int("loop-cycles", 60, "how many cycles BenchmarkLoop measures, at the least")
)

// BenchmarkLoop measures whole cycles with 10,000 live trials, each of its own experiment,
// 8,000 of them running on 1,000 nodes, on a real PostgreSQL: while nothing changes, while
// the rows of an experiment with very many metrics are deleted, and while Nomad does not
// answer. Nomad is a fake that answers at once or never. The cycles follow each other
// without a pause, unlike in a master.
func BenchmarkLoop(b *testing.B) {
	w := newBench(b, benchNodes()...)
	hung := &unsteadyNomad{fakeNomad: w.nomad}
	w.term.nomad, w.term.async = hung, true
	w.term.cfg.Pools[0].Slots.PerNode = 8
	w.watched()
	w.watched()
	w.crowd(benchTrials, benchSlots)
	for range 3 { // first cycles: they store the reasons of waiting attempts
		w.watched()
	}
	some := func(n int) bool { return n < *loopCycles }
	b.Run("steady", func(b *testing.B) { w.cycles(b, some) })
	b.Run("deleting", func(b *testing.B) {
		e := w.large(*loopMetrics)
		began := time.Now()
		ctx, cancel := context.WithCancel(b.Context())
		defer w.term.calls.wait()
		defer cancel()
		deletions := slices.IndexFunc(w.term.lanes, func(l *lane) bool { return l.kind == rows.WorkDelete })
		w.term.calls.all.Go(func() { w.term.lanes[deletions].run(ctx) })
		w.cycles(b, func(int) bool {
			if time.Since(began) > maxDeletion {
				b.Fatal("the experiment is still there")
			}
			return w.int(`SELECT count(*) FROM experiments WHERE id = $1`, e) > 0
		})
		b.ReportMetric(time.Since(began).Seconds(), "s/deletion")
	})
	b.Run("hung", func(b *testing.B) {
		hung.hang()
		defer hung.resume()
		w.cycles(b, some)
	})
}

// benchNodes returns the names of enough nodes, of eight slots each, for benchSlots.
func benchNodes() []string {
	names := make([]string, benchSlots/8)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	return names
}

// watched runs a cycle with a new answer of Nomad. Nomad is not asked before the first cycle has loaded.
func (b *bench) watched() {
	b.t.Helper()
	for loaded := false; !loaded; {
		v := b.term.views[0]
		loaded, v.watch.wanted, v.watch.last = v.loaded, true, time.Time{} // the call before was long ago
		if err := b.term.cycle(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	a := <-b.term.views[0].watch.answers
	b.term.views[0].watch.answer = &a
}

// cycles measures cycles until `more` returns false.
func (b *bench) cycles(t *testing.B, more func(n int) bool) {
	t.Helper()
	var took []time.Duration
	for t.Loop() {
		for more(len(took)) || len(took) == 0 {
			began := time.Now()
			b.term.views[0].watch.wanted = true
			if err := b.term.cycle(b.t.Context()); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
			select {
			case a := <-b.term.views[0].watch.answers:
				b.term.views[0].watch.answer = &a
			default:
			}
		}
	}
	slices.Sort(took)
	t.ReportMetric(float64(len(took)), "cycles")
	t.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
	t.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/max")
}

// crowd inserts the rows of live trials, of which the first ones run.
func (b *bench) crowd(trials, running int) {
	b.t.Helper()
	e := b.experiment("")
	b.exec(fmt.Sprintf(`SET LOCAL statement_timeout = 0;
		INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, state, pool, slots_per_trial, progress)
		SELECT owner_id, project_id, config, '', 1, 'test', 'active', 'ACTIVE', 'default', 1, 0 FROM experiments, generate_series(2, %[2]d) WHERE id = %[1]d;
		INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT 't' || id, 'TRIAL', gen_random_uuid(), owner_id, 1, id, 'x', 'default', 1 FROM experiments;
		INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, run_id) SELECT id, 0, 't' || id, '{}', 1, 'ACTIVE', 1 FROM experiments;
		INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, assigned_at, submitted_at, tried_at, started_at)
		SELECT 't' || id || '.1', 't' || id, 1, 'default', 1, 42, 'RUNNING', now(), now(), now(), now() FROM experiments ORDER BY id LIMIT %[3]d;
		INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state)
		SELECT 't' || id || '.1', 't' || id, 1, 'default', 1, 42, 'PENDING' FROM experiments ORDER BY id OFFSET %[3]d;
		INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, nomad_alloc_id, nomad_status, nomad_index, started, claimed_at, claimed_by)
		SELECT a.id, 0, 'id-n' || (n / 8), 'n' || (n / 8), ARRAY[n %% 8], 'x' || n, 'running', 7, true, now(), 'x'
		FROM (SELECT id, (row_number() OVER (ORDER BY id) - 1)::int AS n FROM allocations WHERE state = 'RUNNING') a`, e, trials, running))
	b.exec(`ANALYZE`)
}

// large inserts an experiment with very many metrics whose rows are to be deleted. It creates
// the indexes after the rows, which is faster.
func (b *bench) large(metrics int) (id int) {
	b.t.Helper()
	id = b.experiment("")
	b.exec(`UPDATE experiments SET state = 'DELETING', desired = 'deleted', ended_at = now() WHERE id = $1`, id)
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
		SELECT 'big', 'TRIAL', gen_random_uuid(), owner_id, 1, id, 'x', 'default', 1, now() FROM experiments WHERE id = $1`, id)
	b.exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, ended_at) VALUES ($1, 1, 'big', '{}', 1, 'COMPLETED', now())`, id)
	indexes := b.text(`SELECT string_agg(indexdef, '; ') FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'metrics'`)
	drops := b.text(`SELECT string_agg('DROP INDEX ' || indexname, '; ') FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'metrics'`)
	b.exec(fmt.Sprintf(`SET LOCAL statement_timeout = 0; SET LOCAL maintenance_work_mem = '512MB'; %s;
		INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT t.id, 1, 'training', s, s, now(), '{"loss": 1}'
			FROM trials t, generate_series(1, %d) s WHERE t.task_id = 'big'; %s`, drops, metrics, indexes))
	b.exec(`INSERT INTO work (kind, subject, parent) VALUES ('delete', $1::int::text, 'user 1')`, id)
	return id
}
