// Package sink sends copies of log lines to other systems: the lines of tasks and those of the masters themselves.
//
// The leading master runs a Sink for each entry of log_sinks. Lines wait in PostgreSQL, where they are stored anyway: a sink
// reads them from where it ended, sends them, and stores how far it is when the receiver has taken them. So a slow receiver
// delays neither tasks nor the masters' writes, and nothing is lost while one is away or when the leader changes; what was sent and
// not yet noted is sent again. The files:
//
//	sink.go     the loop of one sink, and what it does with lines that are not taken
//	rows.go     which lines are not sent, and how far a sink is
//	batch.go    reads lines, up to the size of a request
//	target.go   what a receiver is, and how its address names it
//	otlp.go     receivers of OTLP over HTTP
//	syslog.go   receivers of syslog
//	entry/      pure: the forms of lines
package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/logs/sink/entry"
	"github.com/detent-ml/detent/master/sleep"
)

// Timing is how often a sink looks, and how long it waits after an error.
type Timing struct {
	Look     time.Duration // at the logs of tasks that run, and of the masters
	LookAll  time.Duration // at all logs: a runner may deliver its last lines when its task has ended
	MinDelay time.Duration // after the first error; each further one is twice as long
	MaxDelay time.Duration
}

// usual is the timing of masters.
func usual() Timing {
	return Timing{Look: 2 * time.Second, LookAll: time.Minute, MinDelay: time.Second, MaxDelay: time.Minute}
}

// noteWithin is how long it may take to note what is sent.
const noteWithin = 5 * time.Second

// Config is one sink.
type Config struct {
	Name    string // under which the database knows how far it is
	Cluster string // the cluster's name, which every line has
	Tasks   bool   // send the lines of tasks
	Masters bool   // send the lines of masters
	Target  Target
	Timing  Timing // zero for the usual one
}

// Sink sends lines to one receiver.
type Sink struct {
	cfg    Config
	db     *database.DB
	store  *logs.Store
	log    *slog.Logger
	target target
}

// New returns a Sink.
func New(cfg Config, db *database.DB, store *logs.Store, log *slog.Logger) (*Sink, error) {
	if cfg.Timing == (Timing{}) {
		cfg.Timing = usual()
	}
	t, err := cfg.Target.open()
	if err != nil {
		return nil, err
	}
	return &Sink{cfg: cfg, db: db, store: store, log: log.With("log_sink", cfg.Name), target: t}, nil
}

// term is the work of a sink during one term of a leader.
type term struct {
	*Sink
	number int64

	after   int   // rounds take turns: the log with which the last one ended
	behind  bool  // a look at all logs has left lines of tasks that have ended, so the next one comes at once
	settled int64 // no master can store a line of masters with a lower id any more
	seen    int64 // the last id at the time seenAt
	seenAt  time.Time
	counted time.Time     // when the waiting lines were counted
	failing time.Time     // since when the receiver takes nothing; zero if it does
	delay   time.Duration // before the next try
	refusal error         // why it did not take the last line that it did not take
}

// Run sends until ctx ends.
func (s *Sink) Run(ctx context.Context, number int64, holds func() bool) {
	defer s.target.close()
	t := &term{Sink: s, number: number}
	var all time.Time // when all logs were looked at
	begun := false
	for ctx.Err() == nil {
		pause := s.cfg.Timing.Look
		var err error
		if !begun {
			if err = t.begin(ctx); err == nil {
				begun = true
			}
		}
		if begun && holds() {
			every := time.Since(all) >= s.cfg.Timing.LookAll
			var more bool
			if more, err = t.safely(ctx, every); err == nil && every && !t.behind {
				all = time.Now()
			}
			if more {
				pause = 0
			}
		}
		if err != nil && ctx.Err() == nil {
			begun = false // somebody may have deleted its row
			pause = t.failed(ctx, err)
		}
		if pause > 0 {
			_ = sleep.For(ctx, pause)
		}
	}
}

