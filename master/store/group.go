package store

import (
	"context"
	"slices"
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// isolatedBatch requests of an owner whose request failed a batch are taken together.
	isolatedBatch = 32
	// trustedAfter so many stored requests such an owner's go with those of others again.
	trustedAfter = 100
	// maxSuspects are remembered.
	maxSuspects = 10_000
)

// group makes those who write at the same time share a commit. While one flush
// is under way, whatever arrives waits and is taken by the next: no timer, so a
// lone writer pays one commit and nothing else, and many writers pay together.
// There is one flush at a time.
//
// Every request has an owner, and owners take turns: a batch has one request of
// each, then a second of each, until it is full, so that nobody waits for all that
// another has sent. An owner's requests keep their order. When a request failed the
// batch that it was in, its owner's next ones are in batches of their own, between
// those of the others, until enough of them were stored.
//
// Nothing has to be started: a goroutine runs while something waits, and wait
// is for its end.
type group[K comparable, T any] struct {
	owner func(item T) K
	flush func(batch []*queued[T]) // sets err of each, as apart does
	most  int                      // in one flush
	limit int                      // that may wait; beyond it callers are turned away

	mu       sync.Mutex
	waiting  map[K][]*queued[T]
	count    int       // of all that wait
	turns    []K       // owners with something waiting, the next first
	alone    []K       // the same of those who go alone
	suspects map[K]int // those who go alone, and how many requests they have to get stored
	others   bool      // the last batch was of turns
	busy     bool
	wg       sync.WaitGroup
}

// queued is one caller's item, and what became of it.
type queued[T any] struct {
	item  T
	err   error
	broke bool // it failed its batch, not only itself
	again bool // it was not tried, for its owner's other request broke the batch
	done  chan struct{}
}

func newGroup[K comparable, T any](maxBatch int, owner func(item T) K, flush func(batch []*queued[T])) *group[K, T] {
	return &group[K, T]{owner: owner, flush: flush, most: maxBatch, limit: 64 * maxBatch,
		waiting: map[K][]*queued[T]{}, suspects: map[K]int{}}
}

