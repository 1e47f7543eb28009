package masterlog

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

func (c *core) write(ctx context.Context, batch []Line) error {
	if len(batch) == 0 {
		return nil
	}
	at, level, message := make([]time.Time, len(batch)), make([]string, len(batch)), make([]string, len(batch))
	for i, l := range batch {
		at[i], level[i], message[i] = l.At, l.Level, l.Message
	}
	return c.db.Exec(ctx, `INSERT INTO master_logs (at, level, message)
		SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[])`, at, level, message)
}

func (c *core) trim(ctx context.Context) error {
	return c.db.Exec(ctx, `DELETE FROM master_logs WHERE id <= (SELECT max(id) FROM master_logs) - $1`, maxLines)
}

// Lines lists lines after an id, oldest first.
func Lines(ctx context.Context, db *database.DB, after int64, limit int) ([]Line, error) {
	return database.Rows[Line](ctx, db, `SELECT id, at, level, message FROM master_logs WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
}

// Start returns the id before the first line to show: the line `offset` lines after
// the oldest, or, if offset is negative, that many lines before the end.
func Start(ctx context.Context, db *database.DB, offset int) (int64, error) {
	if offset >= 0 {
		return database.Scalar[int64](ctx, db, `SELECT coalesce((SELECT id - 1 FROM master_logs ORDER BY id OFFSET $1 LIMIT 1),
			(SELECT max(id) FROM master_logs), 0)`, offset)
	}
	return database.Scalar[int64](ctx, db, `SELECT coalesce((SELECT id - 1 FROM master_logs ORDER BY id DESC OFFSET $1 LIMIT 1), 0)`, -offset-1)
}
