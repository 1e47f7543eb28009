package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// records writes a stream of messages, one JSON object per line: {"result":…}. A record and its
// line break are in one chunk, because clients read lines and would otherwise see each record
// only with the next one.
type records struct {
	w   *bufio.Writer
	buf []byte
}

// add writes a record that is sent with the next flush.
func (r *records) add(message any) error {
	var err error
	r.buf = append(r.buf[:0], `{"result":`...)
	if r.buf, err = v1.Append(r.buf, message); err != nil {
		return err
	}
	r.buf = append(r.buf, '}', '\n')
	_, err = r.w.Write(r.buf)
	return err
}

// flush sends the added records. It fails if the client has disconnected.
func (r *records) flush() error { return r.w.Flush() }

// stream sends records. fn runs after the handler, until it returns, the client disconnects, or
// the server stops; its error, if it is for the client, becomes the last line.
func (a *API) stream(c *call, fn func(ctx context.Context, r *records) error) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.Context().Response.ImmediateHeaderFlush = true
	path := c.Path()
	ctx, done := a.openAnswers.follow(a.stopping, c)
	a.streamTo(c, func(w *bufio.Writer) {
		defer done()
		err := a.caught("a stream panicked", path, func() error { return fn(ctx, &records{w: w}) })
		if why := refused(ctx); why != nil {
			err = why
		} else if err == nil || ctx.Err() != nil {
			return
		}
		code := fault.CodeOf(err)
		message := err.Error()
		if code == fault.Internal {
			a.log.Error("a stream failed", "path", path, "error", err)
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

// streamTo sends what fn writes after the handler. fn runs in its own goroutine outside of
// guard: here a panic ends only this stream, not the master.
func (a *API) streamTo(c *call, fn func(w *bufio.Writer)) {
	path := c.Path()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		_ = a.caught("a stream panicked", path, func() error { // caught has logged it
			fn(w)
			return nil
		})
	})
}

// caught converts a panic to an error, and logs its stack. Work that continues after its
// request's handler runs in caught.
func (a *API) caught(message, path string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error(message, "path", path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			a.meters.panicked()
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
