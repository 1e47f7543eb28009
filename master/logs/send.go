package logs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

const (
	// pollInterval is the time between two checks whether the task has ended, in addition to
	// wake-ups by new lines.
	pollInterval = 2 * time.Second
	// turnTime is how long a stream of a log keeps its turn while others may wait.
	turnTime = time.Second
	// stalls is rest.StreamStalls for logs, which people read with less: a blocked stream holds little.
	stalls = 20
	// longLine is the number of bytes from which lines are sent one at a time for each user.
	longLine = 256 << 10
)

// A sender sends the lines of one stream. They are in memory during a turn only: when the turn ends, the sender
// forgets those that it has not sent, and the stream reads them again in its next turn. So a client that
// reads slowly or not at all holds neither memory nor a turn.
type sender struct {
	request
	d     Deps
	out   *rest.Records
	owner string
	turns *rest.Shares

	next int64 // where the reader continues
	last int64 // the last line that was sent; 0: none
	sent int   // lines

	mu    sync.Mutex
	lines []Record
	begun bool // the turn has lines, and its time runs
	over  bool
}

// errTurnOver ends a reader because the turn is over, and errEnough because the stream is complete.
var errTurnOver, errEnough = errors.New("the turn is over"), errors.New("all requested lines are sent")

func (d Deps) newSender(q request, out *rest.Records, owner string) *sender {
	out.LimitStall(stalls)
	s := &sender{request: q, d: d, out: out, owner: owner, turns: d.Limits.Turns, next: 1}
	if q.desc {
		s.next = 0
	}
	if q.text { // it keeps a processor busy, as a search does
		s.turns = d.Limits.Searches
	}
	return s
}

// stream sends the existing lines and, with follow, new lines until the task has ended and
// all of its output has arrived.
func (s *sender) stream(ctx context.Context) error {
	var err error
	if s.follow {
		err = s.followLog(ctx)
	} else {
		err = s.read(ctx)
	}
	if errors.Is(err, rest.ErrDisconnected) || errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// followLog sends new lines. It checks whether the task has ended before it reads lines, so
// that it does not miss the last ones.
func (s *sender) followLog(ctx context.Context) error {
	wake, cancel := s.d.Bus.Subscribe(Topic(s.TaskID))
	defer cancel()
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		ended, err := Ended(ctx, s.d.DB, s.TaskID, s.Part)
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
func (s *sender) read(ctx context.Context) error {
	for {
		err := s.readTurn(ctx)
		if !errors.Is(err, errTurnOver) && !errors.Is(err, ErrPause) {
			return err
		}
		if s.out.Gone() { // a search may find nothing to send for a long time
			return rest.ErrDisconnected
		}
	}
}

func (s *sender) readTurn(ctx context.Context) (err error) {
	turn, err := s.turns.Take(ctx, s.owner, 1)
	if err != nil {
		return err
	}
	end := sync.OnceFunc(func() { s.forget(); turn.Release() })
	timer := time.AfterFunc(time.Hour, end) // begin sets the time
	defer end()
	defer timer.Stop()
	s.begun, s.over = false, false
	send := func(list []Record) error {
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
func (s *sender) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.over = nil, true
}

// begin keeps lines that the client has not yet, unless the turn is over. The time of the turn runs from its first
// lines on, so that each turn sends some.
func (s *sender) begin(list []Record, timer *time.Timer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	if s.last > 0 { // the turn before may have ended within this chunk
		list = slices.DeleteFunc(list, func(r Record) bool { return r.Number == s.last || s.desc == (r.Number > s.last) })
	}
	s.lines = list
	if !s.begun {
		s.begun = true
		timer.Reset(s.d.Limits.Turn)
	}
	return true
}

// take returns the next line. It is false at the end of the lines, or of the turn.
func (s *sender) take() (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 {
		return Record{}, false
	}
	line := s.lines[0]
	s.lines[0] = Record{} // so that a long line does not stay with the others
	s.lines = s.lines[1:]
	return line, true
}

func (s *sender) send(ctx context.Context) error {
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
func (s *sender) sendLine(ctx context.Context, line Record) error {
	if len(line.Text) > longLine {
		long, err := s.d.Limits.LongLines.Take(ctx, s.owner, 1)
		if err != nil {
			return err
		}
		defer long.Release()
		s.out.LimitStall(rest.StreamStalls)
		defer func() {
			s.out.LimitStall(stalls)
			s.out.Forget()
		}()
	}
	if s.out.Add(s.wire(line)) != nil {
		return rest.ErrDisconnected
	}
	return nil
}
