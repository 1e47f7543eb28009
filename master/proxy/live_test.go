package proxy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
)

// fakeDirectory has tasks and sessions, counts its calls, and can be unavailable.
type fakeDirectory struct {
	Directory
	accessState
	asked int
	err   error
}

func (d *fakeDirectory) Tasks(context.Context, []string) (map[string]Task, error) {
	d.asked++
	return d.tasks, d.err
}

func (d *fakeDirectory) Sessions(context.Context, []int64) (map[int64]auth.Who, error) {
	d.asked++
	return d.sessions, d.err
}

func TestWhatIsOpenEndsWithTheRight(t *testing.T) {
	l := newLive()
	begin := func(task, attempt string, session int64) context.Context {
		t.Helper()
		ctx, end, err := l.begin(t.Context(), access{task: task, attempt: attempt, session: session}, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		for v := range l.open {
			v.began = time.Now().Add(-time.Hour)
		}
		return ctx
	}
	dir := &fakeDirectory{accessState: accessState{
		tasks: map[string]Task{"a": {ID: "a", OwnerID: 2, AllocationID: "a.1"}, "over": {ID: "over", OwnerID: 2, AllocationID: "over.1", Over: true},
			"again": {ID: "again", OwnerID: 2, AllocationID: "again.2"}, "orphan": {ID: "orphan", OwnerID: 3, AllocationID: "orphan.1", OwnerGone: true}},
		sessions: map[int64]auth.Who{1: {UserID: 2, SessionID: 1}, 2: {UserID: 9, SessionID: 2}, 3: {UserID: 1, Admin: true, SessionID: 3}},
	}}
	fine, admin, anybody := begin("a", "a.1", 1), begin("orphan", "orphan.1", 3), begin("a", "a.1", 0)
	shut := map[string]context.Context{
		"a session that is over": begin("a", "a.1", 7), "one who no longer has access": begin("a", "a.1", 2), "a task that is no more": begin("gone", "gone.1", 1),
		"a task that is over": begin("over", "over.1", 1), "an attempt before the last": begin("again", "again.1", 1),
		"a tunnel to a shell whose owner is deactivated": begin("orphan", "orphan.1", 0),
	}
	dir.err = fault.New(fault.Unavailable, "the database is away")
	if err := l.check(t.Context(), dir); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with the database away: %v", err)
	}
	for what, ctx := range shut {
		if ctx.Err() != nil {
			t.Errorf("%s: ended while the database is away", what)
		}
	}
	dir.err, dir.asked = nil, 0
	if err := l.check(t.Context(), dir); err != nil || dir.asked != 2 {
		t.Errorf("%d connections cost %d queries: %v", len(l.open), dir.asked, err)
	}
	for what, ctx := range shut {
		if !errors.As(context.Cause(ctx), new(*fault.Fault)) {
			t.Errorf("%s: the connection is still open: %v", what, context.Cause(ctx))
		}
	}
	for _, ctx := range []context.Context{fine, admin, anybody} {
		if ctx.Err() != nil {
			t.Errorf("the connection was closed: %v", context.Cause(ctx))
		}
	}
	request, _, err := l.begin(t.Context(), access{task: "task"}, false)
	if err != nil {
		t.Fatal(err)
	}
	idle := l.close(errStopping, false)
	if !errors.Is(context.Cause(fine), errStopping) || request.Err() != nil {
		t.Error("stopping ends tunnels, and leaves requests a moment")
	}
	l.close(errStopping, true)
	if !errors.Is(context.Cause(request), errStopping) {
		t.Error("the moment does not end")
	}
	if _, _, err := l.begin(t.Context(), access{task: "task"}, false); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a connection begins while the master stops: %v", err)
	}
	for v := range l.open {
		l.end(v)
	}
	<-idle
	if l.count() != 0 || len(l.counts) != 0 {
		t.Errorf("%d are open", l.count())
	}
}

// fill begins connections until a limit is reached, and returns their number.
func fill(t *testing.T, l *live, next func(n int) access) int {
	t.Helper()
	for n := range maxOpen + maxAnonymous {
		if _, _, err := l.begin(t.Context(), next(n), false); err != nil {
			if !fault.Is(err, fault.TooMany) {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("there is no bound")
	return 0
}

func TestNobodyOpensTooMuch(t *testing.T) {
	l := newLive()
	if n := fill(t, l, func(int) access { return access{task: "a", session: 1} }); n != maxPerTask {
		t.Errorf("%d connections of one task", n)
	}
	if _, _, err := l.begin(t.Context(), access{task: "b", session: 1}, false); err != nil {
		t.Errorf("another task: %v", err)
	}
}

// TestAnonymousTunnelsUseNoLimit of users with a session: neither one address nor many,
// neither at one task nor at all of them.
func TestAnonymousTunnelsUseNoLimit(t *testing.T) {
	l := newLive()
	if n := fill(t, l, func(int) access { return access{task: "a", address: "192.0.2.1"} }); n != maxAnonymousPerAddressAndTask {
		t.Errorf("one address has %d tunnels to one task", n)
	}
	if n := fill(t, l, func(n int) access { return access{task: fmt.Sprint(n), address: "192.0.2.1"} }); n != maxAnonymousPerAddress-maxAnonymousPerAddressAndTask {
		t.Errorf("one address has %d tunnels to other tasks", n)
	}
	if n := fill(t, l, func(n int) access { return access{task: "a", address: fmt.Sprint(n)} }); n != maxAnonymousPerTask-maxAnonymousPerAddressAndTask {
		t.Errorf("other addresses have %d tunnels to one task", n)
	}
	fill(t, l, func(n int) access { return access{task: fmt.Sprint(n), address: fmt.Sprint(n)} })
	if n := len(l.open); n != maxAnonymous {
		t.Errorf("anonymous clients have %d tunnels", n)
	}
	if n := fill(t, l, func(int) access { return access{task: "a", session: 1} }); n != maxPerTask {
		t.Errorf("beside them the owner has %d connections", n)
	}
	if n := fill(t, l, func(n int) access { return access{task: fmt.Sprint(n), session: 1} }); n != maxOpen-maxPerTask {
		t.Errorf("beside them everybody has %d connections", n)
	}
	for v := range l.open {
		l.end(v)
	}
	if len(l.counts) != 0 {
		t.Errorf("the counters are not empty at the end: %v", l.counts)
	}
}
