package logs

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"time"
)

// flushAfter is how long a line may wait for others before it is printed: too short to notice,
// long enough to print a hundred thousand lines quickly.
const flushAfter = 10 * time.Millisecond

// writer collects lines that arrive in a burst, and prints each line soon.
type writer struct {
	mu    sync.Mutex
	buf   *bufio.Writer
	timer *time.Timer
	err   error
	done  bool
}

func newWriter(w io.Writer) *writer { return &writer{buf: bufio.NewWriterSize(w, 64<<10)} }

// message writes a log line, with a line break if it has none.
func (w *writer) message(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Write implements io.Writer.
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

// Close prints the remaining lines. It may be called twice.
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
