package masters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// A Policy says how far a request may be repeated.
type Policy struct {
	// Replay allows sending it again although a master may have acted on it.
	Replay bool
	// Hold is how long it may take until some master answers; 0 means one round
	// through all masters.
	Hold time.Duration
	// Patience is how long one master may take to begin its answer before
	// another is asked; 0 means as long as its connection lives. It needs Replay.
	Patience time.Duration
	// TakeStatus hands on answers like 503 instead of repeating the request.
	TakeStatus bool
}

// ErrSilent is why a try was given up: the master took the request and did not
// begin to answer.
var ErrSilent = errors.New("the master did not answer")

// Send sends a request to whichever master answers. The request's URL carries
// path and query; body opens its content anew for each try, nil for none. The
// error is the last one seen when no master answered in time; an answer that
// says 502, 503 or 504 is handed on as it is then.
func (l *List) Send(req *http.Request, body func() (io.ReadCloser, error), p Policy) (*http.Response, error) {
	ctx := req.Context()
	deadline := time.Now().Add(p.Hold)
	for tries := 0; ; tries++ {
		base, known := l.pick()
		release := func() {}
		if tries > 0 {
			release = l.turn(ctx)
			base, known = l.pick()
		}
		var resp *http.Response
		var sent bool
		err := errors.New("no master is known yet: the file that DET_MASTERS_FILE names is empty or missing")
		if base != nil {
			resp, sent, err = l.try(req, base, body, p)
		}
		release()
		if ctx.Err() != nil {
			discard(resp)
			return nil, context.Cause(ctx)
		}
		if err == nil && (p.TakeStatus || !unavailable(resp.StatusCode)) {
			l.ok(base)
			return resp, nil
		}
		if base != nil {
			l.failed(base)
		}
		again := p.Replay || !sent || (err == nil && resp.StatusCode == http.StatusServiceUnavailable)
		lastOfRound := tries+1 >= known
		if !again || (lastOfRound && !time.Now().Before(deadline)) {
			return resp, err
		}
		discard(resp)
		if !lastOfRound {
			continue
		}
		if err := l.pause(ctx, tries+1-known); err != nil {
			return nil, err
		}
	}
}

// unavailable tells the answers that mean "not now".
func unavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// discard lets the connection of an unwanted answer be used again.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// try sends the request to one master. sent says whether any of it left.
func (l *List) try(req *http.Request, base *url.URL, body func() (io.ReadCloser, error), p Policy) (*http.Response, bool, error) {
	var sent atomic.Bool
	ctx, cancel := context.WithCancelCause(req.Context())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	out := req.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host = base.Scheme, base.Host, base.Host
	out.URL.Path = base.Path + req.URL.Path
	if req.URL.RawPath != "" {
		out.URL.RawPath = base.EscapedPath() + req.URL.RawPath
	}
	out.RequestURI = ""
	out.Body = http.NoBody
	if body != nil {
		content, err := body()
		if err != nil {
			cancel(err)
			return nil, false, err
		}
		out.Body = content
	}
	var timer *time.Timer
	if p.Patience > 0 && p.Replay {
		timer = time.AfterFunc(p.Patience, func() {
			cancel(fmt.Errorf("%s: %w within %s", base.Host, ErrSilent, p.Patience))
		})
	}
	resp, err := l.transport.RoundTrip(out)
	if timer != nil && !timer.Stop() && err == nil {
		err = context.Cause(ctx)
		_ = resp.Body.Close()
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(err)
		return nil, sent.Load(), err
	}
	ending := &endingBody{ReadCloser: resp.Body, end: cancel}
	resp.Body = ending
	if raw, ok := ending.ReadCloser.(io.ReadWriteCloser); ok {
		resp.Body = &upgradedBody{endingBody: ending, Writer: raw}
	}
	return resp, true, nil
}

// An endingBody frees what belonged to its request when it is closed.
type endingBody struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (b *endingBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}

// An upgradedBody is the connection that a 101 hands over.
type upgradedBody struct {
	*endingBody
	io.Writer
}
