package terminal

import (
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// maxAhead is how many bytes of output the browser may not have shown yet.
	maxAhead = 256 << 10
	// maxOutput is the maximum size of a message with output.
	maxOutput = 16 << 10
	// writeWithin limits the writing of one message.
	writeWithin = 15 * time.Second
)

// A screen sends output to the browser, as fast as the browser shows it.
type screen struct {
	ws      *websocket.Conn
	writing sync.Mutex // held by the one writer of messages

	mu     sync.Mutex
	moved  *sync.Cond
	sent   int64
	shown  int64
	closed bool
}

func newScreen(ws *websocket.Conn) *screen {
	s := &screen{ws: ws}
	s.moved = sync.NewCond(&s.mu)
	return s
}

// Write sends output, and waits while the browser is too far behind.
func (s *screen) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	n := 0
	for n < len(p) {
		part := p[n:min(len(p), n+maxOutput)]
		if !s.await(len(part)) {
			return n, io.ErrClosedPipe
		}
		_ = s.ws.SetWriteDeadline(time.Now().Add(writeWithin))
		if err := s.ws.WriteMessage(websocket.BinaryMessage, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// await waits until the next n bytes may be sent; false if the browser has gone.
func (s *screen) await(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sent-s.shown >= maxAhead && !s.closed {
		s.moved.Wait()
	}
	s.sent += int64(n)
	return !s.closed
}

// show notes that the browser has shown this many bytes in all.
func (s *screen) show(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > s.shown && bytes <= s.sent {
		s.shown = bytes
		s.moved.Broadcast()
	}
}

// close ends a Write that waits.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.moved.Broadcast()
}
