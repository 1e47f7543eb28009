package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/trial"
)

// rounds runs this number of cycles. With experiments that cannot be handled, the loop may
// never become idle, so settle cannot be used.
func (b *bench) rounds(n int) {
	b.t.Helper()
	for range n {
		if err := b.term.cycle(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		b.term.calls.wait()
	}
}

// afflict makes the database execute a statement (an error, a delay) at every change that the
// loop makes to an experiment's trials.
func (b *bench) afflict(experiment int, with string) {
	b.t.Helper()
	b.exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION affliction() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$`, with))
	b.exec(fmt.Sprintf(`CREATE TRIGGER affliction BEFORE INSERT OR UPDATE ON trials FOR EACH ROW WHEN (NEW.experiment_id = %d) EXECUTE FUNCTION affliction()`, experiment))
}

// healthy checks that an experiment is placed, runs and ends next to a faulty one.
func (b *bench) healthy(e int) {
	b.t.Helper()
	b.rounds(4)
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	b.claim(b.newest(e))
	b.rounds(2)
	b.exit(b.newest(e), 0)
	b.rounds(3)
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
}

// broken checks that an experiment ended with an error, and that it can be deleted.
func (b *bench) broken(e int, reason string) {
	b.t.Helper()
	b.rounds(3)
	got := b.text(`SELECT state || ': ' || error FROM experiments WHERE id = $1`, e)
	if !strings.HasPrefix(got, "ERROR: ") || !strings.Contains(got, reason) {
		b.t.Errorf("the experiment is %q, want an error about %q", got, reason)
	}
	if n := b.int(`SELECT count(*) FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 AND a.state <> 'TERMINATED'`, e); n != 0 {
		b.t.Errorf("%d attempts of it are left", n)
	}
}

func (b *bench) deletable(e int) {
	b.t.Helper()
	if _, err := experiments.RequestAction(b.t.Context(), b.db, []int{e}, experiments.Delete); err != nil {
		b.t.Fatal(err)
	}
	b.exec(`UPDATE tasks SET ended_at = now(), exit_status = 'success' WHERE type = 'CHECKPOINT_GC' AND ended_at IS NULL`)
	for range 20 {
		b.rounds(1)
		b.exec(`UPDATE collections SET events_at = now() WHERE events AND events_at IS NULL`)
		b.exec(`UPDATE tasks SET ended_at = now(), exit_status = 'success' WHERE type = 'CHECKPOINT_GC' AND ended_at IS NULL`)
		b.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'completed' WHERE state <> 'TERMINATED'
			AND task_id IN (SELECT id FROM tasks WHERE ended_at IS NOT NULL)`)
		if b.int(`SELECT count(*) FROM experiments WHERE id = $1`, e) == 0 {
			return
		}
	}
	b.t.Errorf("the experiment cannot be deleted: %s", b.text(`SELECT state || ': ' || error FROM experiments WHERE id = $1`, e))
}

// TestAValueThatCannotBeStored tests a stored configuration whose hyperparameter of
// type log overflows, so that JSON cannot represent its value.
func TestAValueThatCannotBeStored(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("hyperparameters: {x: {type: log, base: 10, minval: 1, maxval: 2}}")
	b.exec(`UPDATE experiments SET config = jsonb_set(jsonb_set(config, '{hyperparameters,x,minval}', '400'), '{hyperparameters,x,maxval}', '500')`)
	b.healthy(b.experiment(""))
	b.broken(e, "")
	b.deletable(e)
}

// TestAPanicInABundle tests an invalid row that makes the loop's code panic.
func TestAPanicInABundle(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("")
	b.settle()
	b.claim(b.newest(e))
	b.settle()
	b.exec(`UPDATE trials SET number = -1 WHERE experiment_id = $1`, e)
	other := b.experiment("")
	b.rounds(1)
	b.healthy(other)
	if got := b.text(`SELECT state FROM experiments WHERE id = $1`, e); got != "STOPPING_ERROR" {
		t.Errorf("the experiment whose bundle panics is %s", got)
	}
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.rounds(2)
	b.exit(b.newest(e), 143)
	b.broken(e, "the master could not handle it: panic")
	b.deletable(e)
}

// TestABundleThatFails tests that a bundle that fails in the database ends its own experiment
// and no other.
func TestABundleThatFails(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.afflict(e, `RAISE EXCEPTION 'not like that' USING ERRCODE = 'check_violation';`)
	b.healthy(b.experiment(""))
	b.broken(e, "not like that")
}

