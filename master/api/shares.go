package api

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// shares bounds what is in use at once, for everybody together and for each owner.
// An owner who asks for more waits for what the same owner holds, before the queue in
// which everybody waits: the others do not wait for that.
type shares struct {
	all  *semaphore.Weighted
	max  int64 // of everybody together
	each int64 // of one owner

	mu     sync.Mutex
	owners map[string]*ownShares
}

// ownShares is what one owner holds and waits for.
type ownShares struct {
	room  *semaphore.Weighted
	users int // that hold or wait
}

func newShares(total, each int64) *shares {
	return &shares{all: semaphore.NewWeighted(total), max: total, each: each, owners: map[string]*ownShares{}}
}

// A share is what one request holds.
type share struct {
	freed    sync.Once
	all      func() // gives back what others wait for
	released sync.Once
	own      func() // gives back the owner's own
}

// take waits for n. Who asks for more than an owner may have gets it, and then holds
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

// free gives back what others wait for; the owner's own share stays taken.
func (s *share) free() { s.freed.Do(s.all) }

// release gives back all of it. It may be called again.
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
