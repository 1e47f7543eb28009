package api

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
)

const (
	// pollInterval is the time between two checks whether the task has ended, in addition to
	// wake-ups by new lines.
	pollInterval = 2 * time.Second
	// logTurn is how long a stream of a log keeps its turn while others may wait.
	logTurn = time.Second
	// logStalls is rest.StreamStalls for logs, which people read with less: a blocked stream holds little.
	logStalls = 20
	// longLine is the number of bytes from which lines are sent one at a time for each user.
	longLine = 256 << 10

	maxLogTurns        = 16 // streams of logs that unpack and send lines at once
	maxLogTurnsPerUser = 4  // of those, for one user and the user's tasks
	maxLogTurnsMore    = 8  // of those, for all users together beyond one for each
	maxLongLines       = 2  // long lines that are sent at once, one for each user
)

// A logSender sends the lines of one stream. They are in memory during a turn only: when the turn ends, the sender
// forgets those that it has not sent, and the stream reads them again in its next turn. So a client that
// reads slowly or not at all holds neither memory nor a turn.
type logSender struct {
	logRequest
	a     *API
	out   *rest.Records
	owner string
	turns *rest.Shares

	next int64 // where the reader continues
	last int64 // the last line that was sent; 0: none
	sent int   // lines

	mu    sync.Mutex
	lines []store.LogRecord
	begun bool // the turn has lines, and its time runs
	over  bool
}

// errTurnOver ends a reader because the turn is over, and errEnough because the stream is complete.
var errTurnOver, errEnough = errors.New("the turn is over"), errors.New("all requested lines are sent")

func (a *API) newLogSender(q logRequest, out *rest.Records, owner string) *logSender {
	out.LimitStall(logStalls)
	s := &logSender{logRequest: q, a: a, out: out, owner: owner, turns: a.limits.logs, next: 1}
	if q.desc {
		s.next = 0
	}
	if q.text { // it keeps a processor busy, as a search does
		s.turns = a.logSearches
	}
	return s
}

// streamLogs sends the existing lines and, with follow, new lines until the task has ended and
// all of its output has arrived.
func (a *API) streamLogs(ctx context.Context, s *logSender) error {
	var err error
	if s.follow {
		err = a.followLogs(ctx, s)
	} else {
		err = s.read(ctx)
	}
	if errors.Is(err, rest.ErrDisconnected) || errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// followLogs sends new lines. It checks whether the task has ended before it reads lines, so
// that it does not miss the last ones.
func (a *API) followLogs(ctx context.Context, s *logSender) error {
	wake, cancel := a.bus.Subscribe(store.LogTopic(s.task))
	defer cancel()
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		ended, err := a.db.LogsEnded(ctx, s.task, s.part)
		if err == nil {
			err = s.read(ctx)
		}
		if err != nil && !fault.Is(err, fault.Unavailable) {
			return err
		}
		if ended && err == nil {
			return nil
		}
		select { // while the database does not answer, followers wait
		case <-wake:
		case <-t.C:
			if s.out.Gone() {
				return rest.ErrDisconnected
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// read sends the lines from where the last call ended, in as many turns as that takes.
func (s *logSender) read(ctx context.Context) error {
	for {
		err := s.readTurn(ctx)
		if !errors.Is(err, errTurnOver) && !errors.Is(err, store.ErrPause) {
			return err
		}
		if s.out.Gone() { // a search may find nothing to send for a long time
			return rest.ErrDisconnected
		}
	}
}

func (s *logSender) readTurn(ctx context.Context) (err error) {
	turn, err := s.turns.Take(ctx, s.owner, 1)
	if err != nil {
		return err
	}
	end := sync.OnceFunc(func() { s.forget(); turn.Release() })
	timer := time.AfterFunc(time.Hour, end) // begin sets the time
	defer end()
	defer timer.Stop()
	s.begun, s.over = false, false
	send := func(list []store.LogRecord) error {
		if !s.begin(list, timer) {
			return errTurnOver
		}
		return s.send(ctx)
	}
	if s.desc {
		s.next, err = s.reader.Backward(ctx, s.next, 0, send)
	} else {
		s.next, err = s.reader.Forward(ctx, s.next, 0, send)
	}
	return err
}

// forget ends the turn of the lines.
func (s *logSender) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.over = nil, true
}

// begin keeps lines that the client has not yet, unless the turn is over. The time of the turn runs from its first
// lines on, so that each turn sends some.
func (s *logSender) begin(list []store.LogRecord, timer *time.Timer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	if s.last > 0 { // the turn before may have ended within this chunk
		list = slices.DeleteFunc(list, func(r store.LogRecord) bool { return r.Number == s.last || s.desc == (r.Number > s.last) })
	}
	s.lines = list
	if !s.begun {
		s.begun = true
		timer.Reset(s.a.limits.logTurn)
	}
	return true
}

// take returns the next line. It is false at the end of the lines, or of the turn.
func (s *logSender) take() (store.LogRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 {
		return store.LogRecord{}, false
	}
	line := s.lines[0]
	s.lines[0] = store.LogRecord{} // so that a long line does not stay with the others
	s.lines = s.lines[1:]
	return line, true
}

func (s *logSender) send(ctx context.Context) error {
	for {
		line, ok := s.take()
		if !ok {
			break
		}
		if err := s.sendLine(ctx, line); err != nil {
			return err
		}
		s.last = line.Number
		if s.sent++; s.limit > 0 && s.sent == s.limit {
			if s.out.Flush() != nil {
				return rest.ErrDisconnected
			}
			return errEnough
		}
	}
	if s.out.Flush() != nil {
		return rest.ErrDisconnected
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errTurnOver
	}
	return nil
}

// sendLine adds a line to the stream. A long one stays in memory until the client has read it, so a user has one.
func (s *logSender) sendLine(ctx context.Context, line store.LogRecord) error {
	if len(line.Text) > longLine {
		long, err := s.a.limits.longLines.Take(ctx, s.owner, 1)
		if err != nil {
			return err
		}
		defer long.Release()
		s.out.LimitStall(rest.StreamStalls)
		defer func() {
			s.out.LimitStall(logStalls)
			s.out.Forget()
		}()
	}
	if s.out.Add(s.wire(line)) != nil {
		return rest.ErrDisconnected
	}
	return nil
}
