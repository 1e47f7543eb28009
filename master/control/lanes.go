package control

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// Slow and repeated work is a queue in rows (store.Work). Each kind of it has a lane:
// so many calls at once, so that what hangs in one holds up no other.
const (
	maxSubmits = 32
	maxStops   = 16
	maxGCPlans = 4
	lookahead  = 2           // times what it does at once is what a lane knows of: what comes later, of somebody whose turn it is, waits for no more
	lookEvery  = time.Second // for what is due now and was not when it was last looked
)

// A piece of work that was begun; about is what it is about.
type item struct {
	about string
	do    func(ctx context.Context) error
}

// lane works off one kind.
type lane struct {
	t     *term
	kind  string
	limit int
	begin func(ctx context.Context, list []store.Work) ([]item, error) // with an error, those that could be begun all the same
	kick  chan struct{}                                                // there may be something new

	mu    sync.Mutex
	busy  map[string]bool
	next  []store.Work // known to be due
	until time.Time    // nothing is begun before: the last pass could not begin all
	freed chan struct{}
}

func (t *term) newLanes() []*lane {
	list := []*lane{{kind: store.WorkSubmit, limit: maxSubmits, begin: t.submitItems}, {kind: store.WorkStop, limit: maxStops, begin: t.stopItems},
		{kind: store.WorkGC, limit: maxGCPlans, begin: t.gcItems}, {kind: store.WorkErase, limit: 1, begin: t.eraseItems},
		{kind: store.WorkReadLeftover, limit: maxReads, begin: t.readItems}}
	for _, l := range list {
		l.t, l.busy = t, map[string]bool{}
		l.kick, l.freed = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return list
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (l *lane) run(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		for l.pass(ctx) > 0 {
		}
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-l.freed:
		case <-look.C:
		}
	}
}

// pass begins as much as there is room for, and says how much that was. When much
// waits it begins several pieces at a time, because they are read together.
func (l *lane) pass(ctx context.Context) int {
	room, busy := l.room()
	if room == 0 || !l.t.lead.Holds() || ctx.Err() != nil || time.Now().Before(l.until) {
		return 0
	}
	if len(l.next) == 0 {
		list, err := l.t.db.DueWork(ctx, l.kind, busy, lookahead*l.limit)
		if err != nil {
			if ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
				l.t.log.Error("could not read the work queue", "term", l.t.lead.Term, "kind", l.kind, "error", err)
			}
			return 0
		}
		l.next = list
	}
	if len(l.next) > room && room < l.limit/2 {
		return 0
	}
	list := l.take(min(room, len(l.next)))
	if len(list) == 0 {
		return 0
	}
	begun := map[string]bool{}
	pieces, err := l.begin(ctx, list)
	if err != nil {
		l.until = time.Now().Add(minRetryDelay)
	}
	for _, x := range pieces {
		begun[x.about] = true
		l.start(ctx, x)
	}
	for _, w := range list {
		if !begun[w.Subject] {
			l.release(w.Subject)
		}
	}
	if err == nil && len(begun) == 0 && len(l.next) > 0 { // none of these is wanted any more; the next may be
		return 1
	}
	return len(begun)
}

func (l *lane) room() (room int, busy []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for about := range l.busy {
		busy = append(busy, about)
	}
	return l.limit - len(busy), busy
}

// take takes the next pieces that nobody is at: an attempt is not submitted and
// stopped at once.
func (l *lane) take(n int) (list []store.Work) {
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

func (l *lane) release(about string) {
	l.t.calls.release(about)
	l.mu.Lock()
	delete(l.busy, about)
	l.mu.Unlock()
}

func (l *lane) start(ctx context.Context, x item) {
	l.t.calls.all.Go(func() {
		defer notify(l.freed)
		defer l.release(x.about)
		call, cancel := context.WithTimeout(ctx, l.time())
		defer cancel()
		err := l.t.safely(x.about, func() error { return x.do(call) })
		if err != nil && ctx.Err() == nil {
			l.t.log.Warn("queued work failed; it will be retried", "term", l.t.lead.Term, "kind", l.kind, "about", x.about, "error", err)
		}
		if !l.t.async {
			notify(l.t.calls.done)
		}
	})
}

func (l *lane) time() time.Duration {
	switch l.kind {
	case store.WorkGC:
		return planTimeout
	case store.WorkReadLeftover:
		return readTimeout
	}
	return callTimeout
}