// failed says once that the receiver, or the database, does not answer, and returns how long to wait.
func (t *term) failed(ctx context.Context, err error) time.Duration {
	t.delay = min(max(2*t.delay, t.cfg.Timing.MinDelay), t.cfg.Timing.MaxDelay)
	if fault.Is(err, fault.Unavailable) || errors.Is(err, database.ErrNotLeader) {
		return t.delay // of which others speak
	}
	if t.failing.IsZero() {
		t.failing = time.Now()
		t.log.Warn("the log sink takes no lines; they wait in the database, and it is tried again", "term", t.number, "error", err)
		if err := t.noteFailing(ctx); err != nil && ctx.Err() == nil {
			t.log.Debug("could not note that the log sink fails", "error", err)
		}
	}
	return t.delay
}

// succeeded says that the receiver takes lines again.
func (t *term) succeeded() {
	t.delay = 0
	if !t.failing.IsZero() {
		t.log.Info("the log sink takes lines again", "term", t.number, "after", time.Since(t.failing).Round(time.Second))
		t.failing = time.Time{}
	}
}

// safely turns a panic into an error: a line that the code for a form cannot write must not end the master.
func (t *term) safely(ctx context.Context, all bool) (more bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			t.log.Error("the work of a log sink panicked", "term", t.number, "error", r, "stack", string(debug.Stack()))
			more, err = false, fmt.Errorf("the master failed to send lines: %v", r)
		}
	}()
	return t.round(ctx, all)
}

// round sends a part of what is not sent: some of each log. more reports whether there is more at once.
func (t *term) round(ctx context.Context, all bool) (more bool, err error) {
	if t.cfg.Tasks && all && time.Since(t.counted) >= t.cfg.Timing.LookAll { // before a request, which may fail
		if err := t.countWaiting(ctx); err != nil {
			return false, err
		}
		t.counted = time.Now()
	}
	if t.cfg.Masters {
		if more, err = t.sendMasters(ctx); err != nil {
			return false, err
		}
	}
	if !t.cfg.Tasks {
		return more, nil
	}
	list, err := t.unsent(ctx, all, t.after)
	if err != nil {
		return false, err
	}
	t.behind = all && len(list) == maxLogs
	var b batch
	for _, l := range list {
		whole, err := b.read(ctx, t.store, l)
		if err != nil {
			return false, err
		}
		// The next round has the lines of a task that runs without a look at all logs, which is dear: a task that prints
		// without end would make every round one.
		more, t.behind = more || !whole, t.behind || !whole && !l.Running
		if b.full() {
			if err := t.deliver(ctx, &b); err != nil {
				return false, err
			}
			b = batch{}
		}
	}
	if err := t.deliver(ctx, &b); err != nil {
		return false, err
	}
	t.after = 0
	if len(list) == maxLogs {
		t.after, more = list[len(list)-1].ID, true
	}
	if all && !more && len(list) > 0 { // the number has changed
		return false, t.countWaiting(ctx)
	}
	return more, nil
}

// sendMasters sends some lines of the masters.
func (t *term) sendMasters(ctx context.Context) (more bool, err error) {
	b, more, err := t.masters(ctx)
	if err != nil {
		return false, err
	}
	return more, t.deliver(ctx, &b)
}

// deliver sends a batch, and then stores how far the sink is.
func (t *term) deliver(ctx context.Context, b *batch) error {
	if b.empty() {
		return nil
	}
	rejected, err := t.send(ctx, b.lines)
	if err != nil {
		return err
	}
	// The end of the term does not keep it from noting what is sent, which the next leader would send again.
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := t.advance(note, b, int64(len(b.lines))-rejected, rejected); err != nil {
		return err
	}
	if len(b.lines) > 0 {
		t.succeeded()
	}
	if rejected > 0 {
		t.log.Warn("the log sink does not take some lines, which are left out", "term", t.number, "lines", rejected, "because", t.refusal)
	}
	t.sayLost(b)
	return nil
}

