// Package masterlog is the log of the masters themselves: each stores its lines in the database, and administrators read those of all.
//
//	masterlog.go   a slog.Handler that stores records
//	rows.go        the rows
//	routes.go      the endpoint that reads them
package masterlog

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
	maxQueue = 2000   // lines that may wait for the database
	maxBatch = 500    // lines in one statement
	maxLines = 50_000 // lines that are kept
	pause    = 100 * time.Millisecond
	retry    = 2 * time.Second
)

// A Line is a line of a master's log.
type Line struct {
	ID      int64     `db:"id"`
	At      time.Time `db:"at"`
	Level   string    `db:"level"`
	Message string    `db:"message"`
}

// Handler is a slog.Handler that passes records to the next handler, and also stores those
// of level info and above in the database, which has the lines of all masters. It never
// blocks: while the database does not answer, it counts the records that do not fit into
// its queue, and stores the count later. Run writes to the database.
type Handler struct {
	next  slog.Handler
	shape []func(slog.Handler) slog.Handler // WithAttrs and WithGroup so far
	core  *core
}

type core struct {
	db      *database.DB
	queue   chan Line
	dropped atomic.Int64
}

// New returns a handler that passes records to next.
func New(db *database.DB, next slog.Handler) *Handler {
	return &Handler{next: next, core: &core{db: db, queue: make(chan Line, maxQueue)}}
}

// Enabled reports whether next or the database accepts records of a level.
func (m *Handler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || m.next.Enabled(ctx, l)
}

// Handle passes the record on and queues it.
func (m *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		select {
		case m.core.queue <- Line{At: r.Time, Level: r.Level.String(), Message: m.text(ctx, r)}:
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
func (m *Handler) text(ctx context.Context, r slog.Record) string {
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

func (m *Handler) with(s func(slog.Handler) slog.Handler) *Handler {
	return &Handler{next: s(m.next), shape: append(m.shape[:len(m.shape):len(m.shape)], s), core: m.core}
}

// WithAttrs implements slog.Handler.
func (m *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return m.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (m *Handler) WithGroup(name string) slog.Handler {
	return m.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

// Run writes lines until ctx ends, and then the rest of the queue.
func (m *Handler) Run(ctx context.Context) {
	var batch []Line
	written := 0
	for ctx.Err() == nil {
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
				continue
			case line := <-m.core.queue:
				batch = append(batch, line)
				_ = sleep.For(ctx, pause) // collect more lines, which often come together
			}
		}
		batch = m.core.take(batch)
		if m.core.write(ctx, batch) != nil {
			_ = sleep.For(ctx, retry)
			continue
		}
		if written += len(batch); written >= maxBatch && m.core.trim(ctx) == nil {
			written = 0
		}
		batch = nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), retry)
	defer cancel()
	for batch = m.core.take(batch); len(batch) > 0; batch = m.core.take(nil) {
		if m.core.write(last, batch) != nil {
			return // the master is stopping
		}
	}
}

func (c *core) take(batch []Line) []Line {
	for len(batch) < maxBatch {
		select {
		case line := <-c.queue:
			batch = append(batch, line)
			continue
		default:
		}
		break
	}
	if n := c.dropped.Swap(0); n > 0 {
		batch = append(batch, Line{At: time.Now(), Level: slog.LevelWarn.String(),
			Message: fmt.Sprintf("%d log lines were lost here while the database was away", n)})
	}
	return batch
}
