package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// A call is one request. A path that begins with a noun lies under /api/v1; one
// that begins with // stands beside it and loses a slash.
type call struct {
	method   string
	path     string
	query    url.Values
	in       any    // a message of the wire, or nil
	body     []byte // in its place, when it is encoded already
	accept   string
	repeat   repeatable
	progress func(sent int64) // told how much of the body has been sent
}

// do makes a call and decodes its answer into out, which may be nil.
func (c *Client) do(ctx context.Context, k call, out any) error {
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return c.lost(ctx, err)
	}
	if out == nil {
		return nil
	}
	if err := v1.Unmarshal(data, out); err != nil {
		return fault.New(fault.Internal, "%s is not a Detent or Determined master: %s %s: %w", c.base, k.method, k.path, err)
	}
	return nil
}

// get reads a message.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.do(ctx, call{method: http.MethodGet, path: path, query: query, repeat: safely}, out)
}

// post sends one that must not be sent twice.
func (c *Client) post(ctx context.Context, path string, in, out any) error {
	return c.do(ctx, call{method: http.MethodPost, path: path, in: in}, out)
}

// say sends one whose repetition changes nothing: kill, pause, archive.
func (c *Client) say(ctx context.Context, path string) error {
	return c.do(ctx, call{method: http.MethodPost, path: path, repeat: safely}, nil)
}

func (c *Client) patch(ctx context.Context, path string, in, out any) error {
	return c.do(ctx, call{method: http.MethodPatch, path: path, in: in, repeat: safely}, out)
}

// send makes the request, again where that is right, and returns an answer below
// 300 whose body the caller closes.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	if k.in != nil {
		body, err := v1.Marshal(k.in)
		if err != nil {
			return nil, err
		}
		k.body = body
	}
	wait := newBackoff(c.opts.Patience)
	refreshed := false
	for {
		token := c.Token()
		resp, err := c.try(ctx, k, token)
		if err == nil {
			return resp, nil
		}
		if fault.Is(err, fault.Unauthenticated) && c.opts.Refresh != nil && !refreshed && k.repeat != byNothing {
			refreshed = true
			fresh, rerr := c.opts.Refresh(ctx, token)
			if rerr != nil {
				return nil, rerr
			}
			c.setToken(fresh)
			continue
		}
		if !c.again(err, k.repeat) || !wait.pause(ctx, retryAfter(resp), c.tell(err)) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err
		}
	}
}

// try makes the request once. With an error the response, if any, is closed and
// good for its headers only.
func (c *Client) try(ctx context.Context, k call, token string) (*http.Response, error) {
	req, err := c.request(ctx, k, token)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	c.reached.Store(true)
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return resp, c.refusal(req, resp)
}

func (c *Client) request(ctx context.Context, k call, token string) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
		if k.progress != nil {
			body = &counter{r: body, tell: k.progress}
		}
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.url(k.path, k.query), body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot ask for %q: %w", k.path, err)
	}
	if k.body != nil {
		req.ContentLength = int64(len(k.body))
		req.Header.Set("Content-Type", "application/json")
	}
	if k.accept != "" {
		req.Header.Set("Accept", k.accept)
	}
	if c.opts.UserAgent != "" {
		req.Header.Set("User-Agent", c.opts.UserAgent)
	}
	switch {
	case c.opts.TaskToken != "":
		req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+c.opts.TaskToken)
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

func (c *Client) url(path string, query url.Values) string {
	u := c.base
	if len(path) > 1 && path[0] == '/' && path[1] == '/' {
		u += path[1:]
	} else {
		u += "/api/v1" + path
	}
	if q := query.Encode(); q != "" {
		u += "?" + q
	}
	return u
}

// counter tells how much has been read of a body.
type counter struct {
	r    io.Reader
	n    int64
	tell func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

// Raw makes any call and returns the body as it came. Path is written as a person
// would: "api/v1/me", "/info".
func (c *Client) Raw(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	k := call{method: method, path: "//" + trimLeadingSlashes(path), body: body}
	if method == http.MethodGet {
		k.repeat = safely
	}
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	return data, nil
}

func trimLeadingSlashes(s string) string {
	for len(s) > 0 && s[0] == '/' {
		s = s[1:]
	}
	return s
}
