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
	s.Queue(`INSERT INTO queue_recording (pool, at, whole, bytes, frame)
		SELECT pool, at, whole, octet_length(frame), frame FROM unnest($1::text[], $2::timestamptz[], $3::boolean[], $4::text[]) WITH ORDINALITY AS x(pool, at, whole, frame, n)
		ORDER BY n`, pools, times, wholes, texts)
}

// A row is a frame of a page.
type row struct {
	ID    int64  `db:"id"`
	Frame []byte `db:"frame"`
}

// page lists the frames after one, at most so many and about so many bytes of them. Each pool begins with its last whole frame at a time or before, or
// else with its first one.
func page(ctx context.Context, db *database.DB, from, until time.Time, after int64, rows, bytes int) ([]row, error) {
	return database.Rows[row](ctx, db, `
		WITH starts AS (SELECT pool, coalesce(max(id) FILTER (WHERE at <= @from), min(id)) AS id FROM queue_recording WHERE whole GROUP BY pool),
		next AS (SELECT r.id, r.bytes FROM queue_recording r JOIN starts s ON s.pool = r.pool AND r.id >= s.id
			WHERE r.id > greatest(@after, (SELECT min(id) - 1 FROM starts)) AND r.at < @until ORDER BY r.id LIMIT @rows),
		summed AS (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM next)
		SELECT r.id, r.frame FROM summed x JOIN queue_recording r ON r.id = x.id WHERE x.before < @bytes ORDER BY r.id`,
		database.Args{"from": from, "until": until, "after": after, "rows": rows, "bytes": bytes})
}

// Limits are how much of the recording is kept.
type Limits struct {
	Days  int
	MaxMB int
}

// maxDeleted is how many frames one transaction deletes.
const maxDeleted = 10_000

// Expire deletes some of the frames that are older than the limit of days, or with which the recording is larger than the limit; more says that there are
// others.
func Expire(ctx context.Context, tx *database.DB, l Limits) (more bool, err error) {
	n, err := tx.Affect(ctx, `
		WITH size AS (SELECT coalesce(sum(bytes), 0) AS all_bytes FROM queue_recording),
		oldest AS (SELECT id, at, sum(bytes) OVER (ORDER BY id) AS upto FROM (SELECT id, at, bytes FROM queue_recording ORDER BY id LIMIT @most) x)
		DELETE FROM queue_recording WHERE id IN (SELECT o.id FROM oldest o, size s
			WHERE o.at < now() - make_interval(days => @days) OR s.all_bytes - o.upto >= @max::bigint)`,
		database.Args{"most": maxDeleted, "days": l.Days, "max": int64(l.MaxMB) << 20})
	return n == maxDeleted, err
}

// expireEvery is how often the leader deletes the frames whose time has ended.
const expireEvery = time.Hour

// KeepExpiring deletes frames whose time has ended again and again. fenced runs a transaction of the leader.
func KeepExpiring(ctx context.Context, l Limits, fenced func(func(tx *database.DB) error) error, failed func(error)) {
	for l.Days > 0 {
		for more := true; more && ctx.Err() == nil; {
			err := fenced(func(tx *database.DB) (err error) {
				more, err = Expire(ctx, tx, l)
				return err
			})
			if err != nil {
				if more = false; ctx.Err() == nil && !errors.Is(err, database.ErrNotLeader) {
					failed(err)
				}
			}
		}
		if sleep.For(ctx, expireEvery) != nil {
			return
		}
	}
}
