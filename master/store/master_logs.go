package store

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	masterLogQueue    = 2000   // lines that may wait for the database
	masterLogBatch    = 500    // lines in one statement
	maxMasterLogLines = 50_000 // lines that are kept
	masterLogPause    = 100 * time.Millisecond
	masterLogRetry    = 2 * time.Second
)

// A MasterLogLine is a line of a master's log.
type MasterLogLine struct {
	ID      int64     `db:"id"`
	At      time.Time `db:"at"`
	Level   string    `db:"level"`
	Message string    `db:"message"`
}

// MasterLog is a slog.Handler that passes records to the next handler, and also stores those
// of level info and above in the database, which has the lines of all masters. It never
// blocks: while the database does not answer, it counts the records that do not fit into
// its queue, and stores the count later. Run writes to the database.
type MasterLog struct {
	next  slog.Handler
	shape []func(slog.Handler) slog.Handler // WithAttrs and WithGroup so far
	core  *masterLogCore
}

type masterLogCore struct {
	db      *DB
	queue   chan MasterLogLine
	dropped atomic.Int64
}

// NewMasterLog returns a handler that passes records to next.
func NewMasterLog(db *DB, next slog.Handler) *MasterLog {
	return &MasterLog{next: next, core: &masterLogCore{db: db, queue: make(chan MasterLogLine, masterLogQueue)}}
}

// Enabled reports whether next or the database accepts records of a level.
func (m *MasterLog) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || m.next.Enabled(ctx, l)
}

// Handle passes the record on and queues it.
func (m *MasterLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		select {
		case m.core.queue <- MasterLogLine{At: r.Time, Level: r.Level.String(), Message: m.text(ctx, r)}:
		default:
			m.core.dropped.Add(1)
		}
	}
	if !m.next.Enabled(ctx, r.Level) {
		return nil
	}
	return m.next.Handle(ctx, r)
}

// text is the message and its attributes, without the time and level that have
// columns of their own.
func (m *MasterLog) text(ctx context.Context, r slog.Record) string {
	var b bytes.Buffer
	var h slog.Handler = slog.NewTextHandler(&b, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
			if len(groups) == 0 && (at.Key == slog.TimeKey || at.Key == slog.LevelKey || at.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return at
		}})
	for _, s := range m.shape {
		h = s(h)
	}
	_ = h.Handle(ctx, r) // writes to a buffer do not fail
	return strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(r.Message+" "+b.String()), "\x00", ""), "�")
}

func (m *MasterLog) with(s func(slog.Handler) slog.Handler) *MasterLog {
	return &MasterLog{next: s(m.next), shape: append(m.shape[:len(m.shape):len(m.shape)], s), core: m.core}
}

// WithAttrs implements slog.Handler.
func (m *MasterLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return m.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (m *MasterLog) WithGroup(name string) slog.Handler {
	return m.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

// Run writes lines until ctx ends, and then the rest of the queue.
func (m *MasterLog) Run(ctx context.Context) {
	var batch []MasterLogLine
	written := 0
	for ctx.Err() == nil {
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
				continue
			case line := <-m.core.queue:
				batch = append(batch, line)
				_ = sleep.For(ctx, masterLogPause) // collect more lines, which often come together
			}
		}
		batch = m.core.take(batch)
		if m.core.write(ctx, batch) != nil {
			_ = sleep.For(ctx, masterLogRetry)
			continue
		}
		if written += len(batch); written >= masterLogBatch && m.core.trim(ctx) == nil {
			written = 0
		}
		batch = nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), masterLogRetry)
	defer cancel()
	for batch = m.core.take(batch); len(batch) > 0; batch = m.core.take(nil) {
		if m.core.write(last, batch) != nil {
			return // the master is stopping
		}
	}
}

func (c *masterLogCore) take(batch []MasterLogLine) []MasterLogLine {
	for len(batch) < masterLogBatch {
		select {
		case line := <-c.queue:
			batch = append(batch, line)
			continue
		default:
		}
		break
	}
	if n := c.dropped.Swap(0); n > 0 {
		batch = append(batch, MasterLogLine{At: time.Now(), Level: slog.LevelWarn.String(),
			Message: fmt.Sprintf("%d log lines were lost here while the database was away", n)})
	}
	return batch
}

func (c *masterLogCore) write(ctx context.Context, batch []MasterLogLine) error {
	if len(batch) == 0 {
		return nil
	}
	at, level, message := make([]time.Time, len(batch)), make([]string, len(batch)), make([]string, len(batch))
	for i, l := range batch {
		at[i], level[i], message[i] = l.At, l.Level, l.Message
	}
	_, err := c.db.Exec(ctx, `INSERT INTO master_logs (at, level, message)
		SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[])`, at, level, message)
	return err
}

func (c *masterLogCore) trim(ctx context.Context) error {
	_, err := c.db.Exec(ctx, `DELETE FROM master_logs WHERE id <= (SELECT max(id) FROM master_logs) - $1`, maxMasterLogLines)
	return err
}

// MasterLogs lists lines after an id, oldest first.
func (db *DB) MasterLogs(ctx context.Context, after int64, limit int) ([]MasterLogLine, error) {
	return database.Rows[MasterLogLine](ctx, db.DB, `SELECT id, at, level, message FROM master_logs WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
}

// MasterLogStart returns the id before the first line to show: the line `offset` lines after
// the oldest, or, if offset is negative, that many lines before the end.
func (db *DB) MasterLogStart(ctx context.Context, offset int) (int64, error) {
	if offset >= 0 {
		return database.Scalar[int64](ctx, db.DB, `SELECT coalesce((SELECT id - 1 FROM master_logs ORDER BY id OFFSET $1 LIMIT 1),
			(SELECT max(id) FROM master_logs), 0)`, offset)
	}
	return database.Scalar[int64](ctx, db.DB, `SELECT coalesce((SELECT id - 1 FROM master_logs ORDER BY id DESC OFFSET $1 LIMIT 1), 0)`, -offset-1)
}
