package tunnel

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A halfCloser is a connection whose sending direction can be closed alone, as with TCP and
// Unix sockets.
type halfCloser interface{ CloseWrite() error }

// lastWords is how long a side may continue to send after the other side has ended. Programs
// that support half-closed connections end by themselves; others would stay connected forever.
const lastWords = 10 * time.Minute

// Join copies in both directions until both sides have ended, and closes both. The end of one
// side's bytes closes the sending direction of the other; an error ends both.
func Join(a, b net.Conn) { join(a, b, lastWords, lastWords) }

// JoinUntil is Join that ends with ctx.
func JoinUntil(ctx context.Context, a, b net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = a.Close(); _ = b.Close() })
	defer stop()
	Join(a, b)
}

// JoinServer is Join with a server that receives nothing after it has ended: its client must
// then end within patience.
func JoinServer(client, server net.Conn, patience time.Duration) {
	join(client, server, lastWords, patience)
}

// join waits forB for b after a has ended, and forA for a after b has ended.
func join(a, b net.Conn, forB, forA time.Duration) {
	var once sync.Once
	end := func() { once.Do(func() { _ = a.Close(); _ = b.Close() }) }
	defer end()
	type half struct {
		patience time.Duration
		whole    bool // it ended without an error
	}
	halves := make(chan half, 2)
	carry := func(to, from net.Conn, patience time.Duration) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = closeWrite(to)
		}
		halves <- half{patience, err == nil}
	}
	go carry(a, b, forA)
	go carry(b, a, forB)
	first := <-halves
	if !first.whole {
		end()
		<-halves
		return
	}
	t := time.AfterFunc(first.patience, end)
	defer t.Stop()
	<-halves
}

// closeWrite closes the sending direction of a connection, or the whole connection if it cannot
// be half-closed.
func closeWrite(c net.Conn) error {
	if h, ok := c.(halfCloser); ok {
		return h.CloseWrite()
	}
	return c.Close()
}
