package control

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/tasks"
)

// unsteadyNomad is a fake Nomad that hangs from time to time: then its calls return when it
// continues, or when their contexts end.
type unsteadyNomad struct {
	*fakeNomad
	gate    sync.Mutex
	closed  chan struct{} // closed when a hang ends; nil if it does not hang
	told    bool          // it has reported its nodes, which do not change
	waiting atomic.Int32  // submissions and stops that hang
}

func (u *unsteadyNomad) hang() {
	u.gate.Lock()
	defer u.gate.Unlock()
	u.closed = make(chan struct{})
}

func (u *unsteadyNomad) resume() {
	u.gate.Lock()
	defer u.gate.Unlock()
	if u.closed != nil {
		close(u.closed)
		u.closed = nil
	}
}

func (u *unsteadyNomad) gateNow() chan struct{} {
	u.gate.Lock()
	defer u.gate.Unlock()
	return u.closed
}

func (u *unsteadyNomad) hangs() bool { return u.gateNow() != nil }

func (u *unsteadyNomad) pass(ctx context.Context) error {
	gate := u.gateNow()
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *unsteadyNomad) order(ctx context.Context) error {
	u.waiting.Add(1)
	defer u.waiting.Add(-1)
	return u.pass(ctx)
}

func (u *unsteadyNomad) Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error) {
	if err := u.pass(ctx); err != nil {
		return cluster.Observation{}, err
	}
	o, err := u.fakeNomad.Observe(ctx, known)
	if u.told {
		o.Nodes = nil
	}
	u.told = true
	return o, err
}

func (u *unsteadyNomad) Submit(ctx context.Context, task jobspecs.Task) (cluster.Outcome, error) {
	if err := u.order(ctx); err != nil {
		return cluster.TryAgain, err
	}
	return u.fakeNomad.Submit(ctx, task)
}

func (u *unsteadyNomad) Stop(ctx context.Context, id string) (cluster.Outcome, error) {
	if err := u.order(ctx); err != nil {
		return cluster.TryAgain, err
	}
	return u.fakeNomad.Stop(ctx, id)
}

// victim creates an experiment with a fault.
func (w *troubledWorld) victim(n int, what string) (ids []int) {
	for range n {
		id := w.create("searcher: {name: single, metric: loss, max_length: {batches: 9}}", true)
		ids = append(ids, id)
		w.victims[id] = what
	}
	return ids
}

// panics creates an experiment with an invalid row that makes the loop's code panic.
func (w *troubledWorld) panics() {
	id := w.victim(1, "panics")[0]
	w.exec(`UPDATE trials SET number = -1 WHERE experiment_id = $1`, id)
	w.broken = append(w.broken, id)
}

// afflicted creates experiments for whose trials the database rejects all or some changes.
func (w *troubledWorld) afflicted(with string, n int) []int {
	ids := w.victim(n, with)
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
	name := fmt.Sprintf("affliction_%d", ids[0])
	w.exec(fmt.Sprintf(`CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$`, name, with))
	w.exec(fmt.Sprintf(`CREATE TRIGGER %s BEFORE UPDATE ON trials FOR EACH ROW WHEN (NEW.experiment_id IN (%s)) EXECUTE FUNCTION %s()`, name, list, name))
	w.triggers = append(w.triggers, name)
	return ids
}

// orders creates experiments whose calls to Nomad fail, more than the loop's limit of parallel
// calls; every third call panics.
func (w *troubledWorld) orders(kind string, n int) {
	for _, id := range w.victim(n, kind) {
		task := w.text(`SELECT task_id FROM trials WHERE experiment_id = $1`, id)
		w.nomad.mu.Lock()
		w.ordersOf[task] = kind
		w.nomad.mu.Unlock()
	}
}

// fails returns the error of a call about an attempt. Its caller holds the lock.
func (w *troubledWorld) fails(kind, attempt string) error {
	task, _, _ := strings.Cut(attempt, ".")
	if w.ordersOf[task] != kind {
		return nil
	}
	if w.failed++; w.failed%3 == 0 {
		panic("no code expects this answer of Nomad's")
	}
	return fmt.Errorf("no leader")
}

// locked creates an experiment whose row another transaction locks.
func (w *troubledWorld) locked() {
	if w.unlock != nil {
		return
	}
	id := w.victim(1, "locked")[0]
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- w.db.Tx(w.t.Context(), func(tx *database.DB) error {
			// The transaction holds the lock for many cycles, on a slow machine longer than the
			// timeout of idle transactions.
			err := tx.Exec(w.t.Context(), `SET LOCAL idle_in_transaction_session_timeout = 0`)
			if err == nil {
				err = tx.Exec(w.t.Context(), `SELECT 1 FROM experiments WHERE id = $1 FOR UPDATE`, id)
			}
			close(held)
			<-release
			return err
		})
	}()
	<-held
	w.unlock = func() {
		close(release)
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		w.unlock = nil
	}
}

// deletion begins to delete an experiment with very many metrics.
func (w *troubledWorld) deletion() {
	if w.deleted != 0 {
		return
	}
	w.deleted = w.create("searcher: {name: single, metric: loss, max_length: {batches: 9}}", false)
	w.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, w.deleted)
}

