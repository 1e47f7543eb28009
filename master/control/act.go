package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
)

// Limits of calls to Nomad and Vault.
const (
	maxCalls      = 32 // in flight at once, besides those of lanes
	callTimeout   = 10 * time.Second
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
)

// calls are the calls to Nomad and Vault in flight: one at a time for each attempt.
type calls struct {
	t    *term
	done chan struct{} // wakes the loop when a call has written its result to the database
	room chan struct{} // limits the calls of run to maxCalls
	all  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool // attempts with a call in flight
}

func newCalls(t *term) *calls {
	return &calls{t: t, done: make(chan struct{}, 1), room: make(chan struct{}, maxCalls), busy: map[string]bool{}}
}

func (h *calls) wait() { h.all.Wait() }

// acquire marks an attempt as being worked on. It returns false when a call for the attempt is already in flight.
func (h *calls) acquire(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[id] {
		return false
	}
	h.busy[id] = true
	return true
}

func (h *calls) release(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, id)
}

// run calls fn in the background. It does not if maxCalls calls are in flight, or if the
// lease is about to expire: no fence can reject a call outside the database.
func (h *calls) run(ctx context.Context, id string, fn func(ctx context.Context)) {
	if !h.t.lead.Holds() || !h.acquire(id) {
		return
	}
	select {
	case h.room <- struct{}{}:
	default:
		h.release(id)
		return
	}
	h.all.Go(func() {
		defer func() { <-h.room }()
		defer h.release(id)
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_ = h.t.safely(id, func() error { fn(call); return nil }) // a panic is logged there
	})
}

// safely turns a panic of do into an error, so that it ends no other call.
func (t *term) safely(what string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			t.log.Error("a call panicked", "term", t.lead.Term, "about", what, "error", r, "stack", string(debug.Stack()))
		}
	}()
	return do()
}

// submitItems returns the submissions of attempts' jobs to Nomad. If their rows cannot be
// read together, it reads each row alone, and retries later those that fail alone.
func (t *term) submitItems(ctx context.Context, list []rows.Work) ([]item, error) {
	pieces, err := t.beginSubmits(ctx, list)
	if err == nil {
		return pieces, nil
	}
	t.later(ctx, list, err)
	if len(list) == 1 {
		return nil, t.failed(ctx, list[0], err)
	}
	began := time.Now()
	for _, w := range list {
		if ctx.Err() != nil || !t.lead.Holds() || time.Since(began) > callTimeout { // do not delay the submissions that have been read
			break
		}
		begun, _ := t.submitItems(ctx, []rows.Work{w})
		pieces = append(pieces, begun...)
	}
	return pieces, err
}

func (t *term) beginSubmits(ctx context.Context, list []rows.Work) ([]item, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ids, tries := make([]string, len(list)), make(map[string]int, len(list))
	for i, w := range list {
		ids[i], tries[w.Subject] = w.Subject, w.Tries
	}
	err := t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) (err error) {
		ids, err = rows.BeginSubmissions(ctx, tx, ids)
		return err
	})
	var wanted []rows.PendingSubmission
	if err == nil && len(ids) > 0 {
		wanted, err = rows.Submissions(ctx, t.db, t.cfg.Roles, ids)
	}
	if err != nil {
		return nil, err
	}
	var pieces []item
	for _, s := range wanted {
		s.Tries = tries[s.ID]
		pieces = append(pieces, item{s.ID, func(ctx context.Context) error { return t.submit(ctx, s) }})
	}
	return pieces, nil
}

func (t *term) submit(ctx context.Context, s rows.PendingSubmission) error {
	of := t.cfg.Pools.Named(s.Pool)
	outcome := cluster.Refused
	var job task.Job
	err := t.safely(s.ID, func() (err error) {
		if of == nil {
			return fmt.Errorf("pool %q no longer exists", s.Pool)
		}
		job, err = t.describe(s, of)
		if fault.Is(err, fault.Unavailable) {
			outcome = cluster.TryAgain
		}
		if err != nil {
			return err
		}
		if outcome, err = t.prepareSecrets(ctx, &job); outcome == cluster.Done {
			outcome, err = t.submitTo(ctx, of, job.Task)
		}
		return err
	})
	var noRoom *cluster.NoRoom
	result := rows.Submission{ID: s.ID, Refused: outcome == cluster.Refused, NoRoom: errors.As(err, &noRoom), RetryAfter: retryDelay(s.Tries)}
	if outcome != cluster.Done {
		result.Failure = text(err)
	}
	err = t.storeResult(ctx, s.ID, func(ctx context.Context, tx *database.DB) error {
		if outcome == cluster.Done && len(job.Secrets) > 0 {
			if err := auditMount(ctx, tx, &s, &job); err != nil {
				return err
			}
		}
		return rows.RecordSubmission(ctx, tx, result)
	}, err)
	if result.Refused {
		sleep.Wake(t.calls.done)
	}
	return err
}

// stop stops the job of an attempt in Nomad.
func (t *term) stop(ctx context.Context, w rows.Work) error {
	outcome := cluster.TryAgain
	err := t.safely(w.Subject, func() (err error) {
		outcome, err = t.stopJob(ctx, w.Subject)
		return err
	})
	if outcome == cluster.Done {
		err := t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error { return rows.RecordStopped(ctx, tx, w.Subject) }, nil)
		sleep.Wake(t.calls.done) // an attempt that has not started ends in the next cycle
		return err
	}
	return t.failed(ctx, w, err)
}

// failed keeps work in the queue, to be tried again, and returns why it failed.
func (t *term) failed(ctx context.Context, w rows.Work, why error) error {
	return t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error {
		return rows.WorkFailed(ctx, tx, w.Kind, w.Subject, text(why), retryDelay(w.Tries))
	}, why)
}

// part does a part of a piece of work in a transaction. Then the next piece in the queue has its turn, until all is done.
func (t *term) part(ctx context.Context, w rows.Work, do func(tx *database.DB) (done bool, err error)) (done bool, err error) {
	err = t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) (err error) {
		if done, err = do(tx); err != nil {
			return err
		}
		if done {
			return rows.WorkDone(ctx, tx, w.Kind, w.Subject)
		}
		return rows.WorkContinues(ctx, tx, w.Kind, w.Subject)
	})
	if err != nil {
		return false, t.failed(ctx, w, err)
	}
	return done, nil
}

// retryDelay is the delay before the next try, after `tries` earlier failures and this one.
func retryDelay(tries int) time.Duration { return min(minRetryDelay<<min(tries, 10), maxRetryDelay) }

func text(err error) string {
	if err == nil {
		return "Nomad gave no reason"
	}
	return err.Error()
}

// later logs that work could not be begun and will be tried again.
func (t *term) later(ctx context.Context, list []rows.Work, cause error) {
	if ctx.Err() == nil {
		t.log.Warn("could not begin queued work; it will be retried", "term", t.lead.Term, "kind", list[0].Kind, "pieces", len(list), "error", cause)
	}
}
