package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
)

// Bounds on what is in flight towards Nomad.
const (
	inFlight   = 16
	callFor    = 10 * time.Second
	actFor     = time.Second // a cycle waits for its calls that long; what is not back is looked at later
	stopsAtAll = 256         // read at once
	firstAgain = time.Second
	longestGap = time.Minute
)

// hands makes calls to Nomad, one at a time per attempt, a few at once.
type hands struct {
	t    *term
	done chan struct{} // holds a token when a call came back after its cycle
	room chan struct{}
	all  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool
}

func newHands(t *term) *hands {
	return &hands{t: t, done: make(chan struct{}, 1), room: make(chan struct{}, inFlight), busy: map[string]bool{}}
}

func (h *hands) wait() { h.all.Wait() }

// take marks an attempt as being worked on; false when it already is, or when
// there is no room for another call.
func (h *hands) take(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[id] {
		return false
	}
	select {
	case h.room <- struct{}{}:
	default:
		return false
	}
	h.busy[id] = true
	return true
}

func (h *hands) release(id string) {
	h.mu.Lock()
	delete(h.busy, id)
	h.mu.Unlock()
	<-h.room
	select {
	case h.done <- struct{}{}:
	default:
	}
}

// call runs fn for an attempt, unless the lease is nearly over: what is begun
// outside the database no fence can stop.
func (h *hands) call(ctx context.Context, id string, cycle *sync.WaitGroup, fn func(ctx context.Context) error) {
	if !h.t.lead.Holds() || !h.take(id) {
		return
	}
	cycle.Add(1)
	h.all.Go(func() {
		defer cycle.Done()
		defer h.release(id)
		call, cancel := context.WithTimeout(ctx, callFor)
		defer cancel()
		if err := fn(call); err != nil && ctx.Err() == nil {
			h.t.log.Warn("an attempt could not be handed to Nomad", "term", h.t.lead.Term, "allocation_id", id, "error", err)
		}
	})
}

// act submits what was placed and stops what is to end.
func (t *term) act(ctx context.Context, live *store.Live, changes *store.Changes) error {
	var cycle sync.WaitGroup
	t.release(ctx, changes, &cycle)
	t.collect(ctx, live, &cycle)
	if err := t.sweep(ctx, &cycle); err != nil {
		return err
	}
	submit := due(live, changes)
	if len(submit) > 0 {
		list, err := t.db.Submissions(ctx, submit)
		if err != nil {
			return fmt.Errorf("act: %w", err)
		}
		for _, s := range list {
			t.hands.call(ctx, s.ID, &cycle, func(ctx context.Context) error { return t.submit(ctx, s) })
		}
	}
	stops, err := t.db.ToStop(ctx, stopsAtAll)
	if err != nil {
		return fmt.Errorf("act: %w", err)
	}
	for _, id := range stops {
		t.hands.call(ctx, id, &cycle, func(ctx context.Context) error { return t.stop(ctx, id) })
	}
	back := make(chan struct{})
	go func() { cycle.Wait(); close(back) }()
	limit := time.NewTimer(actFor)
	defer limit.Stop()
	select {
	case <-back:
	case <-limit.C:
	case <-ctx.Done():
	}
	return nil
}

// due lists the attempts that Nomad should have: those placed in this cycle, and
// earlier ones whose submission did not succeed and whose pause is over.
func due(live *store.Live, changes *store.Changes) []string {
	var ids []string
	for _, p := range changes.Placements {
		ids = append(ids, p.AllocationID)
	}
	for _, a := range live.Allocations {
		if a.State == string(lifecycle.Assigned) && a.SubmittedAt == nil && a.KillAt == nil && a.RefusedWhy == "" &&
			(a.SubmitAfter == nil || !a.SubmitAfter.After(live.Now)) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func (t *term) submit(ctx context.Context, s store.ToSubmit) error {
	var pool *Pool
	for i := range t.cfg.Pools {
		if t.cfg.Pools[i].Name == s.Pool {
			pool = &t.cfg.Pools[i]
		}
	}
	outcome := cluster.Refused
	var err error
	if pool == nil {
		err = fmt.Errorf("pool %q no longer exists", s.Pool)
	} else if task, terr := t.cfg.Task(s, pool); terr != nil {
		err = terr
		if fault.Is(terr, fault.Unavailable) {
			outcome = cluster.TryAgain
		}
	} else if outcome, err = t.grant(ctx, s, task); outcome == cluster.Done {
		outcome, err = t.nomad.Submit(ctx, task)
	}
	failure := ""
	if outcome != cluster.Done {
		failure = "Nomad gave no reason"
		if err != nil {
			failure = err.Error()
		}
	}
	again := min(firstAgain<<min(s.Tries, 10), longestGap)
	return t.keep(ctx, func(tx *store.DB) error {
		return tx.Submitted(ctx, s.ID, failure, outcome == cluster.Refused, again)
	}, err)
}

func (t *term) stop(ctx context.Context, id string) error {
	outcome, err := t.nomad.Stop(ctx, id)
	if outcome != cluster.Done {
		return err
	}
	return t.keep(ctx, func(tx *store.DB) error { return tx.Stopped(ctx, id) }, nil)
}

// keep writes what came of a call, and passes the call's own error on.
func (t *term) keep(ctx context.Context, write func(tx *store.DB) error, call error) error {
	err := t.db.Fenced(context.WithoutCancel(ctx), t.lead.Term, write)
	return errors.Join(call, err)
}
