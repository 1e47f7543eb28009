package recording

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sleep"
)

// Queue adds a statement that stores frames.
func Queue(s *database.Statements, frames []Frame) {
	if len(frames) == 0 {
		return
	}
	n := len(frames)
	pools, texts, times, wholes := make([]string, n), make([]string, n), make([]time.Time, n), make([]bool, n)
	for i, f := range frames {
		pools[i], texts[i], times[i], wholes[i] = f.Pool, f.Text, f.At, f.Whole
	}
	// A frame is there already if the connection broke while an earlier transaction with it was committed.
	s.Queue(`INSERT INTO queue_recording (pool, at, whole, bytes, frame)
		SELECT pool, at, whole, octet_length(frame), frame FROM unnest($1::text[], $2::timestamptz[], $3::boolean[], $4::text[]) WITH ORDINALITY AS x(pool, at, whole, frame, n)
		WHERE NOT EXISTS (SELECT FROM queue_recording r WHERE r.at = x.at AND r.pool = x.pool)
		ORDER BY n`, pools, times, wholes, texts)
}

// A row is a frame of a page.
type row struct {
	ID    int64  `db:"id"`
	Frame []byte `db:"frame"`
}

// nearSQL are the frames after one at which a page looks. starts are the frames with which pools begin: the last whole one at a time or before, or else
// the first one.
const nearSQL = `WITH starts AS (SELECT pool, coalesce(max(id) FILTER (WHERE at <= @from), min(id)) AS id FROM queue_recording WHERE whole GROUP BY pool),
	near AS (SELECT id, pool, at, bytes FROM queue_recording WHERE id > greatest(@after, (SELECT min(id) - 1 FROM starts)) ORDER BY id LIMIT @look)`

// page lists the frames after one, at most so many and about so many bytes of them, and returns the value of after for the next page; 0: there is
// none. It looks at a bounded number of frames, which may all be of pools that begin later. So a page may be empty although others follow.
func page(ctx context.Context, db *database.DB, from, until time.Time, after int64, rows, bytes, look int) (list []row, next int64, err error) {
	args := database.Args{"from": from, "until": until, "after": after, "rows": rows, "bytes": bytes, "look": look}
	list, err = database.Rows[row](ctx, db, nearSQL+`,
		wanted AS (SELECT n.id, n.bytes FROM near n JOIN starts s ON s.pool = n.pool AND n.id >= s.id WHERE n.at < @until ORDER BY n.id LIMIT @rows),
		summed AS (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM wanted)
		SELECT r.id, r.frame FROM summed x JOIN queue_recording r ON r.id = x.id WHERE x.before < @bytes ORDER BY r.id`, args)
	if err != nil || len(list) > 0 {
		return list, lastOf(list), err
	}
	next, err = database.Scalar[int64](ctx, db, nearSQL+` SELECT coalesce(CASE WHEN min(at) < @until THEN max(id) END, 0) FROM near`, args)
	return nil, next, err
}

func lastOf(list []row) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].ID
}

// Limits are how much of the recording is kept.
type Limits struct {
	Days  int
	MaxMB int
}

// Bounds of one transaction, in frames.
const (
	maxDeleted = 10_000
	maxCounted = 100_000
)

// A Size is how much the frames up to one have together. No statement has the time to add up all of them, so the leader adds up a part after the other,
// and later only those that are new.
type Size struct{ upto, bytes int64 }

// count adds the next frames; more says that there are others.
func (s *Size) count(ctx context.Context, tx *database.DB) (more bool, err error) {
	var frames int
	var upto, bytes int64
	err = tx.QueryRow(ctx, `SELECT count(*), coalesce(max(id), 0), coalesce(sum(bytes), 0)::bigint FROM (SELECT id, bytes FROM queue_recording WHERE id > $1 ORDER BY id LIMIT $2) x`,
		s.upto, maxCounted).Scan(&frames, &upto, &bytes)
	s.upto, s.bytes = max(s.upto, upto), s.bytes+bytes
	return frames == maxCounted, err
}

// delete deletes some of the frames that are older than the limit of days, or with which the recording is larger than the limit; more says that there
// are others.
func (s *Size) delete(ctx context.Context, tx *database.DB, l Limits) (more bool, err error) {
	var frames int
	var bytes int64
	err = tx.QueryRow(ctx, `
		WITH oldest AS (SELECT id, at, sum(bytes) OVER (ORDER BY id) AS upto FROM (SELECT id, at, bytes FROM queue_recording ORDER BY id LIMIT @most) x),
		gone AS (DELETE FROM queue_recording WHERE id IN (SELECT id FROM oldest WHERE at < now() - make_interval(days => @days) OR @size::bigint - upto >= @max::bigint) RETURNING bytes)
		SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM gone`,
		database.Args{"most": maxDeleted, "days": l.Days, "max": int64(l.MaxMB) << 20, "size": s.bytes}).Scan(&frames, &bytes)
	s.bytes -= bytes
	return frames == maxDeleted, err
}

// Expire counts the frames that are new, and deletes those whose time has ended. fenced runs a transaction of the leader.
func (s *Size) Expire(ctx context.Context, l Limits, fenced func(func(tx *database.DB) error) error) error {
	for _, step := range []func(*database.DB) (more bool, err error){
		func(tx *database.DB) (bool, error) { return s.count(ctx, tx) },
		func(tx *database.DB) (bool, error) { return s.delete(ctx, tx, l) },
	} {
		for more := true; more; {
			before := *s
			if err := fenced(func(tx *database.DB) (err error) {
				*s = before // of a transaction that is tried again
				more, err = step(tx)
				return err
			}); err != nil {
				*s = Size{} // nobody knows whether the transaction was committed
				return err
			}
		}
	}
	return nil
}

// expireEvery is how often the leader deletes the frames whose time has ended.
const expireEvery = time.Hour

// KeepExpiring deletes frames whose time has ended again and again.
func KeepExpiring(ctx context.Context, l Limits, fenced func(func(tx *database.DB) error) error, failed func(error)) {
	for s := new(Size); l.Days > 0; {
		if err := s.Expire(ctx, l, fenced); err != nil && ctx.Err() == nil && !errors.Is(err, database.ErrNotLeader) {
			failed(err)
		}
		if sleep.For(ctx, expireEvery) != nil {
			return
		}
	}
}
