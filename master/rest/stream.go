package rest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Records write a stream of messages, one JSON object per line: {"result":…}. A record and its
// line break are in one chunk, because clients read lines and would otherwise see each record
// only with the next one.
type Records struct {
	w     *bufio.Writer
	conn  net.Conn
	usual time.Duration // how long the clients of other answers may stop reading
	stall time.Duration // how long this client may; 0: as long as it likes
	buf   []byte
}

// StreamStalls is how often the time limit of other answers a client of a stream may read nothing: the kernel
// reports progress in pieces of a megabyte and more.
const StreamStalls = 4

// streamPiece is how much of a stream is written with one deadline, in bytes.
const streamPiece = 16 << 10

// NewRecords returns a stream for a writer, for tests of what writes records.
func NewRecords(w *bufio.Writer) *Records { return &Records{w: w} }

// LimitStall ends the stream if its client reads nothing for so many times the time limit of other answers; 0: there is no limit.
func (r *Records) LimitStall(times int) { r.stall = time.Duration(times) * r.usual }

// Forget frees the memory of the last record.
func (r *Records) Forget() { r.buf = nil }

// Gone reports whether the client has disconnected.
func (r *Records) Gone() bool { return disconnected(r.conn) }

// Add writes a record that is sent with the next flush.
func (r *Records) Add(message any) error {
	var err error
	r.buf = append(r.buf[:0], `{"result":`...)
	if r.buf, err = v1.Append(r.buf, message); err != nil {
		return err
	}
	r.buf = append(r.buf, '}', '\n')
	for rest := r.buf; len(rest) > 0 && err == nil; {
		n := min(len(rest), streamPiece)
		if err = r.extend(); err == nil {
			_, err = r.w.Write(rest[:n])
		}
		rest = rest[n:]
	}
	return err
}

// Flush sends the added records. It fails if the client has disconnected, or has not read anything for
// too long.
func (r *Records) Flush() error {
	if err := r.extend(); err != nil {
		return err
	}
	return r.w.Flush()
}

// extend lets the client take its time for the next piece.
func (r *Records) extend() error {
	if r.stall == 0 {
		return nil
	}
	return r.conn.SetWriteDeadline(time.Now().Add(r.stall))
}

// Follow returns the context of an answer that continues after its handler. It ends with the server and with
// the caller's permission, and its calls to the database count as the caller's.
func (c *Call) Follow() (ctx context.Context, done func()) {
	return c.router.open.follow(c.work(c.router.stopping), c)
}

// Stream sends records. fn runs after the handler, until it returns, the client disconnects, or
// the server stops; its error, if it is for the client, becomes the last line.
func (c *Call) Stream(fn func(ctx context.Context, r *Records) error) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.ctx.Context().Response.ImmediateHeaderFlush = true
	path, conn, r := c.Path(), c.Conn(), c.router
	ctx, done := c.Follow()
	c.StreamTo(func(w *bufio.Writer) {
		defer done()
		defer func() { _ = conn.SetWriteDeadline(time.Time{}) }() // the next response on this connection has its own deadline
		err := r.Caught("a stream panicked", path, func() error { return fn(ctx, &Records{w: w, conn: conn, usual: r.Limits.Stall}) })
		if why := Refused(ctx); why != nil {
			err = why
		} else if err == nil || ctx.Err() != nil {
			return
		}
		code := fault.CodeOf(err)
		message := err.Error()
		if code == fault.Internal {
			r.log.Error("a stream failed", "path", path, "error", err)
			message = "Internal error; the master's log has the details"
		}
		st := statuses[code]
		last, merr := v1.Marshal(streamError{Error: streamErrorBody{GrpcCode: st.grpc, HTTPCode: st.http,
			Message: message, HTTPStatus: http.StatusText(st.http)}})
		if merr == nil {
			_, _ = w.Write(append(last, '\n')) // the client may have disconnected
		}
	})
	return nil
}

// StreamTo sends what fn writes after the handler. fn runs in its own goroutine outside of
// guard: here a panic ends only this stream, not the master.
func (c *Call) StreamTo(fn func(w *bufio.Writer)) {
	path, r := c.Path(), c.router
	c.ctx.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		_ = r.Caught("a stream panicked", path, func() error { // Caught has logged it
			fn(w)
			return nil
		})
	})
}

// Caught converts a panic to an error, and logs its stack. Work that continues after its
// request's handler runs in Caught.
func (r *Router) Caught(message, path string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error(message, "path", path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			r.meters.panicked()
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn()
}

// streamError is the last line of a stream that failed.
type streamError struct {
	Error streamErrorBody `json:"error"`
}

type streamErrorBody struct {
	GrpcCode   int      `json:"grpcCode"`
	HTTPCode   int      `json:"httpCode"`
	Message    string   `json:"message"`
	HTTPStatus string   `json:"httpStatus"`
	Details    []string `json:"details"`
}
