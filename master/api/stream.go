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

// records writes a stream of messages, one JSON object per line: {"result":…}.
// A record and its newline go out in one chunk, because clients read by lines and
// would otherwise see each record when the next one comes.
type records struct {
	w   *bufio.Writer
	buf []byte
}

// add writes a record that leaves with the next flush.
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

// flush sends what was added. It fails once the client has gone.
func (r *records) flush() error { return r.w.Flush() }

// stream answers with records. fn runs after the handler, until it returns, the
// client goes, or the server stops; its error, if it has one to tell, becomes the
// last line.
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
			_, _ = w.Write(append(last, '\n')) // the client may be what failed
		}
	})
	return nil
}

// streamTo answers with what fn writes after the handler. That runs in a goroutine of
// its own, which guard does not stand before: a panic there ends this stream, and not
// the master.
func (a *API) streamTo(c *call, fn func(w *bufio.Writer)) {
	path := c.Path()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		_ = a.caught("a stream panicked", path, func() error { // it is in the log
			fn(w)
			return nil
		})
	})
}

// caught makes an error of a panic, and logs its stack. What goes on after its request's
// handler is run by it.
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

// streamError is the line that ends a stream that failed.
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
