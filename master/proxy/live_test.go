package proxy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

func TestWhatIsOpenEndsWithTheRight(t *testing.T) {
	l := newLive()
	begin := func(verdict error) (context.Context, func()) {
		t.Helper()
		ctx, end, err := l.begin(t.Context(), "task", true, func(context.Context) error { return verdict })
		if err != nil {
			t.Fatal(err)
		}
		for v := range l.open {
			v.began = time.Now().Add(-time.Hour)
		}
		return ctx, end
	}
	fine, endFine := begin(nil)
	away, endAway := begin(fault.New(fault.Unavailable, "the database is away"))
	odd, endOdd := begin(errors.New("what is this"))
	var shut []context.Context
	for _, code := range []fault.Code{fault.Forbidden, fault.Unauthenticated, fault.NotFound, fault.Conflict} {
		ctx, end := begin(fault.New(code, "no"))
		defer end()
		shut = append(shut, ctx)
	}
	l.look(t.Context())
	for _, ctx := range shut {
		if !errors.As(context.Cause(ctx), new(*fault.Fault)) {
			t.Errorf("it goes on: %v", context.Cause(ctx))
		}
	}
	for _, ctx := range []context.Context{fine, away, odd} {
		if ctx.Err() != nil {
			t.Errorf("it was ended: %v", context.Cause(ctx))
		}
	}
	request, _, err := l.begin(t.Context(), "task", false, nil)
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
	if _, _, err := l.begin(t.Context(), "task", false, nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("it begins while the master stops: %v", err)
	}
	for v := range l.open {
		l.end(v)
	}
	<-idle
	endFine()
	endAway()
	endOdd()
	if l.count() != 0 || len(l.byTask) != 0 {
		t.Errorf("%d are open", l.count())
	}
}

func TestNobodyOpensTooMuch(t *testing.T) {
	l := newLive()
	for range mostPerTask {
		if _, _, err := l.begin(t.Context(), "a", false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.begin(t.Context(), "a", false, nil); !fault.Is(err, fault.TooMany) {
		t.Errorf("%v", err)
	}
	if _, _, err := l.begin(t.Context(), "b", false, nil); err != nil {
		t.Errorf("another task: %v", err)
	}
}

func TestMemory(t *testing.T) {
	m := newMemory[string, int](time.Second, 2)
	now := time.Now()
	m.put("a", 1, now)
	if v, fresh, ok := m.get("a", now.Add(time.Millisecond)); v != 1 || !fresh || !ok {
		t.Error("what was put is not there")
	}
	if v, fresh, ok := m.get("a", now.Add(time.Minute)); v != 1 || fresh || !ok {
		t.Error("what is stale is not there in need")
	}
	m.put("b", 2, now.Add(time.Minute))
	m.put("c", 3, now.Add(time.Minute))
	if _, _, ok := m.get("a", now); ok {
		t.Error("what is stale stays at the bound")
	}
	m.stale("c")
	if v, fresh, ok := m.get("c", now); v != 3 || fresh || !ok {
		t.Error("stale")
	}
}
