package api

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// shares limits the use of a resource, in total and for each owner. An owner who requests more
// waits first for the owner's own shares, outside of the common queue: so others do not wait
// for it.
type shares struct {
	all  *semaphore.Weighted
	max  int64 // in total
	each int64 // for one owner

	mu     sync.Mutex
	owners map[string]*ownShares
}

// ownShares has the slots that one owner holds and waits for.
type ownShares struct {
	room  *semaphore.Weighted
	users int // requests that hold or wait
}

func newShares(total, each int64) *shares {
	return &shares{all: semaphore.NewWeighted(total), max: total, each: each, owners: map[string]*ownShares{}}
}

// A share is the part that one request holds.
type share struct {
	freed    sync.Once
	all      func() // releases the common part
	released sync.Once
	own      func() // releases the owner's part
}

// take waits for n. A request for more than an owner may have waits until the owner holds
// nothing else.
func (s *shares) take(ctx context.Context, owner string, n int64) (*share, error) {
	own := s.enter(owner)
	ofOwner, ofAll := min(n, s.each), min(n, s.max)
	if err := own.room.Acquire(ctx, ofOwner); err != nil {
		s.leave(owner, own)
		return nil, err
	}
	if err := s.all.Acquire(ctx, ofAll); err != nil {
		own.room.Release(ofOwner)
		s.leave(owner, own)
		return nil, err
	}
	return &share{
		all: func() { s.all.Release(ofAll) },
		own: func() { own.room.Release(ofOwner); s.leave(owner, own) },
	}, nil
}

// free releases the common part; the owner's part stays in use.
func (s *share) free() { s.freed.Do(s.all) }

// release releases all of it. It may be called again.
func (s *share) release() {
	s.free()
	s.released.Do(s.own)
}

func (s *shares) enter(owner string) *ownShares {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	if own == nil {
		own = &ownShares{room: semaphore.NewWeighted(s.each)}
		s.owners[owner] = own
	}
	own.users++
	return own
}

func (s *shares) leave(owner string, own *ownShares) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.owners, owner)
	}
}
