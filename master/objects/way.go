package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Limits of one response of a store: the SDK reads responses into memory, except objects, and
// makes a value of each element of a page. A page has at most a thousand keys of 1,024 bytes,
// each of which has a dozen elements.
const (
	maxAnswer = 8 << 20
	maxMarks  = 64 << 10
	maxError  = 64 << 10
	maxHeader = 256 << 10
)

var errTooLong = errors.New("the object store's answer is too large")

// A way is the HTTP client of one store. It follows no redirects: the store may be a user's
// server, which must not reach the network of the caller.
type way struct{ http.Client }

func newWay(transport *http.Transport) *way {
	transport.MaxResponseHeaderBytes = maxHeader
	return &way{http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close closes idle connections.
func (w *way) Close() { w.CloseIdleConnections() }

// answers is a way for calls whose responses are read into memory.
type answers struct{ *way }

func (a answers) Do(r *http.Request) (*http.Response, error) {
	resp, err := a.way.Do(r)
	if err != nil {
		return nil, err
	}
	most := maxAnswer
	if resp.StatusCode/100 != 2 {
		most = maxError
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: most, marks: maxMarks}
	return resp, nil
}

// contents is a way for objects of any size.
type contents struct{ *way }

func (c contents) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.way.Do(r)
	if err == nil && resp.StatusCode/100 != 2 {
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxError, marks: maxMarks}
	}
	return resp, err
}

// bounded is a body that fails when it is too long, or has too many elements or attributes of
// XML or JSON.
type bounded struct {
	io.ReadCloser
	left, marks int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	for _, mark := range []byte("<={[") {
		b.marks -= bytes.Count(p[:n], []byte{mark})
	}
	if b.left < 0 || b.marks < 0 {
		return 0, errTooLong
	}
	return n, err
}

// content is an object that is being read. A timeout without data ends it.
type content struct {
	io.ReadCloser
	silent *time.Timer // cancels the request; it runs during reads
	within time.Duration
	cancel context.CancelCauseFunc
	late   func() error
}

func (c *content) Read(p []byte) (int, error) {
	c.silent.Reset(c.within)
	n, err := c.ReadCloser.Read(p)
	c.silent.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		if late := c.late(); late != nil {
			err = late
		}
	}
	return n, err
}

func (c *content) Close() error {
	c.silent.Stop()
	defer c.cancel(nil)
	return c.ReadCloser.Close()
}
