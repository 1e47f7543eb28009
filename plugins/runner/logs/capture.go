package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Capture reads one stream of a program until it ends: it appends the lines of each chunk to
// the backlog, and copies the chunk unchanged to echo. look is called with every line; it may be
// nil. Capture never stops reading, because a program blocks if nobody reads its output.
func Capture(r io.Reader, stream string, backlog *Backlog, echo io.Writer, look func(Line)) {
	split := NewSplitter(stream)
	keep := func(lines []Line) {
		backlog.Append(lines...)
		for i := 0; look != nil && i < len(lines); i++ {
			look(lines[i])
		}
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		now := time.Now()
		if n > 0 {
			keep(split.Feed(buf[:n], now)) // first, so that everything that users see is stored
			if echo != nil {
				_, _ = echo.Write(buf[:n]) // an Echo drops what it cannot write
			}
		}
		if err == nil {
			continue
		}
		keep(split.Rest(now))
		if err != io.EOF && !errors.Is(err, fs.ErrClosed) {
			backlog.Append(own(v1.LogLevelError, fmt.Sprintf("reading %s of the program failed: %v", stream, err)))
		}
		return
	}
}

// An Echo writes to the pipe of another process without waiting: the pipe belongs to Nomad's
// log collector, which may be stopped. Output that the collector does not read in time is
// dropped from this copy, and counted; the backlog has it.
type Echo struct {
	w    io.Writer
	done chan struct{}

	mu      sync.Mutex
	more    *sync.Cond
	waiting []byte
	dropped int
	closed  bool
}

// maxEchoed is the maximum number of bytes that wait for the log collector.
const maxEchoed = 4 << 20

// NewEcho starts an Echo to w.
func NewEcho(w io.Writer) *Echo {
	e := &Echo{w: w, done: make(chan struct{})}
	e.more = sync.NewCond(&e.mu)
	go e.loop()
	return e
}

func (e *Echo) loop() {
	defer close(e.done)
	var chunk []byte
	for {
		e.mu.Lock()
		for len(e.waiting) == 0 && e.dropped == 0 && !e.closed {
			e.more.Wait()
		}
		chunk, e.waiting = e.waiting, chunk[:0]
		dropped, closed := e.dropped, e.closed
		e.dropped = 0
		e.mu.Unlock()
		_, _ = e.w.Write(chunk) // nobody reads the pipe
		if dropped > 0 {
			_, _ = fmt.Fprintf(e.w, "\ndet-runner: warning: %d bytes of output are missing from this copy, because it was not read; the master has them\n", dropped)
		}
		if closed && len(chunk) == 0 {
			return
		}
	}
}

// Write queues a copy of p, or drops it.
func (e *Echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting)+len(p) > maxEchoed {
		e.dropped += len(p)
	} else {
		e.waiting = append(e.waiting, p...)
	}
	e.more.Signal()
	return len(p), nil
}

// Close waits a moment for queued output. No Write may follow.
func (e *Echo) Close(most time.Duration) {
	e.mu.Lock()
	e.closed = true
	e.more.Signal()
	e.mu.Unlock()
	select {
	case <-e.done:
	case <-time.After(most):
	}
}
