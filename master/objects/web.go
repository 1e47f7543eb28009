package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// A call that failed for a temporary reason is repeated, as in AWS's library: three tries in
// total.
const (
	tries = 3
	pause = 200 * time.Millisecond // before the second try; each later pause is twice as long
)

// A web is the client of a store with plain HTTP.
type web struct {
	*way
	// sign adds credentials to a request, after all other headers; nil: no credentials.
	sign func(*http.Request) error
	// words finds the message of an error in the body of a response.
	words func(header http.Header, body []byte) string
}

func newWeb() web {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // objects are returned as they are stored
	return web{way: newWay(transport)}
}

// A refusal is a response with an error status.
type refusal struct {
	status int
	said   string
}

func (r *refusal) Error() string { return strings.TrimSpace(fmt.Sprintf("%d %s", r.status, r.said)) }

// passes reports whether another try may succeed.
func (r *refusal) passes() bool {
	return r.status/100 == 5 || r.status == http.StatusTooManyRequests || r.status == http.StatusRequestTimeout
}

// doer is answers or contents.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// call makes a call, and repeats it after temporary failures. The response has a status of
// success.
func (w *web) call(ctx context.Context, method, address string, header http.Header, by doer) (*http.Response, error) {
	return w.callWith(ctx, method, address, header, nil, by)
}

// send makes a call with a body, whose response does not matter.
func (w *web) send(ctx context.Context, method, address string, header http.Header, body *io.SectionReader) error {
	resp, err := w.callWith(ctx, method, address, header, body, answers{w.way})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func (w *web) callWith(ctx context.Context, method, address string, header http.Header, content *io.SectionReader, by doer) (*http.Response, error) {
	for n := 1; ; n++ {
		resp, err := w.once(ctx, method, address, header, content, by)
		if err == nil {
			return resp, nil
		}
		var said *refusal
		var known *fault.Fault
		if n == tries || errors.As(err, &known) || errors.As(err, &said) && !said.passes() {
			return nil, err
		}
		if sleep.For(ctx, pause<<(n-1)) != nil {
			return nil, err
		}
	}
}

func (w *web) once(ctx context.Context, method, address string, header http.Header, content *io.SectionReader, by doer) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return nil, bare(err)
	}
	if content != nil && content.Size() > 0 {
		req.Body, req.ContentLength = io.NopCloser(io.NewSectionReader(content, 0, content.Size())), content.Size()
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if w.sign != nil {
		if err := w.sign(req); err != nil {
			return nil, err
		}
	}
	resp, err := by.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	body, _ := io.ReadAll(resp.Body) // bounded; may be incomplete
	_ = resp.Body.Close()
	return nil, &refusal{status: resp.StatusCode, said: fault.ClipTo(strings.TrimSpace(w.words(resp.Header, body)), maxText)}
}

// bare is an error of HTTP without the address, which may contain a token.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// fault converts an error of the store.
func (w *web) fault(err error, what, remedy string) error {
	var said *refusal
	if !errors.As(err, &said) {
		return noAnswer(err, what)
	}
	switch {
	case said.status/100 == 3:
		return elsewhere(err, what, said.status)
	case said.status == http.StatusNotFound:
		return fault.Wrap(fault.NotFound, err, "there is no %s", what)
	case said.status == http.StatusUnauthorized, said.status == http.StatusForbidden:
		return fault.Wrap(fault.Unavailable, err, "the store rejects these credentials for %s (%s)%s", what, said, remedy)
	case said.passes():
		return fault.Wrap(fault.Unavailable, err, "the object store failed for %s: %s", what, said)
	}
	return fault.Wrap(fault.Invalid, err, "the object store rejects %s: %s", what, said)
}

// fetch makes a call, and reads the whole response, whose size is limited.
func (w *web) fetch(ctx context.Context, method, address string, header http.Header) ([]byte, error) {
	resp, err := w.call(ctx, method, address, header, answers{w.way})
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	return text, errors.Join(err, resp.Body.Close())
}

// contentOf is the object in a response.
func contentOf(resp *http.Response, key string) (io.ReadCloser, Object, error) {
	modified, _ := http.ParseTime(resp.Header.Get("Last-Modified")) // zero if the store sends none
	return resp.Body, Object{Key: key, Size: resp.ContentLength, Modified: modified}, nil
}
