package database

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// isolatedBatch is the size of the batches of an isolated owner.
	isolatedBatch = 32
	// trustedAfter is the number of stored requests after which an owner is no longer isolated.
	trustedAfter = 100
	// maxSuspects is the maximum number of isolated owners.
	maxSuspects = 10_000
)

// GroupCommit implements group commit: it stores the items of parallel callers in one commit.
// While one flush runs, further items wait, and the next flush takes them. There is no
// timer: a single caller waits for one commit only. One flush runs at a time.
//
// Every item has an owner, and owners take turns: a batch has one item
// of each owner, then a second of each, until it is full, so that one owner's many items
// do not delay the others. The items of one owner keep their order. If an item makes its
// batch fail, its owner is isolated: the owner's next items are in batches of their own,
// alternating with the batches of the others, until enough of them were stored.
//
// A goroutine runs while items wait; Wait returns when it has ended.
type GroupCommit[K comparable, T any] struct {
	owner func(item T) K
	flush func(batch []*Queued[T]) // stores a batch and sets the Err of each item, see CommitHalving
	most  int                      // items in one flush
	size  func(item T) int         // bytes of an item; nil: they do not count
	bytes int                      // bytes of items, after which a flush takes no further ones
	limit int                      // items that may wait; further calls fail

	mu       sync.Mutex
	waiting  map[K][]*Queued[T]
	count    int       // items that wait
	turns    []K       // owners with waiting items, the next first
	alone    []K       // isolated owners with waiting items, the next first
	suspects map[K]int // isolated owner → how many items must be stored until it is no longer isolated
	others   bool      // the last batch was from turns, so the next one is from alone
	busy     bool
	wg       sync.WaitGroup
}

// Queued is one caller's item and its result.
type Queued[T any] struct {
	Item  T
	Err   error
	broke bool // the item made its batch fail
	Again bool // the item was not tried: another item of its owner made the batch fail, or flush leaves it to the next batch
	done  chan struct{}
}

// NewGroupCommit returns a group commit whose batches have at most maxBatch items. flush stores a batch, and owner returns the owner of an item.
func NewGroupCommit[K comparable, T any](maxBatch int, owner func(item T) K, flush func(batch []*Queued[T])) *GroupCommit[K, T] {
	return &GroupCommit[K, T]{owner: owner, flush: flush, most: maxBatch, limit: 64 * maxBatch,
		waiting: map[K][]*Queued[T]{}, suspects: map[K]int{}}
}

// LimitBytes makes a flush take no further items after those that have so many bytes.
func (g *GroupCommit[K, T]) LimitBytes(bytes int, size func(item T) int) {
	g.bytes, g.size = bytes, size
}

// Do adds an item and waits until it was flushed. If ctx ends first, the result is unknown,
// and the caller may repeat the call: writes by group are idempotent.
func (g *GroupCommit[K, T]) Do(ctx context.Context, item T) (T, error) {
	return item, g.doTogether(ctx, []T{item})[0]
}

// DoAll adds items of one owner, and waits until all were flushed. The result has the error of each.
func (g *GroupCommit[K, T]) DoAll(ctx context.Context, items []T) []error {
	errs := make([]error, 0, len(items))
	for part := range slices.Chunk(items, max(1, g.limit/8)) {
		errs = append(errs, g.doTogether(ctx, part)...)
	}
	return errs
}

