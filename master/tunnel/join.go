package tunnel

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A halfCloser is a connection whose sending half can be closed alone, as TCP's and
// Unix sockets' can.
type halfCloser interface{ CloseWrite() error }

// lastWords is how long a side may go on sending after the other has nothing more
// to say. Programs that know of half-closed connections end by themselves; those
// that do not would stay forever.
const lastWords = 10 * time.Minute

// Join copies both ways until both sides have ended, and closes both. The end of
// one side's bytes becomes the end of bytes for the other; a broken side ends both.
func Join(a, b net.Conn) { join(a, b, lastWords, lastWords) }

// JoinUntil is Join that ends with ctx.
func JoinUntil(ctx context.Context, a, b net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = a.Close(); _ = b.Close() })
	defer stop()
	Join(a, b)
}

// JoinServer is Join with a server that takes nothing more once it has ended: its
// client then has so long to end too.
func JoinServer(client, server net.Conn, patience time.Duration) {
	join(client, server, lastWords, patience)
}

// join waits so long for b when a has ended, and for a when b has.
func join(a, b net.Conn, forB, forA time.Duration) {
	var once sync.Once
	end := func() { once.Do(func() { _ = a.Close(); _ = b.Close() }) }
	defer end()
	type half struct {
		patience time.Duration
		whole    bool // it ended in order
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

// closeWrite ends the bytes towards a connection. One that cannot be closed by
// halves is closed.
func closeWrite(c net.Conn) error {
	if h, ok := c.(halfCloser); ok {
		return h.CloseWrite()
	}
	return c.Close()
}
