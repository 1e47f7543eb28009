package store

import (
	"context"
	"sync"
	"time"
)

const (
	feedPace   = 50 * time.Millisecond  // between two looks while reports come in
	feedIdle   = 500 * time.Millisecond // between two looks when none is announced
	feedBuffer = 64                     // looks that a slow reader may be behind
)

// MetricFeed tells those who watch trials on this master of new reports. However
// many watch, one look at the table serves all of them; nobody watching, there is
// none.
type MetricFeed struct {
	db  *DB
	bus *Bus
	ctx context.Context // ends with the master

	mu   sync.Mutex
	subs map[int]map[*feedReader]struct{}
	at   place // all before it has been handed out
	busy bool
	wg   sync.WaitGroup
}

type feedReader struct {
	ch   chan []MetricRow
	gone bool
}

// Position is a place in the order in which reports become known.
type Position struct {
	XID uint64
	ID  int64
}

// NewMetricFeed makes a feed that lives as long as ctx.
func NewMetricFeed(ctx context.Context, db *DB, bus *Bus) *MetricFeed {
	return &MetricFeed{db: db, bus: bus, ctx: ctx, subs: map[int]map[*feedReader]struct{}{}}
}

// Watch returns the reports of a trial from now on; Position says what now is.
// The channel is closed when the reader falls too far behind, the database is
// away or the master stops; the reader then comes again with its last position.
func (f *MetricFeed) Watch(ctx context.Context, trial int) (<-chan []MetricRow, Position, func(), error) {
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
	r := &feedReader{ch: make(chan []MetricRow, feedBuffer)}
	if f.subs[trial] == nil {
		f.subs[trial] = map[*feedReader]struct{}{}
	}
	f.subs[trial][r] = struct{}{}
	cancel := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.drop(trial, r)
	}
	return r.ch, Position(f.at), cancel, nil
}

// drop needs the lock.
func (f *MetricFeed) drop(trial int, r *feedReader) {
	if r.gone {
		return
	}
	r.gone = true
	close(r.ch)
	delete(f.subs[trial], r)
	if len(f.subs[trial]) == 0 {
		delete(f.subs, trial)
	}
}

// Wait returns when the feed has ended.
func (f *MetricFeed) Wait() { f.wg.Wait() }

// run looks until nobody watches.
func (f *MetricFeed) run() {
	wake, cancel := f.bus.Subscribe(TopicMetrics)
	defer cancel()
	for f.watched() {
		list, at, err := f.db.metricsFrom(f.ctx, f.at)
		f.mu.Lock()
		if err != nil || f.ctx.Err() != nil {
			for trial, readers := range f.subs {
				for r := range readers {
					f.drop(trial, r)
				}
			}
		} else {
			f.at = at
			f.hand(list)
		}
		f.mu.Unlock()
		if len(list) < rowsAtOnce && sleep(f.ctx, feedPace) {
			wait(f.ctx, wake, feedIdle)
		}
	}
}

func (f *MetricFeed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = len(f.subs) > 0
	return f.busy
}

// hand gives rows to their readers. It needs the lock.
func (f *MetricFeed) hand(list []MetricRow) {
	byTrial := map[int][]MetricRow{}
	for _, m := range list {
		if f.subs[m.TrialID] != nil {
			byTrial[m.TrialID] = append(byTrial[m.TrialID], m)
		}
	}
	for trial, rows := range byTrial {
		for r := range f.subs[trial] {
			select {
			case r.ch <- rows:
			default:
				f.drop(trial, r)
			}
		}
	}
}

// metricsEnd is the place up to which all reports are settled.
func (db *DB) metricsEnd(ctx context.Context) (place, error) {
	xid, err := scalar[uint64](ctx, db, `SELECT pg_snapshot_xmin(pg_current_snapshot())`)
	return place{xid, 0}, err
}

// metricsFrom reads the settled reports after a place, and the place reached.
func (db *DB) metricsFrom(ctx context.Context, from place) ([]MetricRow, place, error) {
	end, err := db.metricsEnd(ctx)
	if err != nil {
		return nil, from, err
	}
	list, err := rows[MetricRow](ctx, db, `SELECT id, xid, trial_id, run_id, grp, steps, reported_at, avg, NULL::jsonb AS batches FROM metrics
		WHERE xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2) ORDER BY xid, id LIMIT $4`, from.XID, from.ID, end.XID, rowsAtOnce)
	if err != nil {
		return nil, from, err
	}
	if len(list) == rowsAtOnce {
		last := list[len(list)-1]
		return list, place{last.XID, last.ID}, nil
	}
	if end.XID < from.XID {
		end = from
	}
	return list, end, nil
}

// MetricsBetween reads what a watcher missed: the reports of a trial after one
// position and up to another, at most a page of them.
func (db *DB) MetricsBetween(ctx context.Context, trial int, after, upTo Position) ([]MetricRow, error) {
	return rows[MetricRow](ctx, db, `SELECT `+metricRowColumns+` FROM metrics
		WHERE trial_id = $1 AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5) ORDER BY xid, id LIMIT $6`,
		trial, after.XID, after.ID, upTo.XID, upTo.ID, pageOfMetrics)
}
