package api

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

// hijack lets an http.Handler answer a request: its answer is streamed, and it
// may take the connection over. The request was read once, by fiber; the handler
// sees what was read.
//
// The handler runs beside the one that calls this, which goes on when the head of
// the answer is known and the body of the request is used up: fiber then writes
// the answer while the handler still produces it.
func (a *API) hijack(c *fiber.Ctx, h http.Handler) error {
	ctx, cancel := context.WithCancelCause(a.stopping)
	w := &hijackable{header: http.Header{}, decided: make(chan struct{}), conn: make(chan net.Conn, 1), cancel: cancel}
	r, body, err := a.requestOf(ctx, c)
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
		c.Context().HijackSetNoResponse(true)
		c.Context().Hijack(w.serveHijacked)
		return nil
	}
	if !body.wait(bodyTimeout) {
		// The program has answered, the client goes on sending, and somebody waits for
		// it: that ends with the connection.
		cancel(errDisconnected)
		_ = c.Context().Conn().Close()
		body.giveUp()
		c.Context().SetConnectionClose()
		return nil
	}
	if body.whole() && c.Request().CloseBodyStream() != nil { // it must not be read past its end
		c.Context().SetConnectionClose()
	}
	go cancelOnDisconnect(ctx, c.Context().Conn(), func() { cancel(errDisconnected) })
	w.answer(a, c)
	return nil
}

// bodyTimeout is how long a client may go on sending a body after the answer to it
// has begun.
const bodyTimeout = 30 * time.Second

// requestOf is a request as net/http has it.
func (a *API) requestOf(ctx context.Context, c *fiber.Ctx) (*http.Request, *body, error) {
	in := c.Request()
	u, err := url.ParseRequestURI(string(in.Header.RequestURI()))
	if err != nil {
		return nil, nil, fiber.NewError(fiber.StatusBadRequest, "the address cannot be read")
	}
	ctx = context.WithValue(ctx, http.ServerContextKey, &http.Server{}) // so that an answer that breaks off is a panic, not an end
	r := (&http.Request{Method: c.Method(), URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Host: string(in.Host()), RequestURI: string(in.Header.RequestURI()), RemoteAddr: c.Context().RemoteAddr().String()}).WithContext(ctx)
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
	case r.ContentLength < 0 && r.ContentLength != -1: // identity: a request without a length has no body
		r.ContentLength = 0
	case r.ContentLength == -1:
		r.TransferEncoding = []string{"chunked"}
	}
	if from := a.arrivalOf(c); from != nil && r.ContentLength != 0 {
		from.anyRate = true // it holds nothing but its own connection
		b.from = from
	} else {
		b.giveUp()
		r.Body = http.NoBody
	}
	return r, b, nil
}

// A body is that of a request. The handler's own helpers may read it for longer
// than the handler runs, but never once it is over: then it is fiber's again.
type body struct {
	from io.Reader
	mu   sync.Mutex // held while somebody reads
	over bool
	err  error         // of reading when it is over
	done chan struct{} // closed when it is over
	shut atomic.Bool   // nobody wants the rest
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

// Close says that nobody wants the rest. It does not wait for who reads.
func (b *body) Close() error {
	b.shut.Store(true)
	if b.mu.TryLock() {
		b.end(http.ErrBodyReadAfterClose)
		b.mu.Unlock()
	}
	return nil
}

// end needs the lock.
func (b *body) end(err error) {
	if !b.over {
		b.over, b.err = true, err
		close(b.done)
	}
}

// wait waits until it is over.
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

// whole tells whether it was read to its end.
func (b *body) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.from != nil && errors.Is(b.err, io.EOF)
}

// giveUp makes it over as soon as who reads has stopped.
func (b *body) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(http.ErrBodyReadAfterClose)
}

// hijackable is the handler's side of an answer.
type hijackable struct {
	header   http.Header
	status   int
	sent     http.Header // as it was when the head was decided
	once     sync.Once
	decided  chan struct{} // closed when the head is known, or the connection taken
	hijacked bool
	conn     chan net.Conn
	released chan struct{}
	in       *io.PipeWriter
	out      *io.PipeReader
	cancel   context.CancelCauseFunc
}

// run calls the handler; a panic of it is the error of its answer.
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
	_ = w.in.CloseWithError(err) // nil is the end in order
	if w.released != nil {
		close(w.released)
	}
}

// Header is the head of the answer, until it is written.
func (w *hijackable) Header() http.Header { return w.header }

// WriteHeader decides the head.
func (w *hijackable) WriteHeader(status int) {
	if status < 200 { // what only says that more will come
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

// Flush decides the head; what was written is sent already.
func (w *hijackable) Flush() { w.WriteHeader(http.StatusOK) }

// Hijack takes the connection over.
func (w *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	first := false
	w.once.Do(func() {
		first, w.hijacked, w.released = true, true, make(chan struct{})
		close(w.decided)
	})
	if !first {
		return nil, nil, errors.New("the answer has begun")
	}
	conn := <-w.conn
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}

// serveHijacked gives the connection to the handler, and stays for as long as that runs:
// the connection is closed when this returns.
func (w *hijackable) serveHijacked(conn net.Conn) {
	t := hijackedFrom(conn)
	w.conn <- t
	<-w.released
	t.end()
}

// answer puts the head into fiber's answer, and the body behind it.
func (w *hijackable) answer(a *API, c *fiber.Ctx) {
	resp := c.Response()
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
		length = -1 // it ends when it ends
	}
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		_ = w.out.Close()
		return
	}
	a.sendFrom(c, &answerBody{w.out, w.cancel}, length)
}

// answerBody ends the request when nobody reads the answer any more.
type answerBody struct {
	io.Reader
	cancel context.CancelCauseFunc
}

// Close is called when the answer is written, or its reader is gone.
func (b *answerBody) Close() error {
	b.cancel(errDisconnected)
	return b.Reader.(io.Closer).Close()
}

// hijackedConn is a connection that was taken over. What fiber hands out has no halves, closes
// nothing, and is another connection's once this one is over; a handler's helpers may
// hold on to it for longer than that, so they hold the connection itself.
type hijackedConn struct {
	net.Conn
	mu   sync.Mutex // held while somebody reads
	from io.Reader  // with what fiber has read ahead; nil when it is fiber's again
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

// end closes the connection, and returns when nobody reads from it any more.
func (t *hijackedConn) end() {
	_ = t.Close()
	t.mu.Lock()
	t.from = nil
	t.mu.Unlock()
}

// CloseWrite ends what is sent.
func (t *hijackedConn) CloseWrite() error {
	if h, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return t.Close()
}
