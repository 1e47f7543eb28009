package searches

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
)

// Driven caches the searches that programs control or propose trials for, so that a call reads and folds only the events since
// the last call. The events in the database are authoritative: any master can fold a search
// that is not cached from its first event.
//
// The cached searches, including those in use, fit into room together. A call whose search does
// not fit waits until other calls have ended; a search larger than room is used alone and not
// cached.
type Driven struct {
	db      *database.DB
	room    int64 // bytes; 0: no limit
	mu      sync.Mutex
	kept    map[int]*drivenSearch // by experiment
	calls   int64
	changed chan struct{} // closed when a call ends
}

type drivenSearch struct {
	mu     sync.Mutex
	search *search.Search // nil until its first use

	// The lock of Driven protects these fields.
	used  int64 // the number of the last call
	users int   // calls that use it, or wait for it
	bytes int64 // its maximum size; 0 while it is not in memory
}

// MaxDriven is the maximum number of cached searches. The least recently used one is removed
// first.
const MaxDriven = 32

// DrivenPart: one part in so many of the budget for searches is for this cache, in addition to the leader's own
// searches.
const DrivenPart = 2

// drivenWait is how long a call waits for memory.
const drivenWait = 30 * time.Second

// NewDriven returns the cache of a master, which takes room bytes; 0: without a limit.
func NewDriven(db *database.DB, room int64) *Driven {
	return &Driven{db: db, room: room, kept: map[int]*drivenSearch{}, changed: make(chan struct{})}
}

// with folds the new events into a search, and calls fn with it and the state of its
// experiment. No other call uses the search meanwhile, and fn must not change it.
func (d *Driven) with(ctx context.Context, experiment int, see func(s *search.Search, state string) error) error {
	x := d.enter(experiment)
	defer d.leave(experiment, x)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.search == nil {
		bytes, err := MemoryOf(ctx, d.db, experiment)
		if err != nil {
			return err
		}
		if err := d.reserve(ctx, x, bytes); err != nil {
			return err
		}
	}
	state, err := d.advance(ctx, x, experiment)
	if err != nil {
		return err
	}
	return see(x.search, state)
}

// enter finds the entry of a search, and reserves memory for it.
func (d *Driven) enter(experiment int) *drivenSearch {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	x := d.kept[experiment]
	if x == nil {
		for len(d.kept) >= MaxDriven && d.evict() {
		}
		x = &drivenSearch{}
		d.kept[experiment] = x
	}
	x.used = d.calls
	x.users++
	return x
}

// leave ends a call.
func (d *Driven) leave(experiment int, x *drivenSearch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x.users--
	if x.users == 0 && (x.search == nil || d.room > 0 && d.total() > d.room) && d.kept[experiment] == x {
		delete(d.kept, experiment)
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// total is the maximum size of all searches in memory.
func (d *Driven) total() (bytes int64) {
	for _, x := range d.kept {
		bytes += x.bytes
	}
	return bytes
}

// evict removes the least recently used search without a call in progress; it returns false if
// there is none.
func (d *Driven) evict() bool {
	oldest := -1
	for id, x := range d.kept {
		if x.users == 0 && (oldest < 0 || x.used < d.kept[oldest].used) {
			oldest = id
		}
	}
	delete(d.kept, oldest)
	return oldest >= 0
}

// reserve waits for memory for a search that is not in memory. A waiting call holds no memory,
// so calls cannot deadlock.
func (d *Driven) reserve(ctx context.Context, x *drivenSearch, bytes int64) error {
	timeout := time.NewTimer(drivenWait)
	defer timeout.Stop()
	for {
		changed, ok := d.tryReserve(x, bytes)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return fault.New(fault.Unavailable, "other searches that programs control use the memory of this master; retry")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *Driven) tryReserve(x *drivenSearch, bytes int64) (changed <-chan struct{}, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x.bytes = 0
	for d.room > 0 && d.total() > 0 && d.total()+bytes > d.room {
		if !d.evict() {
			return d.changed, false
		}
	}
	x.bytes = bytes
	return nil, true
}

// grown updates the size of a search in memory.
func (d *Driven) grown(x *drivenSearch, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x.bytes = bytes
}

// advance folds the new events, and returns the state of the experiment.
func (d *Driven) advance(ctx context.Context, x *drivenSearch, experiment int) (state string, err error) {
	defer func() {
		if err != nil && x.search == nil {
			d.grown(x, 0)
		}
	}()
	for {
		after := int64(0)
		if x.search != nil {
			after = x.search.Seq()
		}
		in, err := ReadInput(ctx, d.db, experiment, after)
		if err != nil {
			return "", err
		}
		d.grown(x, in.Memory)
		if err := x.take(in, experiment); err != nil {
			x.search = nil // a partly folded search is useless
			return "", err
		}
		if !in.More {
			return in.State, nil
		}
	}
}

// take folds a part of the events.
func (x *drivenSearch) take(in Input, experiment int) error {
	if x.search == nil || x.search.Seq() == 0 {
		cfg, err := expconf.ParseConfigJSON(in.Config)
		if err != nil {
			return err
		}
		if cfg.Searcher.Name != expconf.Custom && !cfg.Searcher.ByProgram() {
			return fault.New(fault.Invalid, "the searcher of experiment %d is %s; a program can control only the searcher custom, and propose trials only with sampler: program", experiment, cfg.Searcher.Name)
		}
		if x.search, err = search.New(cfg, in.Seed); err != nil {
			return err
		}
	}
	for _, e := range in.Events {
		if err := x.search.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			return err
		}
	}
	return nil
}
