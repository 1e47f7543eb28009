package logs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of a batch, and the time between batches.
const (
	batchLines = 1000
	batchBytes = 1 << 20
	// linger is how long the first line after a pause waits for more lines.
	linger = 5 * time.Millisecond
	// spacing is the minimum time between batches that are not full.
	spacing = 100 * time.Millisecond
)

// ErrRefused is what a Sender returns, wrapped, for a batch that a master rejects for good;
// ErrOver if the master accepts no more lines of this task.
var (
	ErrRefused = errors.New("the master rejected the log lines")
	ErrOver    = errors.New("the master accepts no more log lines of this task")
)

// A Sender sends one batch to a master, for as long as that takes, and returns the number of
// the next line that the master expects.
type Sender func(ctx context.Context, batch v1.LogBatch) (next int64, err error)

// A Shipper sends the lines of a Backlog.
type Shipper struct {
	backlog *Backlog
	head    v1.LogBatch // fields that all batches share
	send    Sender
	failed  func(error)

	finish chan struct{}
	once   sync.Once
	done   chan struct{}
	err    error
}

// NewShipper makes a Shipper whose batches have the fields of head. failed is called for every
// rejected batch.
func NewShipper(backlog *Backlog, head v1.LogBatch, send Sender, failed func(error)) *Shipper {
	return &Shipper{backlog: backlog, head: head, send: send, failed: failed,
		finish: make(chan struct{}), done: make(chan struct{})}
}

// Finish declares that no more lines will be appended: the shipper sends the rest and the end
// mark, and stops.
func (s *Shipper) Finish() { s.once.Do(func() { close(s.finish) }) }

// Done is closed when Run has returned.
func (s *Shipper) Done() <-chan struct{} { return s.done }

// Err is, after Done, why some lines were not accepted; nil if all were.
func (s *Shipper) Err() error { return s.err }

// Run sends lines from a number on until Finish and all lines are accepted, the context ends,
// or the master accepts no more.
func (s *Shipper) Run(ctx context.Context, from int64) {
	defer close(s.done)
	s.err = s.run(ctx, from)
}

func (s *Shipper) run(ctx context.Context, next int64) error {
	var last time.Time
	for {
		finishing := s.wait(ctx, next, last)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		lines, err := s.backlog.Read(next, batchLines, batchBytes)
		if err != nil {
			return err
		}
		batch := s.head
		batch.First = next
		if len(lines) > 0 {
			batch.First = lines[0].Number
		}
		for i, l := range lines {
			if l.Number != batch.First+int64(i) {
				break // lines are missing here: the rest is in another batch
			}
			batch.Lines = append(batch.Lines, l.Wire())
		}
		end := batch.First + int64(len(batch.Lines))
		batch.Done = finishing && end >= s.backlog.Next()
		if len(batch.Lines) == 0 && !batch.Done {
			continue
		}
		last = time.Now()
		has, err := s.send(ctx, batch)
		if errors.Is(err, ErrRefused) {
			s.failed(fmt.Errorf("%d lines of output: %w", len(batch.Lines), err))
		} else if err != nil {
			return err
		}
		next = end
		if has > batch.First {
			next = has // the master accepted a part, or has more: an answer was lost
		}
		s.backlog.Taken(next)
		if batch.Done && next >= s.backlog.Next() {
			return nil
		}
	}
}

// wait returns when there is something to send: at once for a full batch, after a moment for a
// few lines, and for the end mark.
func (s *Shipper) wait(ctx context.Context, next int64, last time.Time) (finishing bool) {
	var due <-chan time.Time
	for {
		changed := s.backlog.Changed()
		waiting := s.backlog.Next() - next
		if waiting >= batchLines {
			return s.finishing()
		}
		if waiting > 0 && due == nil {
			due = time.After(max(linger, spacing-time.Since(last)))
		}
		select {
		case <-ctx.Done():
			return false
		case <-s.finish:
			return true
		case <-due:
			return s.finishing()
		case <-changed:
		}
	}
}

func (s *Shipper) finishing() bool {
	select {
	case <-s.finish:
		return true
	default:
		return false
	}
}
