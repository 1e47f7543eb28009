package rest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Heartbeat is the time between two signs of life on a quiet stream of events, which also detect clients
// that have disconnected.
const Heartbeat = 10 * time.Second

// Events writes a stream of events for browsers, each with a name, an id and a message.
type Events struct {
	w     *bufio.Writer
	conn  net.Conn
	stall time.Duration // how long the client may stop reading
	buf   []byte
}

// Events sends a stream of events. fn runs after the handler, until it returns. It must end with its context, which ends
// with the server and with the caller's permission.
func (c *Call) Events(fn func(ctx context.Context, e *Events)) {
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.ctx.Context().Response.ImmediateHeaderFlush = true
	e := &Events{conn: c.Conn(), stall: StreamStalls * c.router.Limits.Stall}
	ctx, done := c.Follow()
	c.StreamTo(func(w *bufio.Writer) {
		defer done()
		defer func() { _ = e.conn.SetWriteDeadline(time.Time{}) }() // the next response on this connection has its own deadline
		e.w = w
		fn(ctx, e)
	})
}

// Retry tells the client after how many milliseconds it connects again.
func (e *Events) Retry(milliseconds int) error {
	_, err := fmt.Fprintf(e.w, "retry: %d\n", milliseconds)
	return err
}

// Add adds an event, which is sent with the next flush.
func (e *Events) Add(name string, id fmt.Stringer, message any) error {
	body, err := v1.Append(e.buf[:0], message)
	if err != nil {
		return err
	}
	if e.buf = body; cap(body) > MaxInMemory {
		e.buf = nil
	}
	if err := e.extend(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.w, "event: %s\nid: %s\ndata: %s\n\n", name, id, body)
	return err
}

// Beat adds a sign of life.
func (e *Events) Beat() error {
	if err := e.extend(); err != nil {
		return err
	}
	_, err := e.w.WriteString(":\n\n")
	return err
}

// Flush sends the added events. It fails if the client has disconnected.
func (e *Events) Flush() error { return e.w.Flush() }

func (e *Events) extend() error { return e.conn.SetWriteDeadline(time.Now().Add(e.stall)) }
