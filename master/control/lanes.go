package control

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// Calls that may be slow or fail (to Nomad, for example) are rows of a work queue
// (rows.Work). Each kind of work has a lane, which runs a limited number of calls in
// parallel, so that slow calls of one kind do not delay the other kinds.
const (
	maxSubmits = 32 // calls at once, for each kind
	// maxLarge is the number of submissions with large configurations at once: each has a megabyte, and several times that
	// when it is parsed. They have a lane of their own, because they must not hold places in which others could run.
	maxLarge   = 4
	maxStops   = 16
	maxGCPlans = 4
	// A lane reads lookahead × limit rows of the queue. More would delay the work of other
	// users, whose rows the next read puts first.
	lookahead = 2
	lookEvery = time.Second // how often the leader looks for work that has become due, such as retries
)

// An item is a call of a lane.
type item struct {
	subject string // of the work: the id of an attempt or experiment
	do      func(ctx context.Context) error
}

// A lane executes the queued work of one kind.
type lane struct {
	t     *term
	kind  string
	large bool                                                        // its work is large
	limit int                                                         // calls at once
	begin func(ctx context.Context, list []rows.Work) ([]item, error) // prepares calls; with an error, it still returns those that it could prepare
	kick  chan struct{}                                               // wakes the lane: the queue may have new work

	mu    sync.Mutex
	busy  map[string]bool // subjects of the calls in flight
	next  []rows.Work     // read from the queue, not started
	until time.Time       // start no call before: begin failed
	freed chan struct{}   // wakes the lane: a call has ended
}

func (t *term) newLanes() []*lane {
	list := []*lane{{kind: rows.WorkSubmit, limit: maxSubmits, begin: t.submitItems}, {kind: rows.WorkSubmit, large: true, limit: maxLarge, begin: t.submitItems},
		{kind: rows.WorkStop, limit: maxStops, begin: items(t.stop)},
		{kind: rows.WorkGC, limit: maxGCPlans, begin: items(t.gc)}, {kind: rows.WorkDelete, limit: 1, begin: items(t.delete)},
		{kind: rows.WorkReadLeftover, limit: maxReads, begin: items(t.read)}, {kind: rows.WorkExpire, limit: maxExpiries, begin: items(t.expire)}}
	for _, l := range list {
		l.t, l.busy = t, map[string]bool{}
		l.kick, l.freed = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return list
}

// items makes a call of each piece of work.
func items(do func(ctx context.Context, w rows.Work) error) func(context.Context, []rows.Work) ([]item, error) {
	return func(_ context.Context, list []rows.Work) ([]item, error) {
		return each.Of(list, func(w rows.Work) item {
			return item{w.Subject, func(ctx context.Context) error { return do(ctx, w) }}
		}), nil
	}
}

// run works until ctx ends.
func (l *lane) run(ctx context.Context) {
	for {
		for l.pass(ctx) > 0 {
		}
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-l.freed:
		}
	}
}

// wakeLanes wakes the lanes whose work is due, after each cycle and, while there is any work, every second, until ctx ends. One query
// serves all lanes, because an idle master asks little else. What is added between two cycles to an empty queue waits for the second.
func (t *term) wakeLanes(ctx context.Context) {
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	all := each.Of(t.lanes, func(l *lane) string { return l.kind })
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.cycled:
		case <-look.C:
		}
		kinds, waiting, err := rows.DueKinds(ctx, t.db, all)
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
			t.log.Error("could not read the work queue", "term", t.lead.Term, "error", err)
		}
		for _, l := range t.lanes {
			if slices.Contains(kinds, l.kind) {
				sleep.Wake(l.kick)
			}
		}
		if look.Stop(); waiting || err != nil {
			look.Reset(lookEvery)
		}
	}
}

// pass starts as many calls as the limit allows, and returns their number. If much work
// waits, it starts several calls at a time, because one query reads their rows together.
func (l *lane) pass(ctx context.Context) int {
	room, busy := l.room()
	if room == 0 || !l.t.lead.Holds() || ctx.Err() != nil || time.Now().Before(l.until) {
		return 0
	}
	if len(l.next) == 0 {
		list, err := rows.DueWork(ctx, l.t.db, l.kind, l.large, busy, lookahead*l.limit)
		if err != nil {
			if ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
				l.t.log.Error("could not read the work queue", "term", l.t.lead.Term, "kind", l.kind, "error", err)
			}
			return 0
		}
		l.next = list
	}
	if len(l.next) > room && room < l.limit/2 && l.limit > maxLarge { // a few calls are started as soon as there is room
		return 0
	}
	list := l.take(min(room, len(l.next)))
	if len(list) == 0 {
		return 0
	}
	pieces, err := l.begin(ctx, list)
	if err != nil {
		l.until = time.Now().Add(minRetryDelay)
	}
	for _, x := range pieces {
		l.start(ctx, x)
	}
	begun := each.Set(pieces, func(x item) string { return x.subject })
	for _, w := range list {
		if !begun[w.Subject] {
			l.release(w.Subject)
		}
	}
	if err == nil && len(begun) == 0 && len(l.next) > 0 { // none of this work is needed any more; try the next
		return 1
	}
	return len(begun)
}

func (l *lane) room() (room int, busy []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for subject := range l.busy {
		busy = append(busy, subject)
	}
	return l.limit - len(busy), busy
}

// take removes up to n works from next, without those whose subject has a call in flight in
// any lane: an attempt must not be submitted and stopped at the same time.
func (l *lane) take(n int) (list []rows.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(list) < n && len(l.next) > 0 {
		w := l.next[0]
		l.next = l.next[1:]
		if !l.busy[w.Subject] && l.t.calls.acquire(w.Subject) {
			l.busy[w.Subject] = true
			list = append(list, w)
		}
	}
	return list
}

func (l *lane) release(subject string) {
	l.t.calls.release(subject)
	l.mu.Lock()
	delete(l.busy, subject)
	l.mu.Unlock()
}

func (l *lane) start(ctx context.Context, x item) {
	l.t.calls.all.Go(func() {
		defer sleep.Wake(l.freed)
		defer l.release(x.subject)
		call, cancel := context.WithTimeout(ctx, l.time())
		defer cancel()
		err := l.t.safely(x.subject, func() error { return x.do(call) })
		if err != nil && ctx.Err() == nil {
			l.t.log.Warn("queued work failed; it will be retried", "term", l.t.lead.Term, "kind", l.kind, "about", x.subject, "error", err)
		}
		if !l.t.async {
			sleep.Wake(l.t.calls.done)
		}
	})
}

func (l *lane) time() time.Duration {
	switch l.kind {
	case rows.WorkGC:
		return planTimeout
	case rows.WorkReadLeftover:
		return readTimeout
	}
	return callTimeout
}
