package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// Limits of what the old master may answer, whatever it is.
const (
	maxAnswer  = 256 << 20       // bytes of an answer; the largest is the code of an experiment, in base64
	maxLine    = 32 << 20        // bytes of a line of a stream
	maxRecords = 20_000_000      // of one list or stream
	maxTries   = 6               // of a request that the old master puts off
	silence    = 2 * time.Minute // without a byte
)

// bounded is a transport that ends answers that are too large, and requests on which the old master does not say anything any more. It waits where the
// old master asks for that.
type bounded struct {
	next    http.RoundTripper
	answer  int64 // bytes of an answer that is no stream
	line    int64
	silence time.Duration
	wait    func(context.Context, time.Duration) error
}

func newBounded() *bounded {
	return &bounded{next: http.DefaultTransport.(*http.Transport).Clone(), answer: maxAnswer, line: maxLine, silence: silence, wait: sleep.For}
}

// CloseIdleConnections closes those to the old master, which would wait for them when it stops.
func (b *bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends a request.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := b.once(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || try == maxTries || r.Body != nil && r.GetBody == nil {
			return resp, err
		}
		pause := time.Duration(try) * time.Second
		if secs, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && secs > 0 {
			pause = min(time.Duration(secs)*time.Second, time.Minute)
		}
		_ = resp.Body.Close()
		if err := b.wait(r.Context(), pause); err != nil {
			return nil, err
		}
		if r.Body != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = body
		}
	}
}

func (b *bounded) once(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(b.silence, func() { cancel(fmt.Errorf("no byte within %s", b.silence)) })
	resp, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		cause := context.Cause(ctx)
		cancel(nil)
		if cause != nil && r.Context().Err() == nil {
			return nil, cause
		}
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, bounds: b, path: r.URL.Path, stream: isStream(r.URL.Path)}
	return resp, nil
}

// isStream reports whether the answer is a stream of lines, which may be as long as it likes.
func isStream(path string) bool {
	return strings.HasSuffix(path, "/logs") || strings.Contains(path, "/trials/metrics/")
}

// A boundedBody is the body of an answer.
type boundedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	bounds *bounded
	path   string
	stream bool
	n      int64 // bytes of the answer, or since the last line of a stream ended
}

// Read reads a part of the body.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.bounds.silence)
	}
	most, what := b.bounds.answer, "an answer"
	b.n += int64(n)
	if b.stream {
		most, what = b.bounds.line, "a line"
		if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
			b.n = int64(n - i - 1)
		}
	}
	if b.n > most {
		return 0, fault.New(fault.TooLarge, "%s: the old master sends %s of more than %d KiB", b.path, what, most>>10)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// Close ends the request.
func (b *boundedBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
