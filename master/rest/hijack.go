package rest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Hijack lets an http.Handler answer a request: its response is streamed, and it may hijack the
// connection. fiber has read the request; the handler sees the same request.
//
// The handler runs in its own goroutine. Hijack returns when the header of the response is
// known and the body of the request was read: fiber then writes the response while the handler
// still produces it.
func (c *Call) Hijack(h http.Handler) error {
	ctx, cancel := context.WithCancelCause(c.router.stopping)
	w := &hijackable{header: http.Header{}, decided: make(chan struct{}), conn: make(chan net.Conn, 1), cancel: cancel}
	r, body, err := c.request(ctx)
	if err != nil {
		cancel(nil)
		return err
	}
	w.out, w.in = io.Pipe()
	go func() {
		err := w.run(h, r)
		_ = body.Close()
		w.finish(err)
		cancel(nil)
	}()
	<-w.decided
	if w.hijacked {
		c.ctx.Context().HijackSetNoResponse(true)
		c.ctx.Context().Hijack(w.serveHijacked)
		return nil
	}
	if !body.wait(bodyTimeout) {
		// The program has answered and the client still sends: the response is sent meanwhile,
		// and the body ends with the connection.
		cancel(ErrDisconnected)
		_ = c.Conn().Close()
		body.giveUp()
		c.ctx.Context().SetConnectionClose()
		return nil
	}
	if body.whole() && c.ctx.Request().CloseBodyStream() != nil { // the body must not be read past its end
		c.ctx.Context().SetConnectionClose()
	}
	go cancelOnDisconnect(ctx, c.Conn(), func() { cancel(ErrDisconnected) })
	w.answer(c)
	return nil
}

// bodyTimeout is how long a client may continue to send a body after its response has begun.
const bodyTimeout = 30 * time.Second

// request converts a request to net/http.
func (c *Call) request(ctx context.Context) (*http.Request, *body, error) {
	in := c.ctx.Request()
	u, err := url.ParseRequestURI(string(in.Header.RequestURI()))
	if err != nil {
		return nil, nil, fiber.NewError(fiber.StatusBadRequest, "cannot parse the URL")
	}
	ctx = context.WithValue(ctx, http.ServerContextKey, &http.Server{}) // so that an incomplete response causes a panic
	r := (&http.Request{Method: c.Method(), URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Host: string(in.Host()), RequestURI: string(in.Header.RequestURI()), RemoteAddr: c.ctx.Context().RemoteAddr().String()}).WithContext(ctx)
	in.Header.VisitAll(func(key, value []byte) {
		switch name := http.CanonicalHeaderKey(string(key)); name {
		case "Host", "Content-Length", "Transfer-Encoding":
		default:
			r.Header.Add(name, string(value))
		}
	})
	b := &body{done: make(chan struct{})}
	r.Body, r.ContentLength = b, int64(in.Header.ContentLength())
	switch {
	case r.ContentLength < 0 && r.ContentLength != -1: // a request without a length has no body
		r.ContentLength = 0
	case r.ContentLength == -1:
		r.TransferEncoding = []string{"chunked"}
	}
	if from := c.arriving(); from != nil && r.ContentLength != 0 {
		from.anyRate = true // the request uses only its own connection
		b.from = from
	} else {
		b.giveUp()
		r.Body = http.NoBody
	}
	return r, b, nil
}

// A body is the body of a request. The handler's goroutines may read it longer than the handler
// runs, but not after it has ended: then fiber reuses it.
type body struct {
	from io.Reader
	mu   sync.Mutex // held during a read
	over bool
	err  error         // of reads after the end
	done chan struct{} // closed at the end
	shut atomic.Bool   // the rest is not needed
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	switch {
	case err != nil:
		b.end(err)
	case b.shut.Load():
		b.end(http.ErrBodyReadAfterClose)
	}
	return n, err
}

// Close declares that the rest is not needed. It does not wait for a read in progress.
func (b *body) Close() error {
	b.shut.Store(true)
	if b.mu.TryLock() {
		b.end(http.ErrBodyReadAfterClose)
		b.mu.Unlock()
	}
	return nil
}

// end must be called with the lock held.
func (b *body) end(err error) {
	if !b.over {
		b.over, b.err = true, err
		close(b.done)
	}
}

// wait waits until the body has ended.
func (b *body) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.done:
		return true
	case <-t.C:
		return false
	}
}

