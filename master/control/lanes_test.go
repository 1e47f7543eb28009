package control

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
)

// hungNomad does not answer until the context of a call ends.
type hungNomad struct{ *fakeNomad }

func (h hungNomad) Observe(ctx context.Context, _ cluster.Known) (cluster.Observation, error) {
	<-ctx.Done()
	return cluster.Observation{}, ctx.Err()
}

func (h hungNomad) Stop(ctx context.Context, _ string) (cluster.Outcome, error) {
	<-ctx.Done()
	return cluster.TryAgain, ctx.Err()
}

// lead runs the loop as a leader does, until the test ends.
func (b *bench) lead(nomad Nomad) {
	b.t.Helper()
	l := New(b.term.cfg, b.db, b.term.bus, nomad, b.term.log)
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx, b.term.lead) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

// await polls until a query returns this count.
func (b *bench) await(want int, sql string, args ...any) time.Duration {
	b.t.Helper()
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if b.int(sql, args...) == want {
			break
		}
		if time.Since(began) > 2*time.Minute {
			b.t.Fatalf("%s: it is %d, want %d", sql, b.int(sql, args...), want)
		}
	}
	return time.Since(began)
}

// TestAHungNomadHoldsUpNoDecision tests that the loop decides about pauses and kills while a
// call to Nomad hangs.
func TestAHungNomadHoldsUpNoDecision(t *testing.T) {
	b := newBench(t, "n1")
	paused, killed := b.experiment(""), b.experiment("")
	b.settle()
	b.claim(b.newest(paused))
	b.claim(b.newest(killed))
	b.settle()
	b.lead(hungNomad{b.nomad})
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, paused)
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, killed)
	b.term.bus.Publish(lifecycle.TopicIntent)
	b.await(1, `SELECT count(*) FROM allocations WHERE id = $1 AND preempt_at IS NOT NULL`, b.newest(paused))
	b.await(1, `SELECT count(*) FROM allocations WHERE id = $1 AND kill_at IS NOT NULL`, b.newest(killed))
	if n := b.int(`SELECT count(*) FROM cluster WHERE alarm <> ''`); n != 0 {
		t.Error("Nomad was given up first")
	}
	b.exit(b.newest(killed), 143)
	b.term.bus.Publish(lifecycle.TopicIntent)
	b.await(1, `SELECT count(*) FROM experiments WHERE id = $1 AND state = 'CANCELED'`, killed)
}

// TestAStopThatFails tests that the retries of a failing stop become less frequent, and delay
// no other stop.
func TestAStopThatFails(t *testing.T) {
	b := newBench(t, "n1", "n2")
	var ids []string
	var experiments []int
	for range 3 {
		experiments = append(experiments, b.experiment(""))
	}
	b.settle()
	for _, e := range experiments {
		ids = append(ids, b.newest(e))
		b.claim(b.newest(e))
	}
	b.settle()
	b.nomad.refuse = func(id string) error {
		if id != ids[2] {
			return fmt.Errorf("no leader")
		}
		return nil
	}
	b.exec(`UPDATE experiments SET desired = 'killed'`)
	b.rounds(2)
	for tries := range 3 {
		b.exec(`UPDATE work SET after = now()`)
		b.rounds(1)
		made := b.nomad.stops[ids[0]]
		if n := b.int(`SELECT count(*) FROM work WHERE kind = 'stop' AND tries = $1 AND error = 'no leader'`, made); n != 2 || made <= tries {
			t.Errorf("%d stops wait after %d tries", n, made)
		}
		b.exec(`UPDATE work SET after = now() + interval '1 hour'`)
		b.rounds(3)
		if again := b.nomad.stops[ids[0]]; again != made || b.nomad.stops[ids[2]] != 1 {
			t.Errorf("%d more stops within its pause", again-made)
		}
	}
	if retryDelay(0) != time.Second || retryDelay(3) != 8*time.Second || retryDelay(100) != maxRetryDelay {
		t.Error("the pauses do not grow to a minute")
	}
	b.nomad.refuse = nil
	b.exec(`UPDATE work SET after = now()`)
	b.rounds(2)
	if n := b.int(`SELECT count(*) FROM work`) + b.int(`SELECT count(*) FROM allocations WHERE stopped_at IS NULL`); n != 0 {
		t.Error("a stop is still to be done")
	}
}

