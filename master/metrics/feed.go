package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	feedMinPause = 50 * time.Millisecond  // minimum time between two queries
	feedInterval = 500 * time.Millisecond // time between two queries without a wake-up
	feedBuffer   = 64                     // results of queries that may wait for a slow reader
	feedBytes    = 4 << 20                // bytes of reports that may wait for it, or one result
)

// Feed sends new reports to the readers on this master. One query serves all
// readers, and none runs while there are no readers.
type Feed struct {
	db  *database.DB
	bus *database.Bus
	ctx context.Context // ends with the master

	mu   sync.Mutex
	subs map[int]map[*feedReader]struct{}
	at   Position // all reports before it have been sent
	busy bool
	wg   sync.WaitGroup
}

type feedReader struct {
	ch      chan []Row
	waiting int // bytes of reports that were sent since ch was empty
	trials  []int
	gone    bool
}

// NewFeed returns a feed that runs until ctx ends.
func NewFeed(ctx context.Context, db *database.DB, bus *database.Bus) *Feed {
	return &Feed{db: db, bus: bus, ctx: ctx, subs: map[int]map[*feedReader]struct{}{}}
}

// Watch returns a channel with the reports of trials after the returned position, in the
// order in which they become visible. The feed closes the channel if the reader is too
// slow, the database does not answer, or the master stops; the reader then calls
// EachBetween and Watch again.
func (f *Feed) Watch(ctx context.Context, trials ...int) (<-chan []Row, Position, func(), error) {
	now, err := metricsEnd(ctx, f.db)
	if err != nil {
		return nil, Position{}, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy, f.at = true, now
		f.wg.Go(f.run)
	}
	r := &feedReader{ch: make(chan []Row, feedBuffer), trials: trials}
	for _, trial := range trials {
		if f.subs[trial] == nil {
			f.subs[trial] = map[*feedReader]struct{}{}
		}
		f.subs[trial][r] = struct{}{}
	}
	cancel := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.drop(r)
	}
	return r.ch, f.at, cancel, nil
}

// drop removes a reader. The caller holds the lock.
func (f *Feed) drop(r *feedReader) {
	if r.gone {
		return
	}
	r.gone = true
	close(r.ch)
	for _, trial := range r.trials {
		delete(f.subs[trial], r)
		if len(f.subs[trial]) == 0 {
			delete(f.subs, trial)
		}
	}
}

// Wait returns when the feed has ended.
func (f *Feed) Wait() { f.wg.Wait() }

// run queries new reports until there are no readers.
func (f *Feed) run() {
	wake, cancel := f.bus.Subscribe(Topic)
	defer cancel()
	for limit := maxPage; f.watched(); {
		list, at, next, err := metricsFrom(f.ctx, f.db, f.at, limit)
		f.mu.Lock()
		if err != nil || f.ctx.Err() != nil {
			for _, readers := range f.subs {
				for r := range readers {
					f.drop(r)
				}
			}
		} else {
			f.at = at
			f.deliver(list)
		}
		f.mu.Unlock()
		if limit = next; limit == 0 {
			limit = maxPage
			if sleep.For(f.ctx, feedMinPause) == nil {
				sleep.UntilWoken(f.ctx, wake, feedInterval)
			}
		}
	}
}

func (f *Feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = len(f.subs) > 0
	return f.busy
}

// deliver sends rows to their readers. The caller holds the lock.
func (f *Feed) deliver(list []Row) {
	byReader := map[*feedReader][]Row{}
	for _, m := range list {
		for r := range f.subs[m.TrialID] {
			byReader[r] = append(byReader[r], m)
		}
	}
	for r, rows := range byReader {
		if len(r.ch) == 0 {
			r.waiting = 0
		}
		for _, m := range rows {
			r.waiting += len(m.Metrics)
		}
		if r.waiting > feedBytes && len(r.ch) > 0 {
			f.drop(r)
			continue
		}
		select {
		case r.ch <- rows:
		default:
			f.drop(r)
		}
	}
}

// metricsEnd is the position up to which all reports are committed.
func metricsEnd(ctx context.Context, db *database.DB) (Position, error) {
	xid, err := database.Scalar[uint64](ctx, db, `SELECT pg_snapshot_xmin(pg_current_snapshot())`)
	return Position{xid, 0}, err
}

// metricsFrom reads at most limit committed reports after a position, and the position reached. If there may
// be more, next is how many to read then; else 0.
func metricsFrom(ctx context.Context, db *database.DB, from Position, limit int) (list []Row, at Position, next int, err error) {
	end, err := metricsEnd(ctx, db)
	if err != nil {
		return nil, from, 0, err
	}
	list, full, err := database.RowsUpTo[Row](ctx, db, pageBytes, `SELECT id, xid, trial_id, run_id, group_name, steps, position, reported_at, avg, NULL::jsonb AS batches FROM metrics
		WHERE xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2) ORDER BY xid, id LIMIT $4`, from.XID, from.ID, end.XID, limit)
	if err != nil {
		return nil, from, 0, err
	}
	if next = nextPage(limit, len(list), full); full || len(list) == limit {
		last := list[len(list)-1]
		return list, Position{last.XID, last.ID}, next, nil
	}
	if end.XID < from.XID {
		end = from
	}
	return list, end, 0, nil
}

// EachBetween calls fn with the reports that a reader has missed, page by page: those of trials
// after one position and up to another.
func EachBetween(ctx context.Context, db *database.DB, trials []int, after, upTo Position, fn func(page []Row) error) error {
	return inPages(func(limit int) ([]Row, bool, error) {
		return database.RowsUpTo[Row](ctx, db, pageBytes, `SELECT `+rowColumns+` FROM metrics
			WHERE trial_id = ANY($1) AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5) ORDER BY xid, id LIMIT $6`,
			trials, after.XID, after.ID, upTo.XID, upTo.ID, limit)
	}, func(page []Row) error {
		after = Position{page[len(page)-1].XID, page[len(page)-1].ID}
		return fn(page)
	})
}
