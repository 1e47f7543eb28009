package database

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/detent-ml/detent/master/fault"
)

// A change holds a connection while it waits for a row that another change has locked. Requests of one owner change the same few rows, so
// without a limit they would keep all connections of the pool, and everybody else waits. So the changes of one owner use a part of the
// connections, and further ones wait before they take one. Reads have a part of their own: thousands of programs of one owner may ask at
// once. The master's own calls have no owner, and no limit.

type ownerKey struct{}

// ForOwner says in whose name a call changes something. Calls without an owner are the master's own.
func ForOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// owners are the parts of the connections that owners use.
type owners struct {
	each int64 // of the changes of an owner, and of its reads
	// strangers are the callers who are not known: all together have a part as one owner has.
	strangers struct{ changes, reads *semaphore.Weighted }
	all       *semaphore.Weighted // changes of all owners beyond the first of each; the rest is left to reads, and the control loop has connections of its own
	mu        sync.Mutex
	of        map[string]*ownerPart
}

type ownerPart struct {
	changes, reads *semaphore.Weighted
	stranger       bool

	first *semaphore.Weighted // one of the changes
	users int                 // calls that hold or wait; the part is forgotten when there is none
}

// newOwners gives each owner a quarter of the connections for changes and a quarter for reads, and all owners together three quarters for changes.
func newOwners(conns int32) *owners {
	each := max(1, int64(conns)/4)
	o := &owners{each: each, all: semaphore.NewWeighted(max(1, int64(conns)*3/4)), of: map[string]*ownerPart{}}
	o.strangers.changes, o.strangers.reads = semaphore.NewWeighted(each), semaphore.NewWeighted(max(each, minReads))
	return o
}

// minReads is the number of connections that the reads of an owner may use in the smallest pool.
const minReads = 2

// noteOf is the owner of what a call of another owner is noted in: it has one connection.
const noteOf = "notes of "

// strangerAt is the owner of calls of those who are not signed in, by their address.
const strangerAt = "address "

// StrangerAt is the owner of the calls of those who are not signed in, at an address.
func StrangerAt(address string) string { return strangerAt + address }

// ForStrangers says that a call is made for anybody, if it is not known yet who asks and whether what they name exists.
func ForStrangers(ctx context.Context) context.Context {
	if ctx.Value(ownerKey{}) != nil {
		return ctx
	}
	return ForOwner(ctx, strangerAt)
}

// ForNotes says in whose name a call is noted. Notes wait for each other's row, one at a time.
func ForNotes(ctx context.Context, owner string) context.Context { return ForOwner(ctx, noteOf+owner) }

// takeChange waits for a part of the owner in ctx. A transaction has the part that it began with: o is nil there.
func (o *owners) takeChange(ctx context.Context) (release func(), err error) {
	owner, _ := ctx.Value(ownerKey{}).(string)
	if o == nil || owner == "" {
		return func() {}, nil
	}
	p := o.enter(owner)
	parts := []part{{p.changes, "other changes of yours did not end in time; try again"}}
	if p.stranger {
		parts = append(parts, part{o.strangers.changes, crowded})
	}
	first := p.first.TryAcquire(1) // which waits for no other owner
	if !first {
		parts = append(parts, part{o.all, "changes of others did not end in time; try again"})
	}
	end := func() {
		if first {
			p.first.Release(1)
		}
	}
	free, err := o.hold(ctx, owner, p, parts)
	if err != nil {
		end()
		return nil, err
	}
	return func() { end(); free() }, nil
}

// takeRead is takeChange for what changes nothing.
func (o *owners) takeRead(ctx context.Context) (release func(), err error) {
	owner, _ := ctx.Value(ownerKey{}).(string)
	if o == nil || owner == "" {
		return func() {}, nil
	}
	p := o.enter(owner)
	parts := []part{{p.reads, "other requests of yours, or of your tasks, did not end in time; try again"}}
	if p.stranger {
		parts = append(parts, part{o.strangers.reads, crowded})
	}
	return o.hold(ctx, owner, p, parts)
}

// A part is one connection of a limited number; late says why there was none.
type part struct {
	of   *semaphore.Weighted
	late string
}

const crowded = "other requests without a session did not end in time; try again"

// hold takes one of each part, one after the other.
func (o *owners) hold(ctx context.Context, owner string, p *ownerPart, parts []part) (release func(), err error) {
	free := func(held []part) {
		for _, h := range held {
			h.of.Release(1)
		}
		o.leave(owner, p)
	}
	for i, x := range parts {
		if err := x.of.Acquire(ctx, 1); err != nil {
			free(parts[:i])
			return nil, fault.Wrap(fault.Unavailable, err, "%s", x.late)
		}
	}
	return func() { free(parts) }, nil
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
		p = &ownerPart{changes: semaphore.NewWeighted(each), first: semaphore.NewWeighted(1), reads: semaphore.NewWeighted(max(each, minReads)), stranger: strings.HasPrefix(owner, strangerAt)}
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
	return slices.ContainsFunc([]string{"UPDATE ", "INSERT ", "DELETE "}, func(word string) bool { return strings.Contains(sql, word) })
}
