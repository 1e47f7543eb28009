package sink

import (
	"context"
	"errors"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/logs/sink/entry"
)

const (
	maxLogs  = 500       // in one round
	maxLines = 2_000     // in one request, and some more: chunks are sent whole
	maxBytes = 1 << 20   // of texts in one request, in the same way
	maxOfLog = 256 << 10 // of the texts of one log in a round, in the same way, so that logs take turns
)

// batch has the lines of one request, and what is noted when they are sent.
type batch struct {
	lines       []entry.Entry
	bytes       int
	progress    []progress
	masters     int64 // the last of the lines of masters; 0: it has none
	lostMasters int64
}

// progress is how far a sink is with one log.
type progress struct {
	log  int
	next int64
	lost int64 // lines that were deleted before they were sent
}

func (b *batch) full() bool { return len(b.lines) >= maxLines || b.bytes >= maxBytes }

func (b *batch) empty() bool {
	return len(b.lines) == 0 && len(b.progress) == 0 && b.masters == 0
}

func (b *batch) add(e entry.Entry) {
	b.lines = append(b.lines, e)
	b.bytes += len(e.Text)
}

// errEnough ends the reading of a log.
var errEnough = errors.New("enough lines")

// read adds lines of a log. whole reports whether these are all. Numbers that no line has any more are those of deleted lines.
func (b *batch) read(ctx context.Context, store *logs.Store, l unsent) (whole bool, err error) {
	r, err := store.Reader(l.TaskID, logs.Filter{})
	if err != nil {
		return false, err
	}
	p := progress{log: l.ID}
	expected, size := l.Sent, 0
	p.next, err = r.Forward(ctx, l.Sent, 0, func(list []logs.Record) error {
		if size >= maxOfLog || b.full() {
			return errEnough
		}
		for _, line := range list {
			p.lost += max(0, line.Number-expected)
			expected = line.Number + 1
			size += len(line.Text)
			b.add(l.entry(line))
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	if p.lost += max(0, p.next-expected); p.next > l.Sent {
		b.progress = append(b.progress, p)
	}
	return err == nil, nil
}

// entry is a line of a task.
func (l unsent) entry(r logs.Record) entry.Entry {
	e := entry.Entry{At: r.At, Level: r.Level, Text: r.Text, Number: r.Number, Log: l.TaskID, Type: l.Type, Allocation: r.AllocationID,
		Container: r.ContainerID, Node: r.AgentID, Rank: r.Rank, Stdtype: r.Stdtype, Source: r.Source, Workspace: l.Workspace, Owner: l.Owner}
	if l.ExperimentID != nil {
		e.Experiment = *l.ExperimentID
	}
	if l.TrialID != nil {
		e.Trial = *l.TrialID
	}
	return e
}