// TestABundleThatFailsEvenBroken tests that an experiment ends even if the bundle that ends it
// as broken fails too.
func TestABundleThatFailsEvenBroken(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("")
	b.settle()
	b.claim(b.newest(e))
	b.settle()
	b.afflict(e, `IF NEW.state IN ('PAUSED', 'STOPPING_ERROR', 'STOPPING_KILLED') THEN RAISE EXCEPTION 'not like that' USING ERRCODE = 'check_violation'; END IF; RETURN NEW;`)
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
	b.healthy(b.experiment(""))
	b.rounds(5)
	if b.nomad.stops[b.newest(e)] != 1 {
		t.Error("what ran of it was not stopped")
	}
	b.exit(b.newest(e), 143)
	b.broken(e, "not like that")
}

// TestABundleThatIsAlwaysStale tests that the retries of a stale bundle become less frequent.
func TestABundleThatIsAlwaysStale(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.afflict(e, `RETURN NULL;`)
	b.healthy(b.experiment(""))
	if s := b.term.backoffs[experimentKey(e)]; s == nil || s.tries <= staleRetries || !s.until.After(time.Now().Add(-maxStaleDelay)) {
		t.Errorf("the bundle's backoff is %+v", s)
	}
	b.exec(`DROP TRIGGER affliction ON trials`)
	b.term.backoffs[experimentKey(e)].until = time.Time{}
	b.rounds(4)
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if len(b.term.backoffs) != 0 {
		t.Errorf("what could be made in the end is still remembered: %v", b.term.backoffs)
	}
}

// TestABundleThatIsSlow tests that a bundle that exceeds the time limit delays the other bundles
// only once.
func TestABundleThatIsSlow(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.afflict(e, `PERFORM pg_sleep(60); RETURN NEW;`)
	other := b.experiment("")
	b.rounds(1)
	if s := b.term.backoffs[experimentKey(e)]; s == nil || !s.slow || s.level != handleNormally {
		t.Fatalf("the bundle's backoff is %+v", s)
	}
	b.term.backoffs[experimentKey(e)].until = time.Now().Add(time.Hour)
	for range 10 {
		b.rounds(1)
	}
	b.want(other, "ACTIVE", "ACTIVE", "STARTING")
	if b.int(`SELECT count(*) FROM experiments WHERE id = $1 AND state = 'ACTIVE' AND error = ''`, e) != 1 {
		t.Error("slowness broke it")
	}
	b.exec(`DROP TRIGGER affliction ON trials`)
	b.term.backoffs[experimentKey(e)].until = time.Time{}
	b.rounds(4)
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

// TestALockedRow tests that an experiment's row that another transaction locks delays the
// other experiments by at most half a second.
func TestALockedRow(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	other := b.experiment("")
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- b.db.Tx(b.t.Context(), func(tx *database.DB) error {
			if err := tx.Exec(b.t.Context(), `SELECT 1 FROM experiments WHERE id = $1 FOR UPDATE`, e); err != nil {
				return err
			}
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	b.rounds(4)
	b.want(other, "ACTIVE", "ACTIVE", "STARTING")
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, s := range b.term.backoffs {
		s.until = time.Time{}
	}
	b.rounds(4)
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

// TestAPlaceThatWasNotFreed tests that no attempt is placed on the slots of an attempt whose
// end could not be stored.
func TestAPlaceThatWasNotFreed(t *testing.T) {
	b := newBench(t, "n1") // two slots
	first := b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	b.claim(b.newest(first))
	second := b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	b.afflict(first, `RETURN NULL;`)
	b.exit(b.newest(first), 0)
	b.rounds(5)
	b.want(second, "ACTIVE", "ACTIVE", "PENDING")
	if n := b.int(`SELECT count(*) FROM (SELECT m.node_id, s FROM members m JOIN allocations a ON a.id = m.allocation_id,
		unnest(m.slot_ids) s WHERE a.state <> 'TERMINATED' GROUP BY 1, 2 HAVING count(*) > 1) x`); n != 0 {
		t.Errorf("%d slots are held twice", n)
	}
	b.exec(`DROP TRIGGER affliction ON trials`)
	for _, s := range b.term.backoffs {
		s.until = time.Time{}
	}
	b.rounds(4)
	b.want(second, "ACTIVE", "ACTIVE", "STARTING")
}

// TestASearchThatWantsTooMuch tests that the loop creates the trials of a large search in
// several cycles, and none while the experiment is paused.
func TestASearchThatWantsTooMuch(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: random, metric: loss, max_trials: 1000, max_concurrent_trials: 0, max_length: {batches: 9}}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}")
	b.rounds(1)
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, e); n != maxNewTrials {
		t.Errorf("%d trials were made at once, want %d", n, maxNewTrials)
	}
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
	b.rounds(3)
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, e); n != maxNewTrials {
		t.Errorf("the experiment has %d trials while it is paused", n)
	}
	b.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, e)
	b.rounds(6)
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, e); n != 1000 {
		t.Errorf("%d trials in the end", n)
	}
}

