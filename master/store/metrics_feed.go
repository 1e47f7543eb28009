package store

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

// MetricFeed sends new reports to the readers on this master. One query serves all
// readers, and none runs while there are no readers.
type MetricFeed struct {
	db  *DB
	bus *database.Bus
	ctx context.Context // ends with the master

	mu   sync.Mutex
	subs map[int]map[*feedReader]struct{}
	at   cursor // all reports before it have been sent
	busy bool
	wg   sync.WaitGroup
}

type feedReader struct {
	ch      chan []MetricRow
	waiting int // bytes of reports that were sent since ch was empty
	trials  []int
	gone    bool
}

// Position is a position in the order in which reports become visible.
type Position struct {
	XID uint64
	ID  int64
}

// NewMetricFeed returns a feed that runs until ctx ends.
func NewMetricFeed(ctx context.Context, db *DB, bus *database.Bus) *MetricFeed {
	return &MetricFeed{db: db, bus: bus, ctx: ctx, subs: map[int]map[*feedReader]struct{}{}}
}

// Watch returns a channel with the reports of trials after the returned position, in the
// order in which they become visible. The feed closes the channel if the reader is too
// slow, the database does not answer, or the master stops; the reader then calls
// MetricsBetween and Watch again.
func (f *MetricFeed) Watch(ctx context.Context, trials ...int) (<-chan []MetricRow, Position, func(), error) {
	now, err := f.db.metricsEnd(ctx)
	if err != nil {
		return nil, Position{}, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy, f.at = true, now
		f.wg.Go(f.run)
	}
	r := &feedReader{ch: make(chan []MetricRow, feedBuffer), trials: trials}
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
	return r.ch, Position(f.at), cancel, nil
}

// drop removes a reader. The caller holds the lock.
func (f *MetricFeed) drop(r *feedReader) {
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
func (f *MetricFeed) Wait() { f.wg.Wait() }

// run queries new reports until there are no readers.
func (f *MetricFeed) run() {
	wake, cancel := f.bus.Subscribe(TopicMetrics)
	defer cancel()
	for limit := metricsPage; f.watched(); {
		list, at, next, err := f.db.metricsFrom(f.ctx, f.at, limit)
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
			limit = metricsPage
			if sleep.For(f.ctx, feedMinPause) == nil {
				wait(f.ctx, wake, feedInterval)
			}
		}
	}
}

func (f *MetricFeed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = len(f.subs) > 0
	return f.busy
}

// deliver sends rows to their readers. The caller holds the lock.
func (f *MetricFeed) deliver(list []MetricRow) {
	byReader := map[*feedReader][]MetricRow{}
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
func (db *DB) metricsEnd(ctx context.Context) (cursor, error) {
	xid, err := database.Scalar[uint64](ctx, db.DB, `SELECT pg_snapshot_xmin(pg_current_snapshot())`)
	return cursor{xid, 0}, err
}

// metricsFrom reads at most limit committed reports after a position, and the position reached. If there may
// be more, next is how many to read then; else 0.
func (db *DB) metricsFrom(ctx context.Context, from cursor, limit int) (list []MetricRow, at cursor, next int, err error) {
	end, err := db.metricsEnd(ctx)
	if err != nil {
		return nil, from, 0, err
	}
	list, full, err := database.RowsUpTo[MetricRow](ctx, db.DB, metricsPageBytes, `SELECT id, xid, trial_id, run_id, group_name, steps, position, reported_at, avg, NULL::jsonb AS batches FROM metrics
		WHERE xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2) ORDER BY xid, id LIMIT $4`, from.XID, from.ID, end.XID, limit)
	if err != nil {
		return nil, from, 0, err
	}
	if next = nextPage(limit, len(list), full); full || len(list) == limit {
		last := list[len(list)-1]
		return list, cursor{last.XID, last.ID}, next, nil
	}
	if end.XID < from.XID {
		end = from
	}
	return list, end, 0, nil
}

// MetricsBetween calls fn with the reports that a reader has missed, page by page: those of trials
// after one position and up to another.
func (db *DB) MetricsBetween(ctx context.Context, trials []int, after, upTo Position, fn func(page []MetricRow) error) error {
	return inPages(func(limit int) ([]MetricRow, bool, error) {
		return database.RowsUpTo[MetricRow](ctx, db.DB, metricsPageBytes, `SELECT `+metricRowColumns+` FROM metrics
			WHERE trial_id = ANY($1) AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5) ORDER BY xid, id LIMIT $6`,
			trials, after.XID, after.ID, upTo.XID, upTo.ID, limit)
	}, func(page []MetricRow) error {
		after = Position{page[len(page)-1].XID, page[len(page)-1].ID}
		return fn(page)
	})
}
