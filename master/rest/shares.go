package rest

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Shares limit the use of a resource, in total and for each owner. An owner who requests more
// waits first for the owner's own shares, outside of the common queue: so others do not wait
// for it.
type Shares struct {
	all  *semaphore.Weighted
	max  int64         // in total
	each int64         // for one owner
	more chan struct{} // what owners have beyond their first request; nil: without a limit of its own

	mu     sync.Mutex
	owners map[string]*ownShares
}

// ownShares has the slots that one owner holds and waits for.
type ownShares struct {
	room  *semaphore.Weighted
	first chan struct{} // the owner's first request
	users int           // requests that hold or wait
}

// NewShares returns shares of a total, of which each owner may have a part.
func NewShares(total, each int64) *Shares {
	return &Shares{all: semaphore.NewWeighted(total), max: total, each: each, owners: map[string]*ownShares{}}
}

// NewFairShares returns shares of one for each request. All owners together may have a number of requests
// beyond the first of each, so a few owners leave room for the first request of others.
func NewFairShares(total, each, more int64) *Shares {
	s := NewShares(total, each)
	s.more = make(chan struct{}, more)
	return s
}

// Full reports whether an owner holds all that one may have, and so many requests more wait for it.
func (s *Shares) Full(owner string, waiting int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	return own != nil && int64(own.users) >= s.each+int64(waiting)
}

// Contended reports whether more owners hold or wait than there is room for.
func (s *Shares) Contended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.owners)) > s.max
}

// A share is the part that one request holds.
type Share struct {
	freed    sync.Once
	all      func() // releases the common part
	released sync.Once
	own      func() // releases the owner's part
}

// Take waits for n. A request for more than an owner may have waits until the owner holds
// nothing else.
func (s *Shares) Take(ctx context.Context, owner string, n int64) (*Share, error) {
	own := s.enter(owner)
	ofOwner, ofAll := min(n, s.each), min(n, s.max)
	if err := own.room.Acquire(ctx, ofOwner); err != nil {
		s.leave(owner, own)
		return nil, err
	}
	fair, err := s.takeFair(ctx, own)
	if err == nil {
		if err = s.all.Acquire(ctx, ofAll); err != nil {
			fair()
		}
	}
	if err != nil {
		own.room.Release(ofOwner)
		s.leave(owner, own)
		return nil, err
	}
	return &Share{
		all: func() { s.all.Release(ofAll); fair() },
		own: func() { own.room.Release(ofOwner); s.leave(owner, own) },
	}, nil
}

// takeFair waits until a request is the owner's first, or one of those that all owners may have beyond that.
func (s *Shares) takeFair(ctx context.Context, own *ownShares) (release func(), err error) {
	if s.more == nil {
		return func() {}, nil
	}
	select {
	case own.first <- struct{}{}:
		return func() { <-own.first }, nil
	default:
	}
	select {
	case own.first <- struct{}{}:
		return func() { <-own.first }, nil
	case s.more <- struct{}{}:
		return func() { <-s.more }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End releases a share, if there is one.
func (s *Share) End() {
	if s != nil {
		s.Release()
	}
}

// Free releases the common part; the owner's part stays in use.
func (s *Share) Free() { s.freed.Do(s.all) }

// Release releases all of it. It may be called again.
func (s *Share) Release() {
	s.Free()
	s.released.Do(s.own)
}

// Held counts the shares that requests hold or wait for.
func (s *Shares) Held() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.owners {
		n += own.users
	}
	return n
}

// HeldBy counts the shares that one owner holds or waits for.
func (s *Shares) HeldBy(owner string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	if own == nil {
		return 0
	}
	return own.users
}

func (s *Shares) enter(owner string) *ownShares {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	if own == nil {
		own = &ownShares{room: semaphore.NewWeighted(s.each), first: make(chan struct{}, 1)}
		s.owners[owner] = own
	}
	own.users++
	return own
}

func (s *Shares) leave(owner string, own *ownShares) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.owners, owner)
	}
}
