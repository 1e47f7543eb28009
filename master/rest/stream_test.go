package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A panic in a stream ends that stream, and the master continues.
func TestAPanicInAStream(t *testing.T) {
	r := newRig(t)
	r.Handle(http.MethodGet, "/test/records", func(c *Call) error {
		return c.Stream(func(_ context.Context, out *Records) error {
			if err := errors.Join(out.Add(struct{}{}), out.Flush()); err != nil {
				return err
			}
			panic("oh no, records")
		})
	})
	r.Handle(http.MethodGet, "/test/events", func(c *Call) error {
		c.StreamTo(func(w *bufio.Writer) {
			_, _ = w.WriteString(":\n\n")
			panic("oh no, events")
		})
		return nil
	})
	r.serve()
	for path, says := range map[string]string{"/test/records": "Internal error", "/test/events": ":\n\n"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || !strings.Contains(string(body), says) {
			t.Errorf("%s: %d %q: %v", path, resp.StatusCode, body, err)
		}
	}
	for _, says := range []string{"oh no, records", "oh no, events", "stream_test.go"} {
		if !strings.Contains(r.log.String(), says) {
			t.Errorf("the log does not say %q", says)
		}
	}
}

// oneBreaks is a body that panics while it is read, or when it is closed.
type oneBreaks struct {
	io.Reader
	read, close bool
	closed      *atomic.Int32
}

func (o oneBreaks) Read(p []byte) (int, error) {
	if o.read {
		panic("oh no, reader")
	}
	return o.Reader.Read(p)
}

func (o oneBreaks) Close() error {
	o.closed.Add(1)
	if o.close {
		panic("oh no, closer")
	}
	return nil
}

// A panic of what an answer is read from, or when it is closed, breaks that answer off
// alone; the reader is closed, the panic is logged and counted.
func TestAPanicWhileAnAnswerIsSent(t *testing.T) {
	r := newRig(t)
	var closed atomic.Int32
	for path, body := range map[string]oneBreaks{"/reads": {read: true, closed: &closed}, "/closes": {close: true, closed: &closed},
		"/both": {read: true, close: true, closed: &closed}, "/fine": {closed: &closed}} {
		r.Handle(http.MethodGet, path, func(c *Call) error {
			body.Reader = strings.NewReader("all of it")
			c.SendFrom(body, -1)
			return nil
		})
	}
	r.serve()
	ask := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(resp.Body)
		return string(body), errors.Join(err, resp.Body.Close())
	}
	for _, path := range []string{"/reads", "/both"} {
		if body, err := ask(path); err == nil {
			t.Errorf("%s: an answer that broke off looks whole: %q", path, body)
		}
	}
	for _, path := range []string{"/closes", "/fine"} {
		if body, err := ask(path); body != "all of it" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
	r.client.CloseIdleConnections()
	r.close() // every answer is done with
	if n := closed.Load(); n != 4 {
		t.Errorf("%d of 4 readers were closed", n)
	}
	for _, says := range []string{"oh no, reader", "oh no, closer", "stream_test.go"} {
		if !strings.Contains(r.log.String(), says) {
			t.Errorf("the log does not say %q", says)
		}
	}
	var counted bytes.Buffer
	r.WriteMetrics(&counted)
	if !strings.Contains(counted.String(), "det_api_panics_total 4\n") {
		t.Errorf("the panics are not counted: %s", counted.String())
	}
}

// lent is a connection as fiber hands it out: it is another one's when this one has ended.
type lent struct{ net.Conn }

func (l *lent) UnsafeConn() net.Conn { return l.Conn }

// TestATakenConnectionIsKeptTooLong: code that uses a hijacked connection after its end neither crashes
// the master nor reaches another connection.
func TestATakenConnectionIsKeptTooLong(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	_, another := net.Pipe()
	defer another.Close()
	conn := &lent{server}
	w := &hijackable{conn: make(chan net.Conn, 1), released: make(chan struct{})}
	over := make(chan struct{})
	go func() { w.serveHijacked(conn); close(over) }()
	kept := <-w.conn
	reading := make(chan error, 1)
	go func() {
		_, err := kept.Read(make([]byte, 1))
		reading <- err
	}()
	close(w.released)
	<-over
	if err := <-reading; err == nil {
		t.Error("a read that had begun does not end")
	}
	for _, next := range []net.Conn{nil, another} {
		conn.Conn = next
		_, readErr := kept.Read(make([]byte, 1))
		_, writeErr := kept.Write([]byte("x"))
		if readErr == nil || writeErr == nil {
			t.Errorf("the connection can still be read (%v) or written (%v)", readErr, writeErr)
		}
		_ = kept.SetDeadline(time.Now())
		_ = kept.Close()
	}
	if err := another.SetDeadline(time.Now()); err != nil {
		t.Errorf("another connection was closed: %v", err)
	}
}
