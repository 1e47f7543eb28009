package logs

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"time"
)

// flushAfter is how long a line may wait for others before it is shown: too
// short for an eye, long enough to print a hundred thousand lines in a moment.
const flushAfter = 10 * time.Millisecond

// writer gathers lines that arrive in a burst and shows each soon after it came.
type writer struct {
	mu    sync.Mutex
	buf   *bufio.Writer
	timer *time.Timer
	err   error
	done  bool
}

func newWriter(w io.Writer) *writer { return &writer{buf: bufio.NewWriterSize(w, 64<<10)} }

// message writes a line of a log, with a line end if it has none.
func (w *writer) message(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Write is io.Writer's.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.buf.Write(p)
	w.err = err
	if w.timer == nil {
		w.timer = time.AfterFunc(flushAfter, w.flush)
	}
	return n, err
}

func (w *writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	if err := w.buf.Flush(); err != nil {
		w.err = err
	}
}

// Close shows what is left. It may be called twice.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.err
	}
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if err := w.buf.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}