// TestAStoredSearchWithoutBounds tests a stored configuration whose search would
// need too much memory: users can kill and delete the experiment, and the others continue.
func TestAStoredSearchWithoutBounds(t *testing.T) {
	for what, change := range map[string]string{
		"trials": `jsonb_set(config, '{searcher,max_trials}', '1000000000')`,
		"rungs":  `jsonb_set(config, '{searcher}', '{"name": "async_halving", "metric": "loss", "num_rungs": 1000000, "max_trials": 100, "max_length": {"batches": 100}, "divisor": 4, "smaller_is_better": true}')`,
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.submit("searcher: {name: random, metric: loss, max_trials: 10, max_concurrent_trials: 0, max_length: {batches: 9}}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}")
			b.exec(`UPDATE experiments SET desired = 'paused', state = 'PAUSED', config = `+change+` WHERE id = $1`, e)
			b.healthy(b.experiment(""))
			b.broken(e, "")
			b.deletable(e)
		})
	}
}

// TestAFaultOfTheDatabase tests that a fault of the database itself ends no experiment: the
// affected experiment waits, and the others continue.
func TestAFaultOfTheDatabase(t *testing.T) {
	for _, code := range []string{"58030", "XX000", "42501", "0A000", "P0001", "53100"} { // a broken disk, corruption, a missing right, …
		t.Run(code, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.experiment("")
			b.afflict(e, fmt.Sprintf(`RAISE EXCEPTION 'the disk is broken' USING ERRCODE = '%s';`, code))
			b.healthy(b.experiment(""))
			for range 5 {
				b.atOnce()
				b.rounds(1)
			}
			if s := b.term.backoffs[experimentKey(e)]; s == nil || s.level != handleNormally || s.tries < 5 || !s.until.After(time.Now()) {
				t.Errorf("the bundle's backoff is %+v", s)
			}
			if b.int(`SELECT count(*) FROM experiments WHERE id = $1 AND state = 'ACTIVE' AND error = ''`, e) != 1 {
				t.Error("the database's fault broke it")
			}
			b.exec(`DROP TRIGGER affliction ON trials`)
			b.atOnce()
			b.rounds(4)
			b.want(e, "ACTIVE", "ACTIVE", "STARTING")
		})
	}
}

// atOnce makes all delayed bundles due in the next cycle.
func (b *bench) atOnce() {
	for _, s := range b.term.backoffs {
		s.until = time.Time{}
	}
}

// TestTooManyStaleBundles tests that the other bundles are stored in the same cycle, however
// many bundles are stale.
func TestTooManyStaleBundles(t *testing.T) {
	b := newBench(t, "n1")
	for range 70 {
		b.experiment("")
	}
	last := b.experiment("")
	b.exec(`CREATE FUNCTION affliction() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
	b.exec(fmt.Sprintf(`CREATE TRIGGER affliction BEFORE INSERT ON trials FOR EACH ROW WHEN (NEW.experiment_id < %d) EXECUTE FUNCTION affliction()`, last))
	b.rounds(1)
	if b.int(`SELECT count(*) FROM trials`) != 1 || b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, last) != 1 {
		t.Error("the stale changes kept another from being made")
	}
}

// TestLargeHyperparameters tests the limit on the bytes of the trials that one cycle creates:
// small trials do not wait for large ones, and all trials exist in the end.
func TestLargeHyperparameters(t *testing.T) {
	b := newBench(t, "n1")
	var large []int
	for range 10 {
		e := b.submit("searcher: {name: random, metric: loss, max_trials: 60, max_concurrent_trials: 0, max_length: {batches: 9}}\nhyperparameters: {x: " + strings.Repeat("x", 60_000) + "}")
		large = append(large, e)
	}
	small := b.submit("searcher: {name: random, metric: loss, max_trials: 2, max_concurrent_trials: 0, max_length: {batches: 9}}\nhyperparameters: {x: 1}")
	before := 0
	for range 100 {
		b.rounds(1)
		bytes := b.int(`SELECT coalesce(sum(length(hparams::text)), 0) FROM trials`)
		if bytes-before > trial.MaxBytes+smallTrial*11 || before == 0 && bytes < trial.MaxBytes/4 {
			t.Fatalf("a pass made trials with %d bytes of hyperparameters", bytes-before)
		}
		if before == 0 && b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, small) == 0 {
			t.Error("a small trial waits for large ones")
		}
		if bytes == before {
			break
		}
		before = bytes
	}
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = ANY($1)`, large); n != 600 {
		t.Errorf("%d trials in the end, want 600", n)
	}
}
