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

// A Policy decides how a request may be repeated.
type Policy struct {
	// Replay allows repeating the request although a master may have executed it.
	Replay bool
	// Hold is the maximum time until a master answers; 0 means one try at each master.
	Hold time.Duration
	// Patience is how long one master may take to begin its response before another is asked; 0
	// means as long as the connection exists. It needs Replay.
	Patience time.Duration
	// TakeStatus returns responses such as 503 instead of repeating the request.
	TakeStatus bool
}

// ErrSilent means that the master received the request and did not begin to answer in time.
var ErrSilent = errors.New("the master did not answer")

// Send sends a request to any master that answers. The request's URL has path and query; body
// opens its content for each try, nil for none. If no master answered in time, the error is the
// last one; a response with status 502, 503 or 504 is returned unchanged then.
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

// unavailable reports responses that mean "not now".
func unavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// discard allows the reuse of the connection of an unused response.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// try sends the request to one master. sent reports whether any part of it was sent.
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
	unwatch := func() {}
	if p.Replay {
		unwatch = l.watch(ctx, base, cancel)
	}
	resp, err := l.transport.RoundTrip(out)
	if unwatch(); err == nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
		_ = resp.Body.Close()
	}
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

// An endingBody releases the resources of its request when it is closed.
type endingBody struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (b *endingBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}

// An upgradedBody is the connection after a 101.
type upgradedBody struct {
	*endingBody
	io.Writer
}