// name is what a line is of, in messages.
func name(e entry.Entry) string {
	if e.Log == "" {
		return "the masters"
	}
	return "task " + e.Log
}

// sayLost says how many lines were deleted before they were sent.
func (t *term) sayLost(b *batch) {
	lost := b.lostMasters
	for _, p := range b.progress {
		lost += p.lost
	}
	if lost > 0 {
		t.log.Warn("lines were deleted, because their retention had ended, before the log sink had them", "term", t.number, "lines", lost)
	}
}

// maxCuts bounds how often one request is cut to find the lines that a receiver does not take: any user can print lines, or give them
// times, that no receiver takes, and each of them would cost two requests.
const maxCuts = 200

// sending is what is known while the lines of one request are sent.
type sending struct {
	cuts   int  // that are left
	taken  bool // the receiver has taken a line
	probed bool
}

// send sends lines. If the receiver does not take what a request has, it sends the parts, so that one line that it does not take
// costs no other line. After many cuts the rest of a log's lines in a part are left out together.
func (t *term) send(ctx context.Context, lines []entry.Entry) (rejected int64, err error) {
	return t.sendPart(ctx, lines, &sending{cuts: maxCuts})
}

func (t *term) sendPart(ctx context.Context, lines []entry.Entry, now *sending) (rejected int64, err error) {
	if len(lines) == 0 {
		return 0, nil
	}
	all := int64(len(lines))
	rejected, why, err := t.target.send(ctx, t.cfg.Cluster, lines)
	switch first, last := lines[0], lines[all-1]; {
	case err == nil:
		if rejected = min(rejected, all); rejected > 0 {
			t.refusal = fmt.Errorf("it says %s of some lines from line %d of %s on", why, first.Number, name(first))
		}
		if rejected == all {
			return all, t.probe(ctx, now)
		}
		now.taken = true
		return rejected, nil
	case !errors.Is(err, errNotTaken):
		return 0, err
	case all == 1:
		t.refusal = fmt.Errorf("line %d of %s: %w", first.Number, name(first), err)
		return 1, t.probe(ctx, now)
	case now.cuts == 0 && first.Log == last.Log:
		t.refusal = fmt.Errorf("lines %d to %d of %s, after many others: %w", first.Number, last.Number, name(first), err)
		return all, t.probe(ctx, now)
	}
	now.cuts = max(0, now.cuts-1)
	middle := cut(lines)
	for _, part := range [][]entry.Entry{lines[:middle], lines[middle:]} {
		n, err := t.sendPart(ctx, part, now)
		if err != nil {
			return 0, err
		}
		rejected += n
	}
	return rejected, nil
}

// probe finds out whether lines are to blame that were rejected before the receiver has taken another. It sends a line that every
// receiver can take: if that one is rejected too, no line may be left out, whatever the receiver took before.
func (t *term) probe(ctx context.Context, now *sending) error {
	if now.taken || now.probed {
		return nil
	}
	line := entry.Entry{At: time.Now(), Level: 3, Rank: -1, Source: "master", Text: "det-master tests whether this receiver takes lines, because it has rejected others"}
	rejected, _, err := t.target.send(ctx, t.cfg.Cluster, []entry.Entry{line})
	if errors.Is(err, errNotTaken) || err == nil && rejected > 0 {
		return fmt.Errorf("it rejects all lines: %w", t.refusal)
	}
	now.probed = true
	return err
}

// cut is where lines are cut in two: between two logs, near the middle, so that the lines of one task cost no other task a line; in the
// middle if all are of one log.
func cut(lines []entry.Entry) int {
	middle := len(lines) / 2
	for away := range len(lines) {
		for _, i := range []int{middle - away, middle + away} {
			if i > 0 && i < len(lines) && lines[i-1].Log != lines[i].Log {
				return i
			}
		}
	}
	return middle
}