// TestWorkTakesTurns tests that much work of one experiment does not delay that of another.
func TestWorkTakesTurns(t *testing.T) {
	b := newBench(t)
	b.exec(`INSERT INTO work (kind, subject, parent, after) SELECT 'stop', 'a' || i, 'a', now() - interval '1 hour' FROM generate_series(1, 1000) i`)
	b.exec(`INSERT INTO work (kind, subject, parent) VALUES ('stop', 'b1', 'b'), ('stop', 'c1', 'c')`)
	list, err := rows.DueWork(t.Context(), b.db, rows.WorkStop, false, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	whose := map[string]bool{}
	for _, w := range list {
		whose[w.Parent] = true
	}
	if len(whose) != 3 {
		t.Errorf("the first three are %v", list)
	}
}

// TestOwnersTakeTurns tests that owners take turns: one with a thousand commands, one with a
// single experiment, and work without an owner. The tasks of one owner also take turns.
func TestOwnersTakeTurns(t *testing.T) {
	b := newBench(t)
	b.exec(`INSERT INTO work (kind, subject, parent, owner_id, after) SELECT 'stop', 'a' || i || '.' || r, 'a' || i, 7, now() - interval '1 hour'
		FROM generate_series(1, 1000) i, generate_series(1, 3) r`)
	b.exec(`INSERT INTO work (kind, subject, parent, owner_id) VALUES ('stop', 'b1', 'b', 8), ('stop', 'b2', 'b', 8), ('stop', 'c1', 'c', NULL), ('stop', 'd1', 'd', NULL)`)
	list, err := rows.DueWork(t.Context(), b.db, rows.WorkStop, false, nil, 9)
	if err != nil {
		t.Fatal(err)
	}
	owners, tasks := map[int]int{}, map[string]bool{}
	for _, w := range list {
		owners[w.Owner]++
		tasks[w.Parent] = true
	}
	if owners[7] != 5 || owners[8] != 2 || owners[0] != 2 || len(tasks) != 8 {
		t.Errorf("the first nine are %v", list)
	}
}

// TestSubmissionsWaitForTheirTurn tests that the time limit of a submission does not run before
// its first try.
func TestSubmissionsWaitForTheirTurn(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.rounds(1)
	id := b.newest(e)
	b.exec(`UPDATE work SET after = now() + interval '1 hour'`)
	b.exec(`UPDATE allocations SET assigned_at = now() - interval '1 hour', tried_at = NULL, submitted_at = NULL WHERE id = $1`, id)
	b.nomad.tasks = map[string]*cluster.TaskFact{}
	b.rounds(3)
	b.want(e, "ACTIVE", "ACTIVE", "ASSIGNED")
	b.exec(`UPDATE allocations SET tried_at = now() - interval '1 hour' WHERE id = $1`, id)
	b.rounds(3)
	if got := b.text(`SELECT outcome || ' ' || (SELECT exclude::text FROM allocations WHERE run_id = 2) FROM allocations WHERE id = $1`, id); got != "unplaced {}" {
		t.Errorf("the attempt that Nomad did not take in time, and what its successor avoids: %s", got)
	}
}

// TestAKillOvertakesASubmission tests that the loop stops the job of an attempt that was killed
// during its submission.
func TestAKillOvertakesASubmission(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.nomad.answer = func(string) (cluster.Outcome, error) {
		b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
		return cluster.TryAgain, fmt.Errorf("timeout")
	}
	b.rounds(5)
	id := b.newest(e)
	if b.nomad.submit[id] != 1 || b.nomad.stops[id] != 1 {
		t.Errorf("submitted %d times, stopped %d times", b.nomad.submit[id], b.nomad.stops[id])
	}
}

// TestADeletionGoesInParts tests that a deletion has several short parts, that other work runs
// between them, and that no rows are left.
func TestADeletionGoesInParts(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.settle()
	b.exit(b.newest(e), 143)
	b.settle()
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
		SELECT 't' || i, 'TRIAL', gen_random_uuid(), owner_id, 1, id, 'x', 'default', 1, now() FROM experiments, generate_series(1, 120) i WHERE id = $1`, e)
	b.exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, ended_at) SELECT $1, i, 't' || i, '{}', 1, 'COMPLETED', now() FROM generate_series(1, 120) i`, e)
	b.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, ended_at, outcome)
		SELECT 't' || i || '.' || r, 't' || i, r, 'default', 1, 42, 'TERMINATED', now(), 'failed' FROM generate_series(1, 120) i, generate_series(1, 3) r`)
	b.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT t.id, 1, 'training', s, s, now(), '{"loss": 1}'
		FROM trials t, generate_series(1, 500) s WHERE t.experiment_id = $1`, e)
	b.exec(`INSERT INTO search_events (experiment_id, seq, kind, trial, body) SELECT $1, 100 + s, 'validated', 1, '{}' FROM generate_series(1, 7000) s`, e)
	if _, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Delete); err != nil {
		t.Fatal(err)
	}
	other := 0
	for round := range 40 {
		b.rounds(1)
		b.exec(`UPDATE collections SET events_at = now() WHERE events`)
		b.exec(`UPDATE tasks SET ended_at = now(), exit_status = 'success' WHERE type = 'CHECKPOINT_GC' AND ended_at IS NULL`)
		b.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'completed' WHERE state <> 'TERMINATED' AND task_id IN (SELECT id FROM tasks WHERE ended_at IS NOT NULL)`)
		if other == 0 && b.int(`SELECT count(*) FROM work WHERE kind = 'delete'`) == 1 {
			other = b.experiment("")
		}
		if round > 5 && b.int(`SELECT count(*) FROM experiments WHERE id = $1`, e) == 0 {
			break
		}
	}
	b.want(other, "ACTIVE", "ACTIVE", "STARTING")
	if n := b.int(`SELECT (SELECT count(*) FROM experiments) + (SELECT count(*) FROM metrics) + (SELECT count(*) FROM search_events WHERE experiment_id = $1) + (SELECT count(*) FROM work)`, e); n != 1 {
		t.Errorf("%d rows are left, want the other experiment's", n)
	}
}

// TestASubmissionThatCannotBeBegun tests that a submission whose row cannot be read does not
// delay the others, and that the lane pauses before it reads the queue again.
func TestASubmissionThatCannotBeBegun(t *testing.T) {
	b := newBench(t, "n1", "n2")
	bad, good := b.experiment(""), b.experiment("")
	b.term.lanes[0].until = time.Now().Add(time.Hour)
	b.rounds(2)
	b.term.lanes[0].until = time.Time{}
	id := b.newest(bad)
	b.exec(`CREATE FUNCTION affliction() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$`)
	b.exec(`CREATE TRIGGER affliction BEFORE UPDATE OF tried_at ON allocations FOR EACH ROW WHEN (NEW.id = '` + id + `') EXECUTE FUNCTION affliction()`)
	l := b.term.lanes[0]
	if n := l.pass(t.Context()); n != 1 {
		t.Errorf("%d submissions were begun, want 1", n)
	}
	b.term.calls.wait()
	if b.nomad.submit[b.newest(good)] != 1 || b.nomad.submit[id] != 0 {
		t.Errorf("submitted: %v", b.nomad.submit)
	}
	if n := b.int(`SELECT count(*) FROM work WHERE kind = 'submit' AND subject = $1 AND tries = 1 AND error LIKE '%not now%'`, id); n != 1 {
		t.Error("the submission was not delayed")
	}
	<-l.freed // by the one that is made
	b.exec(`UPDATE work SET after = now()`)
	if n := l.pass(t.Context()); n != 0 || len(l.freed) != 0 || b.int(`SELECT count(*) FROM work WHERE tries = 1`) != 1 {
		t.Error("the lane does not rest")
	}
	b.exec(`DROP TRIGGER affliction ON allocations`)
	l.until = time.Time{}
	if n := l.pass(t.Context()); n != 1 {
		t.Errorf("%d submissions were begun in the end, want 1", n)
	}
	b.term.calls.wait()
}

// gatedNomad holds the submissions of one user's tasks.
type gatedNomad struct {
	*fakeNomad
	gate   chan struct{}
	inside atomic.Int32
	most   atomic.Int32
}

func (g *gatedNomad) Submit(ctx context.Context, t jobspecs.Task) (cluster.Outcome, error) {
	if strings.HasPrefix(t.AllocationID, "eve") {
		now := g.inside.Add(1)
		defer g.inside.Add(-1)
		for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
		}
		select {
		case <-g.gate:
		case <-ctx.Done():
			return cluster.TryAgain, ctx.Err()
		}
	}
	return g.fakeNomad.Submit(ctx, t)
}

// TestLargeSubmissionsHoldNoPlaces: a few large submissions run at once, and those of others do not wait for them.
func TestLargeSubmissionsHoldNoPlaces(t *testing.T) {
	b := newBench(t, "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9")
	b.exec(`INSERT INTO users (username) VALUES ('eve'), ('bob')`)
	put := func(id, owner string, bytes int) {
		// In one statement: the loop, which runs, must see no task without an attempt.
		b.exec(`WITH task AS (INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots, priority)
			SELECT $1, 'COMMAND', gen_random_uuid(), (SELECT id FROM users WHERE username = $2), 1, 'x', jsonb_build_object('description', 'x', 'entrypoint', jsonb_build_array('x'),
				'work_dir', '/' || (SELECT string_agg(md5(i::text), '') FROM generate_series(1, $3::int / 32) i)), 'default', 0, 42 RETURNING id)
			INSERT INTO allocations (id, task_id, run_id, pool, slots, priority) SELECT id || '.1', id, 1, 'default', 0, 42 FROM task`, id, owner, bytes)
	}
	for i := range 80 {
		put(fmt.Sprint("eve", i), "eve", 256<<10)
	}
	nomad := &gatedNomad{fakeNomad: b.nomad, gate: make(chan struct{})}
	b.lead(nomad)
	b.term.bus.Publish(lifecycle.TopicIntent)
	b.await(maxLarge, `SELECT count(*) FROM allocations WHERE tried_at IS NOT NULL`)
	put("bob", "bob", 0)
	b.term.bus.Publish(lifecycle.TopicIntent)
	b.await(1, `SELECT count(*) FROM allocations WHERE id = 'bob.1' AND submitted_at IS NOT NULL`)
	for began := time.Now(); nomad.most.Load() < maxLarge && time.Since(began) < time.Minute; <-time.After(5 * time.Millisecond) {
	}
	close(nomad.gate)
	b.await(80, `SELECT count(*) FROM allocations WHERE id LIKE 'eve%' AND submitted_at IS NOT NULL`)
	if n := nomad.most.Load(); n != maxLarge {
		t.Errorf("%d large submissions ran at once", n)
	}
}
