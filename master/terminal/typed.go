package terminal

import (
	"io"
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

// maxTyped is how much input may wait until the shell reads it.
const maxTyped = 1 << 20

// typed buffers the input that the shell has not read yet. The master reads the connection to the browser even while
// the shell reads nothing, because the browser's other messages say how much output it has shown; without them a
// program that prints what it reads would stop forever.
type typed struct {
	mu    sync.Mutex
	more  *sync.Cond
	bytes []byte
	over  bool
}

func newTyped() *typed {
	t := &typed{}
	t.more = sync.NewCond(&t.mu)
	return t
}

// add appends input.
func (t *typed) add(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.bytes)+len(p) > maxTyped {
		return fault.New(fault.TooLarge, "the shell does not read its input, and more than %d KiB of it wait", maxTyped>>10)
	}
	t.bytes = append(t.bytes, p...)
	t.more.Signal()
	return nil
}

// Read waits for input.
func (t *typed) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.bytes) == 0 && !t.over {
		t.more.Wait()
	}
	if len(t.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, t.bytes)
	if t.bytes = t.bytes[n:]; len(t.bytes) == 0 {
		t.bytes = nil
	}
	return n, nil
}

// end ends the input.
func (t *typed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.more.Broadcast()
}
