package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// Bounds on what is in flight towards Nomad and the database.
const (
	inFlight   = 32
	callFor    = 10 * time.Second
	firstAgain = time.Second
	longestGap = time.Minute
)

// hands makes calls, one at a time per attempt, a few at once.
type hands struct {
	t    *term
	done chan struct{} // holds a token when a call came back of which the loop does not hear otherwise
	room chan struct{}
	all  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool
}

func newHands(t *term) *hands {
	return &hands{t: t, done: make(chan struct{}, 1), room: make(chan struct{}, inFlight), busy: map[string]bool{}}
}

func (h *hands) wait() { h.all.Wait() }

// take marks an attempt as being worked on; false when it already is.
func (h *hands) take(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[id] {
		return false
	}
	h.busy[id] = true
	return true
}

func (h *hands) release(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, id)
}

// call runs fn, which is not of the queue, unless there is no room for another call
// or the lease is nearly over: what is begun outside the database no fence can stop.
func (h *hands) call(ctx context.Context, id string, fn func(ctx context.Context)) {
	if !h.t.lead.Holds() || !h.take(id) {
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
		call, cancel := context.WithTimeout(ctx, callFor)
		defer cancel()
		_ = h.t.safely(id, func() error { fn(call); return nil }) // a panic is logged there
	})
}

// safely makes an error of a panic, so that a call takes nothing else with it.
func (t *term) safely(what string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			t.log.Error("a call panicked", "term", t.lead.Term, "about", what, "error", r, "stack", string(debug.Stack()))
		}
	}()
	return do()
}

// submissions hands jobs of attempts to Nomad. When several cannot be begun together,
// each is tried alone, and one that fails then is put off.
func (t *term) submissions(ctx context.Context, list []store.Work) ([]piece, error) {
	pieces, err := t.beginSubmissions(ctx, list)
	if err == nil {
		return pieces, nil
	}
	t.later(ctx, list, err)
	if len(list) == 1 {
		w := list[0]
		call, cancel := context.WithTimeout(ctx, callFor)
		defer cancel()
		return nil, t.keep(call, func(tx *store.DB) error { return tx.WorkFailed(call, w.Kind, w.About, err.Error(), gap(w.Tries)) }, err)
	}
	began := time.Now()
	for _, w := range list {
		if ctx.Err() != nil || !t.lead.Holds() || time.Since(began) > callFor { // those that were begun must not wait
			break
		}
		begun, _ := t.submissions(ctx, []store.Work{w})
		pieces = append(pieces, begun...)
	}
	return pieces, err
}

func (t *term) beginSubmissions(ctx context.Context, list []store.Work) ([]piece, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	ids, tries := make([]string, len(list)), make(map[string]int, len(list))
	for i, w := range list {
		ids[i], tries[w.About] = w.About, w.Tries
	}
	err := t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) (err error) {
		ids, err = tx.BeginSubmissions(ctx, ids)
		return err
	})
	var wanted []store.ToSubmit
	if err == nil && len(ids) > 0 {
		wanted, err = t.db.Submissions(ctx, ids)
	}
	if err != nil {
		return nil, err
	}
	pieces := make([]piece, len(wanted))
	for i, s := range wanted {
		s.Tries = tries[s.ID]
		pieces[i] = piece{s.ID, func(ctx context.Context) error { return t.submit(ctx, s) }}
	}
	return pieces, nil
}

func (t *term) submit(ctx context.Context, s store.ToSubmit) error {
	of := t.cfg.Pools.Named(s.Pool)
	outcome := cluster.Refused
	err := t.safely(s.ID, func() error {
		if of == nil {
			return fmt.Errorf("pool %q no longer exists", s.Pool)
		}
		job, err := t.describe(s, of)
		if fault.Is(err, fault.Unavailable) {
			outcome = cluster.TryAgain
		}
		if err != nil {
			return err
		}
		if outcome, err = t.settle(ctx, &job); outcome == cluster.Done {
			outcome, err = t.nomad.Submit(ctx, job.Task)
		}
		return err
	})
	var noRoom *cluster.NoRoom
	result := store.Submission{ID: s.ID, Refused: outcome == cluster.Refused, NoRoom: errors.As(err, &noRoom), Again: gap(s.Tries)}
	if outcome != cluster.Done {
		result.Failure = "Nomad gave no reason"
		if err != nil {
			result.Failure = err.Error()
		}
	}
	err = t.keep(ctx, func(tx *store.DB) error { return tx.Submitted(context.WithoutCancel(ctx), result) }, err)
	if result.Refused {
		notify(t.hands.done)
	}
	return err
}

// stops has Nomad stop jobs of attempts.
func (t *term) stops(_ context.Context, list []store.Work) ([]piece, error) {
	pieces := make([]piece, len(list))
	for i, w := range list {
		pieces[i] = piece{w.About, func(ctx context.Context) error { return t.stop(ctx, w) }}
	}
	return pieces, nil
}

func (t *term) stop(ctx context.Context, w store.Work) error {
	outcome := cluster.TryAgain
	err := t.safely(w.About, func() (err error) {
		outcome, err = t.nomad.Stop(ctx, w.About)
		return err
	})
	if outcome == cluster.Done {
		err := t.keep(ctx, func(tx *store.DB) error { return tx.Stopped(context.WithoutCancel(ctx), w.About) }, nil)
		notify(t.hands.done) // what has not started ends now
		return err
	}
	return t.keep(ctx, func(tx *store.DB) error {
		return tx.WorkFailed(context.WithoutCancel(ctx), w.Kind, w.About, text(err), gap(w.Tries))
	}, err)
}

// gap is how long to wait after so many failures, and one.
func gap(tries int) time.Duration { return min(firstAgain<<min(tries, 10), longestGap) }

func text(err error) string {
	if err == nil {
		return "Nomad gave no reason"
	}
	return err.Error()
}

// later puts work off that could not even be begun.
func (t *term) later(ctx context.Context, list []store.Work, cause error) {
	if ctx.Err() == nil {
		t.log.Warn("work will be tried again", "term", t.lead.Term, "kind", list[0].Kind, "pieces", len(list), "error", cause)
	}
}

// keep writes what came of a call, and passes the call's own error on.
func (t *term) keep(ctx context.Context, write func(tx *store.DB) error, call error) error {
	err := t.db.Fenced(context.WithoutCancel(ctx), t.lead.Term, write)
	return errors.Join(call, err)
}