// doTogether is DoAll for items that wait at once.
func (g *GroupCommit[K, T]) doTogether(ctx context.Context, items []T) []error {
	errs, list := make([]error, len(items)), make([]*Queued[T], len(items))
	for i, item := range items {
		list[i] = &Queued[T]{Item: item, done: make(chan struct{})}
	}
	owner := g.owner(items[0])
	g.mu.Lock()
	if mine := len(g.waiting[owner]); g.count >= g.limit || mine >= g.limit/4 {
		g.mu.Unlock()
		err := fault.New(fault.Unavailable, "%d reports already wait to be stored; try again", max(mine, g.limit/4))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	g.push(owner, list...)
	if !g.busy {
		g.busy = true
		g.wg.Go(g.drain)
	}
	g.mu.Unlock()
	for i, q := range list {
		select {
		case <-q.done:
			errs[i] = q.Err
		case <-ctx.Done():
			errs[i] = fault.Wrap(fault.Unavailable, ctx.Err(), "the database did not store the report in time; try again")
		}
	}
	return errs
}

// push adds items of an owner. The caller holds mu, as for all functions below except drain, FlushNext and Together.
func (g *GroupCommit[K, T]) push(owner K, q ...*Queued[T]) {
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

// drain flushes until no item waits.
func (g *GroupCommit[K, T]) drain() {
	for g.FlushNext() {
	}
}

// FlushNext flushes the next batch. It returns false if no item waits.
func (g *GroupCommit[K, T]) FlushNext() bool {
	g.mu.Lock()
	if g.count == 0 {
		g.busy, g.turns, g.alone = false, nil, nil
		g.mu.Unlock()
		return false
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
	return true
}

// Together adds items as if their callers all waited at once, and flushes none. Tests flush them with FlushNext, and
// see what each batch stores.
func (g *GroupCommit[K, T]) Together(items ...T) []*Queued[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*Queued[T], len(items))
	for i, item := range items {
		list[i] = &Queued[T]{Item: item, done: make(chan struct{})}
		g.push(g.owner(item), list[i])
	}
	return list
}

// take chooses the next batch.
func (g *GroupCommit[K, T]) take() (batch []*Queued[T]) {
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
	for bytes := 0; len(batch) < g.most && bytes <= g.bytes && len(g.turns) > 0; {
		owner := g.turns[0]
		list := g.waiting[owner]
		if batch = append(batch, list[0]); g.size != nil {
			bytes += g.size(list[0].Item)
		}
		g.turns = g.nextOf(g.turns, owner, list[1:])
	}
	g.count -= len(batch)
	return batch
}

// nextOf removes the first owner from a list, and appends the owner again if more of the
// owner's items wait.
func (g *GroupCommit[K, T]) nextOf(turns []K, owner K, rest []*Queued[T]) []K {
	if turns = turns[1:]; len(rest) == 0 {
		delete(g.waiting, owner)
		return turns
	}
	g.waiting[owner] = rest
	return append(turns, owner)
}

// settle isolates the owners whose items made the batch fail, queues the items that were
// not tried again, and returns the others.
func (g *GroupCommit[K, T]) settle(batch []*Queued[T]) (done []*Queued[T]) {
	var again []*Queued[T]
	for _, q := range batch {
		owner := g.owner(q.Item)
		left, suspect := g.suspects[owner]
		switch {
		case q.Again:
			again = append(again, q)
			continue
		case q.broke && (suspect || len(g.suspects) < maxSuspects):
			g.suspects[owner] = trustedAfter
		case suspect && q.Err == nil && left > 1:
			g.suspects[owner] = left - 1
		case suspect && q.Err == nil:
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
	for _, q := range slices.Backward(again) { // in front of the owner's later items
		q.Again = false
		owner := g.owner(q.Item)
		behind := g.waiting[owner]
		if len(behind) == 0 {
			g.push(owner, q)
			continue
		}
		g.waiting[owner] = append([]*Queued[T]{q}, behind...)
		g.count++
	}
	return done
}

// isolate moves an owner with waiting items from turns to alone, or back.
func (g *GroupCommit[K, T]) isolate(owner K, alone bool) {
	from, to := &g.alone, &g.turns
	if alone {
		from, to = to, from
	}
	if i := slices.Index(*from, owner); i >= 0 {
		*from = slices.Delete(*from, i, i+1)
		*to = append(*to, owner)
	}
}

// Wait returns when no item waits and no flush runs.
func (g *GroupCommit[K, T]) Wait() { g.wg.Wait() }

// CommitHalving commits a batch. If the batch fails because of an item, CommitHalving
// commits its halves, and so on, until it has found the item. It does not try the other
// items of that item's owner; they wait for another batch. If the database does not answer, or
// the master leads no more, that is the error of all items that remain.
func CommitHalving[K comparable, T any](batch []*Queued[T], owner func(T) K, commit func([]*Queued[T]) error) {
	broken := map[K]bool{}
	var away error
	var try func(batch []*Queued[T])
	try = func(batch []*Queued[T]) {
		if len(broken) > 0 {
			batch = slices.DeleteFunc(slices.Clone(batch), func(q *Queued[T]) bool {
				q.Again = broken[owner(q.Item)]
				return q.Again
			})
		}
		if away != nil || len(batch) == 0 {
			fail(batch, away)
			return
		}
		switch err := commit(batch); {
		case err == nil:
		case fault.Is(err, fault.Unavailable), errors.Is(err, ErrNotLeader):
			away = err
			fail(batch, err)
		case len(batch) == 1:
			batch[0].Err, batch[0].broke = err, true
			broken[owner(batch[0].Item)] = true
		default:
			half := len(batch) / 2
			try(batch[:half])
			try(batch[half:])
		}
	}
	try(batch)
}

// fail gives every item of a batch the same error.
func fail[T any](batch []*Queued[T], err error) {
	for _, q := range batch {
		q.Err, q.Again = err, false
	}
}
