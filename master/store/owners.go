package store

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/detent-ml/detent/master/fault"
)

// A change holds a connection while it waits for a row that another change has locked. Requests of one user change the same few rows, so
// without a limit they would keep all connections of the pool, and everybody else waits. So the changes of one owner use a part of the
// connections, and further ones wait before they take one. Reads have a part of their own: thousands of tasks of one user may ask at
// once. The master's own calls have no owner, and no limit.

type ownerKey struct{}

// ForOwner says in whose name a call changes something. Calls without an owner are the master's own.
func ForOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// owners are the parts of the connections that owners use for changes.
type owners struct {
	each int64               // of the changes of an owner, and of its reads
	all  *semaphore.Weighted // changes of all owners; the rest is left to reads; the control loop has connections of its own
	mu   sync.Mutex
	of   map[string]*ownerPart
}

type ownerPart struct {
	changes, reads *semaphore.Weighted

	users int // calls that hold or wait; the part is forgotten when there is none
}

// newOwners gives each owner a quarter of the connections, and all owners together three quarters.
func newOwners(conns int32) *owners {
	return &owners{each: max(1, int64(conns)/4), all: semaphore.NewWeighted(max(1, int64(conns)*3/4)), of: map[string]*ownerPart{}}
}

// minReads is the number of connections that the reads of an owner may use in the smallest pool.
const minReads = 2

// noteOf is the owner of what a call of another owner is noted in: it has one connection.
const noteOf = "notes of "

// ForNotes says in whose name a call is noted, as in the audit trail. Notes wait for each other's row, one at a time.
func ForNotes(ctx context.Context, owner string) context.Context { return ForOwner(ctx, noteOf+owner) }

// takeChange waits for a part of the owner in ctx. A transaction has the part that it began with: o is nil there.
func (o *owners) takeChange(ctx context.Context) (release func(), err error) {
	owner, _ := ctx.Value(ownerKey{}).(string)
	if o == nil || owner == "" {
		return func() {}, nil
	}
	p := o.enter(owner)
	if err := p.changes.Acquire(ctx, 1); err != nil {
		o.leave(owner, p)
		return nil, fault.Wrap(fault.Unavailable, err, "other changes of yours did not end in time; try again")
	}
	if err := o.all.Acquire(ctx, 1); err != nil {
		p.changes.Release(1)
		o.leave(owner, p)
		return nil, fault.Wrap(fault.Unavailable, err, "changes of others did not end in time; try again")
	}
	return func() { o.all.Release(1); p.changes.Release(1); o.leave(owner, p) }, nil
}

// takeRead is takeChange for what changes nothing.
func (o *owners) takeRead(ctx context.Context) (release func(), err error) {
	owner, _ := ctx.Value(ownerKey{}).(string)
	if o == nil || owner == "" {
		return func() {}, nil
	}
	p := o.enter(owner)
	if err := p.reads.Acquire(ctx, 1); err != nil {
		o.leave(owner, p)
		return nil, fault.Wrap(fault.Unavailable, err, "other requests of yours, or of your tasks, did not end in time; try again")
	}
	return func() { p.reads.Release(1); o.leave(owner, p) }, nil
}

// takeFor takes what a statement needs.
func (o *owners) takeFor(ctx context.Context, sql string) (release func(), err error) {
	switch {
	case o == nil || ctx.Value(ownerKey{}) == nil: // most statements are within a transaction, or the master's own
		return func() {}, nil
	case changes(sql):
		return o.takeChange(ctx)
	}
	return o.takeRead(ctx)
}

func (o *owners) enter(owner string) *ownerPart {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.of[owner]
	if p == nil {
		each := o.each
		if strings.HasPrefix(owner, noteOf) {
			each = 1
		}
		p = &ownerPart{changes: semaphore.NewWeighted(each), reads: semaphore.NewWeighted(max(each, minReads))}
		o.of[owner] = p
	}
	p.users++
	return p
}

func (o *owners) leave(owner string, p *ownerPart) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(o.of, owner)
	}
}

// changes reports whether a statement may wait for a row.
func changes(sql string) bool {
	for _, word := range []string{"UPDATE ", "INSERT ", "DELETE "} {
		if strings.Contains(sql, word) {
			return true
		}
	}
	return false
}