// whole reports whether the body was read to its end.
func (b *body) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.from != nil && errors.Is(b.err, io.EOF)
}

// giveUp ends the body as soon as the read in progress returns.
func (b *body) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(http.ErrBodyReadAfterClose)
}

// hijackable is the handler's side of a response.
type hijackable struct {
	header   http.Header
	status   int
	sent     http.Header // the final header
	once     sync.Once
	decided  chan struct{} // closed when the header is final, or the connection hijacked
	hijacked bool
	conn     chan net.Conn
	released chan struct{}
	in       *io.PipeWriter
	out      *io.PipeReader
	cancel   context.CancelCauseFunc
}

// run calls the handler; a panic becomes the error of its response.
func (w *hijackable) run(h http.Handler, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = http.ErrAbortHandler
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

func (w *hijackable) finish(err error) {
	if err != nil {
		w.once.Do(func() { w.status, w.sent = http.StatusBadGateway, http.Header{}; close(w.decided) })
	}
	w.WriteHeader(http.StatusOK)
	_ = w.in.CloseWithError(err) // nil: the normal end
	if w.released != nil {
		close(w.released)
	}
}

// Header is the header of the response, until it is written.
func (w *hijackable) Header() http.Header { return w.header }

// WriteHeader makes the header final.
func (w *hijackable) WriteHeader(status int) {
	if status < 200 { // informational responses
		return
	}
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.decided)
	})
}

// Write sends a part of the body.
func (w *hijackable) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.hijacked {
		return 0, http.ErrHijacked
	}
	return w.in.Write(p)
}

// Flush makes the header final; the body is sent without buffering.
func (w *hijackable) Flush() { w.WriteHeader(http.StatusOK) }

// Hijack hijacks the connection.
func (w *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	first := false
	w.once.Do(func() {
		first, w.hijacked, w.released = true, true, make(chan struct{})
		close(w.decided)
	})
	if !first {
		return nil, nil, errors.New("the response has already begun")
	}
	conn := <-w.conn
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}

// serveHijacked passes the connection to the handler, and returns when the handler has ended:
// the connection is then closed.
func (w *hijackable) serveHijacked(conn net.Conn) {
	t := hijackedFrom(conn)
	w.conn <- t
	<-w.released
	t.end()
}

// answer writes the header and then the body to fiber's response.
func (w *hijackable) answer(c *Call) {
	resp := c.ctx.Response()
	resp.ImmediateHeaderFlush = true
	resp.Header.SetNoDefaultContentType(true)
	for name, values := range w.sent {
		if name == "Content-Length" {
			continue
		}
		for _, v := range values {
			resp.Header.Add(name, v)
		}
	}
	c.Status(w.status)
	length, err := strconv.Atoi(w.sent.Get("Content-Length"))
	if err != nil || length < 0 {
		length = -1 // unknown length
	}
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		_ = w.out.Close()
		return
	}
	c.SendFrom(&answerBody{w.out, w.cancel}, length)
}

// answerBody ends the request when its response is no longer read.
type answerBody struct {
	io.Reader
	cancel context.CancelCauseFunc
}

// Close is called when the response was written, or its reader has ended.
func (b *answerBody) Close() error {
	b.cancel(ErrDisconnected)
	return b.Reader.(io.Closer).Close()
}

// hijackedConn is a hijacked connection. It uses the connection below fiber's, because fiber's cannot be half-closed,
// its Close does nothing, and fiber reuses it after the handler, when goroutines of the handler may still use the
// connection.
type hijackedConn struct {
	net.Conn
	mu   sync.Mutex // held during a read
	from io.Reader  // includes the bytes that fiber has buffered; nil after the end
}

func hijackedFrom(conn net.Conn) *hijackedConn {
	t := &hijackedConn{Conn: conn, from: conn}
	if u, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		t.Conn = u.UnsafeConn()
	}
	return t
}

func (t *hijackedConn) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.from == nil {
		return 0, net.ErrClosed
	}
	return t.from.Read(p)
}

// end closes the connection, and returns when no goroutine reads from it any more.
func (t *hijackedConn) end() {
	_ = t.Close()
	t.mu.Lock()
	t.from = nil
	t.mu.Unlock()
}

// CloseWrite closes the sending direction.
func (t *hijackedConn) CloseWrite() error {
	if h, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return t.Close()
}
