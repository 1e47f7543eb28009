package store

import (
	"context"
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

// group makes those who write at the same time share a commit. While one flush
// is under way, whatever arrives waits and is taken whole by the next: no timer,
// so a lone writer pays one commit and nothing else, and many writers pay
// together. There is one flush at a time, in order of arrival.
//
// Nothing has to be started: a goroutine runs while something waits, and wait
// is for its end.
type group[T any] struct {
	flush func(batch []*queued[T]) // sets err of each
	most  int                      // in one flush
	limit int                      // that may wait; beyond it callers are turned away

	mu    sync.Mutex
	queue []*queued[T]
	busy  bool
	wg    sync.WaitGroup
}

// queued is one caller's item, and what became of it.
type queued[T any] struct {
	item T
	err  error
	done chan struct{}
}

func newGroup[T any](most int, flush func(batch []*queued[T])) *group[T] {
	return &group[T]{flush: flush, most: most, limit: 64 * most}
}

// do waits until item was flushed. When ctx ends first the outcome is unknown,
// and the caller may send the item again: writes by group are idempotent.
func (g *group[T]) do(ctx context.Context, item T) (T, error) {
	q := &queued[T]{item: item, done: make(chan struct{})}
	g.mu.Lock()
	if len(g.queue) >= g.limit {
		g.mu.Unlock()
		return item, fault.New(fault.Unavailable, "%d reports wait to be stored already; try again in a moment", g.limit)
	}
	g.queue = append(g.queue, q)
	if !g.busy {
		g.busy = true
		g.wg.Go(g.drain)
	}
	g.mu.Unlock()
	select {
	case <-q.done:
		return q.item, q.err
	case <-ctx.Done():
		return item, fault.Wrap(fault.Unavailable, ctx.Err(), "it was not stored in time; try again")
	}
}

// drain flushes until nothing waits.
func (g *group[T]) drain() {
	for {
		g.mu.Lock()
		n := min(len(g.queue), g.most)
		if n == 0 {
			g.busy, g.queue = false, nil
			g.mu.Unlock()
			return
		}
		batch := g.queue[:n:n]
		g.queue = g.queue[n:]
		g.mu.Unlock()
		g.flush(batch)
		for _, q := range batch {
			close(q.done)
		}
	}
}

// wait returns when nothing is being flushed.
func (g *group[T]) wait() { g.wg.Wait() }

// fail gives every item of a batch the same error.
func fail[T any](batch []*queued[T], err error) {
	for _, q := range batch {
		q.err = err
	}
}