// commands lets another owner start more commands than the loop can submit within `patience`
// cycles. When Nomad has all of them, the owner kills them.
func (w *troubledWorld) commands() {
	w.many = true
	for i := range simMany {
		if _, err := tasks.Create(w.t.Context(), w.db, tasks.New{ID: fmt.Sprintf("many%d", i), Type: "COMMAND", OwnerID: 1, WorkspaceID: 1, Name: "many",
			Config: []byte(`{"description": "many"}`), Pool: "default", Slots: 1, Priority: 42}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// actAsUsers simulates the actions of users and programs.
func (w *troubledWorld) actAsUsers() {
	w.exec(`UPDATE collections SET events_at = now() WHERE events AND events_at IS NULL`)
	w.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x', exited_at = now(), exit_code = 0 WHERE claimed_at IS NULL AND allocation_id IN
		(SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.type = 'CHECKPOINT_GC' AND a.submitted_at IS NOT NULL AND a.state <> 'TERMINATED' AND a.kill_at IS NULL)`)
	for id, what := range w.victims {
		if what == "stop" {
			w.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE claimed_at IS NULL AND allocation_id IN
				(SELECT a.id FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = $1 AND a.submitted_at IS NOT NULL AND a.kill_at IS NULL)`, id)
			w.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1 AND desired = 'active' AND EXISTS
				(SELECT FROM trials t JOIN allocations a ON a.task_id = t.task_id JOIN members m ON m.allocation_id = a.id WHERE t.experiment_id = $1 AND m.claimed_at IS NOT NULL)`, id)
		}
	}
	if w.many && w.int(`SELECT count(*) FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.owner_id = 1 AND a.submitted_at IS NULL`) == 0 {
		w.exec(`UPDATE tasks SET desired = 'kill' WHERE owner_id = 1 AND desired = 'run'`)
	}
	if w.deleted == 0 || w.int(`SELECT count(*) FROM experiments WHERE id = $1 AND ended_at IS NOT NULL AND desired = 'killed'`, w.deleted) == 0 {
		return
	}
	const chunk = 100_000 // a statement has a deadline
	for first := 1; first <= *simMetrics; first += chunk {
		w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT t.id, 1, 'training', s, s, now(), '{"loss": 1}'
			FROM trials t, generate_series($2::int, $3::int) s WHERE t.experiment_id = $1`, w.deleted, first, min(first+chunk-1, *simMetrics))
	}
	if _, err := experiments.RequestAction(w.t.Context(), w.db, []int{w.deleted}, experiments.Delete); err != nil {
		w.t.Fatal(err)
	}
}

// heal ends all faults, and makes all delayed retries due.
func (w *troubledWorld) heal() {
	w.hung.resume()
	if w.unlock != nil {
		w.unlock()
	}
	for _, name := range w.triggers {
		w.exec(fmt.Sprintf(`DROP TRIGGER %s ON trials`, name))
	}
	w.nomad.mu.Lock()
	w.ordersOf = map[string]string{}
	w.nomad.mu.Unlock()
}

// breakAll runs steps until the experiments that must break have broken: because of hundreds
// of commands of the same owner, this may happen only after the last fault.
func (w *troubledWorld) breakAll() {
	for range 40 * patience {
		if w.int(`SELECT count(*) FROM experiments WHERE id = ANY($1) AND ended_at IS NULL`, w.broken) == 0 {
			return
		}
		w.step()
	}
}

// reckon checks that the experiments with faults end too after heal: as killed, or with their
// error.
func (w *troubledWorld) reckon() {
	w.t.Helper()
	var ids []int
	for id := range w.victims {
		ids = append(ids, id)
	}
	w.exec(`UPDATE experiments SET desired = 'killed' WHERE id = ANY($1) AND ended_at IS NULL`, ids)
	w.exec(`UPDATE tasks SET desired = 'kill' WHERE owner_id = 1`)
	left := `SELECT (SELECT count(*) FROM experiments WHERE id = $2 OR id = ANY($1) AND ended_at IS NULL)
		+ (SELECT count(*) FROM tasks WHERE owner_id = 1 AND ended_at IS NULL)`
	for range 60 + *simMetrics/10_000 { // a cycle deletes 20,000 rows
		w.exec(`UPDATE work SET after = now()`)
		for _, s := range w.term.backoffs {
			s.until = s.until.Add(-maxSlowDelay)
		}
		w.exec(`UPDATE members SET exited_at = now(), exit_code = 143 WHERE exited_at IS NULL AND claimed_at IS NOT NULL AND allocation_id IN
			(SELECT a.id FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = ANY($1) AND a.kill_at IS NOT NULL)`, ids)
		w.step()
		if w.int(left, ids, w.deleted) == 0 {
			break
		}
	}
	if n := w.int(left, ids, w.deleted); n > 0 {
		w.t.Errorf("%d experiments of which something went wrong, or commands, do not come to an end: %s", n, w.text(`SELECT string_agg(format('%s %s wants %s: %s', id, state, desired, error), '; ')
			FROM experiments WHERE id = $2 OR id = ANY($1) AND ended_at IS NULL`, ids, w.deleted))
	}
	for _, id := range w.broken {
		if got := w.text(`SELECT state || ': ' || error FROM experiments WHERE id = $1`, id); !strings.HasPrefix(got, "ERROR: the master could not handle it") {
			w.t.Errorf("experiment %s, which cannot be handled (%s), ended as %q", strconv.Itoa(id), w.victims[id], got)
		}
	}
}
