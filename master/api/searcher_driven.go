package api

import (
	"context"
	"sync"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/store"
)

// drivenSearches caches the searches that programs outside drive, so that a call reads and
// folds only what has happened since the last one. The events in the database are
// the truth: whatever is not kept is folded from the first of them, by any master.
type drivenSearches struct {
	db    *store.DB
	mu    sync.Mutex
	kept  map[int]*drivenSearch // by experiment
	calls int64
}

type drivenSearch struct {
	mu     sync.Mutex
	search *search.Search // nil until it was looked at
	used   int64          // the number of the last call; of driven's lock
}

// maxDriven bounds how many searches are kept: a search of 10,000 trials takes
// some megabytes. Whose program was silent for longest goes first.
const maxDriven = 32

func newDrivenSearches(db *store.DB) *drivenSearches {
	return &drivenSearches{db: db, kept: map[int]*drivenSearch{}}
}

// with folds in what has happened to a search, and shows it with the state of its
// experiment. Nobody else uses the search meanwhile, and it must not be changed.
func (d *drivenSearches) with(ctx context.Context, experiment int, see func(s *search.Search, state string) error) error {
	x := d.entry(experiment)
	x.mu.Lock()
	defer x.mu.Unlock()
	state, err := x.advance(ctx, d.db, experiment)
	if err != nil {
		return err
	}
	return see(x.search, state)
}

// entry finds the place of a search, and makes room for it.
func (d *drivenSearches) entry(experiment int) *drivenSearch {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	x := d.kept[experiment]
	if x == nil {
		for len(d.kept) >= maxDriven {
			d.evict()
		}
		x = &drivenSearch{}
		d.kept[experiment] = x
	}
	x.used = d.calls
	return x
}

// evict forgets the search that was not asked for for longest. Who is looking at
// it goes on with what they have.
func (d *drivenSearches) evict() {
	oldest := -1
	for id, x := range d.kept {
		if oldest < 0 || x.used < d.kept[oldest].used {
			oldest = id
		}
	}
	delete(d.kept, oldest)
}

// advance takes the new events in, and says the state of the experiment.
func (x *drivenSearch) advance(ctx context.Context, db *store.DB, experiment int) (state string, err error) {
	after := int64(0)
	if x.search != nil {
		after = x.search.Seq()
	}
	in, err := db.SearchInput(ctx, experiment, after)
	if err != nil {
		return "", err
	}
	if x.search == nil {
		cfg, err := expconf.ParseConfigJSON(in.Config)
		if err != nil {
			return "", err
		}
		if cfg.Searcher.Name != expconf.Custom {
			return "", fault.New(fault.Invalid, "the searcher of experiment %d is %s; a program can control only the searcher custom", experiment, cfg.Searcher.Name)
		}
		if x.search, err = search.New(cfg, in.Seed); err != nil {
			return "", err
		}
	}
	for _, e := range in.Events {
		if err := x.search.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			x.search = nil // what was folded half is of no use
			return "", err
		}
	}
	return in.State, nil
}