// do waits until item was flushed. When ctx ends first the outcome is unknown,
// and the caller may send the item again: writes by group are idempotent.
func (g *group[K, T]) do(ctx context.Context, item T) (T, error) {
	q := &queued[T]{item: item, done: make(chan struct{})}
	owner := g.owner(item)
	g.mu.Lock()
	if mine := len(g.waiting[owner]); g.count >= g.limit || mine >= g.limit/4 {
		g.mu.Unlock()
		return item, fault.New(fault.Unavailable, "%d reports already wait to be stored; try again", max(mine, g.limit/4))
	}
	g.push(owner, q)
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

// push adds requests to those of their owner. mu is held, as in all that follows
// but drain.
func (g *group[K, T]) push(owner K, q ...*queued[T]) {
	g.count += len(q)
	if g.waiting[owner] = append(g.waiting[owner], q...); len(g.waiting[owner]) > len(q) {
		return
	}
	if _, suspect := g.suspects[owner]; suspect {
		g.alone = append(g.alone, owner)
	} else {
		g.turns = append(g.turns, owner)
	}
}

// drain flushes until nothing waits.
func (g *group[K, T]) drain() {
	for {
		g.mu.Lock()
		if g.count == 0 {
			g.busy, g.turns, g.alone = false, nil, nil
			g.mu.Unlock()
			return
		}
		batch := g.take()
		g.mu.Unlock()
		g.flush(batch)
		g.mu.Lock()
		done := g.settle(batch)
		g.mu.Unlock()
		for _, q := range done {
			close(q.done)
		}
	}
}

// take chooses the next batch.
func (g *group[K, T]) take() (batch []*queued[T]) {
	if len(g.alone) > 0 && (g.others || len(g.turns) == 0) {
		g.others = false
		owner := g.alone[0]
		list := g.waiting[owner]
		n := min(len(list), isolatedBatch)
		g.alone = g.nextOf(g.alone, owner, list[n:])
		g.count -= n
		return list[:n:n]
	}
	g.others = true
	for len(batch) < g.most && len(g.turns) > 0 {
		owner := g.turns[0]
		list := g.waiting[owner]
		batch = append(batch, list[0])
		g.turns = g.nextOf(g.turns, owner, list[1:])
	}
	g.count -= len(batch)
	return batch
}

// nextOf takes the first owner from a list, and puts the owner at its end when more of
// the owner's requests wait.
func (g *group[K, T]) nextOf(turns []K, owner K, rest []*queued[T]) []K {
	if turns = turns[1:]; len(rest) == 0 {
		delete(g.waiting, owner)
		return turns
	}
	g.waiting[owner] = rest
	return append(turns, owner)
}

// settle remembers whose requests failed a batch, queues again what was not tried, and
// returns the rest.
func (g *group[K, T]) settle(batch []*queued[T]) (done []*queued[T]) {
	var again []*queued[T]
	for _, q := range batch {
		owner := g.owner(q.item)
		left, suspect := g.suspects[owner]
		switch {
		case q.again:
			again = append(again, q)
			continue
		case q.broke && (suspect || len(g.suspects) < maxSuspects):
			g.suspects[owner] = trustedAfter
		case suspect && q.err == nil && left > 1:
			g.suspects[owner] = left - 1
		case suspect && q.err == nil:
			delete(g.suspects, owner)
		default:
			done = append(done, q)
			continue
		}
		done = append(done, q)
		if _, now := g.suspects[owner]; now != suspect && len(g.waiting[owner]) > 0 {
			g.isolate(owner, now)
		}
	}
	for _, q := range slices.Backward(again) { // each before what came later
		q.again = false
		owner := g.owner(q.item)
		behind := g.waiting[owner]
		if len(behind) == 0 {
			g.push(owner, q)
			continue
		}
		g.waiting[owner] = append([]*queued[T]{q}, behind...)
		g.count++
	}
	return done
}

// isolate moves an owner whose requests wait to the owners whose batches are their own,
// or back.
func (g *group[K, T]) isolate(owner K, alone bool) {
	from, to := &g.alone, &g.turns
	if alone {
		from, to = to, from
	}
	if i := slices.Index(*from, owner); i >= 0 {
		*from = slices.Delete(*from, i, i+1)
		*to = append(*to, owner)
	}
}

// wait returns when nothing is being flushed.
func (g *group[K, T]) wait() { g.wg.Wait() }

// commitHalving commits a batch. When the batch fails for something in it, its halves are
// committed, and so on, until what fails is a request alone. The other requests of
// that one's owner are not tried then: they are for another batch.
func commitHalving[K comparable, T any](batch []*queued[T], owner func(T) K, commit func([]*queued[T]) error) {
	broken := map[K]bool{}
	var away error
	var try func(batch []*queued[T])
	try = func(batch []*queued[T]) {
		if len(broken) > 0 {
			batch = slices.DeleteFunc(slices.Clone(batch), func(q *queued[T]) bool {
				q.again = broken[owner(q.item)]
				return q.again
			})
		}
		if away != nil || len(batch) == 0 {
			fail(batch, away)
			return
		}
		switch err := commit(batch); {
		case err == nil:
		case fault.Is(err, fault.Unavailable):
			away = err
			fail(batch, err)
		case len(batch) == 1:
			batch[0].err, batch[0].broke = err, true
			broken[owner(batch[0].item)] = true
		default:
			half := len(batch) / 2
			try(batch[:half])
			try(batch[half:])
		}
	}
	try(batch)
}

// fail gives every item of a batch the same error.
func fail[T any](batch []*queued[T], err error) {
	for _, q := range batch {
		q.err = err
	}
}
