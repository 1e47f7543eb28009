package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A call is one request.
type call struct {
	method   string
	path     string // from the root: /api/v1/trials/7
	query    url.Values
	body     []byte
	accept   string
	repeat   repeatable
	progress func(sent int64)  // called with the number of bytes sent
	answered func(http.Header) // called when the answer of a stream begins
}

// callOf makes the call of an endpoint; params replace the variable parts of its path.
func callOf[Req, Resp any](e v1.Endpoint[Req, Resp], params ...any) call {
	k := call{method: e.Method, path: e.At(params...)}
	if v1.Line(e).Repeatable() {
		k.repeat = safely
	}
	return k
}

// Call calls an endpoint that needs no request, and returns the response. params are the variable parts of
// its path. With an error the response is empty.
func Call[Resp any](ctx context.Context, c *Client, e v1.Endpoint[v1.None, Resp], params ...any) (*Resp, error) {
	var out Resp
	return &out, c.do(ctx, callOf(e, params...), &out)
}

// Send calls an endpoint with a request, which is the body, or the query of a GET, and returns the response.
// params are the variable parts of its path. With an error the response is empty.
func Send[Req, Resp any](ctx context.Context, c *Client, e v1.Endpoint[Req, Resp], request Req, params ...any) (*Resp, error) {
	var out Resp
	k := callOf(e, params...)
	if k.method == http.MethodGet {
		k.query = v1.FormatQuery(&request)
		return &out, c.do(ctx, k, &out)
	}
	var err error
	if k.body, err = v1.Marshal(request); err != nil {
		return &out, err
	}
	return &out, c.do(ctx, k, &out)
}

// Act calls an endpoint that needs no request, and ignores the response.
func Act[Resp any](ctx context.Context, c *Client, e v1.Endpoint[v1.None, Resp], params ...any) error {
	return c.do(ctx, callOf(e, params...), nil)
}

func queryOf[Req any](request *Req) url.Values {
	if request == nil {
		return url.Values{}
	}
	return v1.FormatQuery(request)
}

// do makes a call and decodes its response into out, which may be nil or *v1.None.
func (c *Client) do(ctx context.Context, k call, out any) error {
	data, err := c.read(ctx, k)
	if err != nil {
		return err
	}
	if _, none := out.(*v1.None); out == nil || none {
		return nil
	}
	if err := v1.Unmarshal(data, out); err != nil {
		return fault.New(fault.Internal, "%s is not a Detent or Determined master: %s %s: %w", c.base, k.method, k.path, err)
	}
	return nil
}

// read makes a call and returns the body of its response.
func (c *Client) read(ctx context.Context, k call) ([]byte, error) {
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

// send sends the request, repeats it where that is safe, and returns a response below 300 whose
// body the caller closes.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	wait := newBackoff(c.opts.Patience)
	refreshed := false
	for {
		token := c.Token()
		resp, err := c.try(ctx, k, token)
		if err == nil {
			return resp, nil
		}
		if fault.Is(err, fault.Unauthenticated) && c.opts.Refresh != nil && !refreshed && k.repeat != never {
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

// try sends the request once. With an error the response, if any, is closed, and only its
// headers may be used.
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
		return nil, fault.New(fault.Invalid, "cannot make a request for %q: %w", k.path, err)
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
	if q := query.Encode(); q != "" {
		path += "?" + q
	}
	return c.base + path
}

// counter reports how much of a body has been read.
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

// Raw makes any call and returns the body unchanged. Path is written as users write it:
// "api/v1/me", "/info".
func (c *Client) Raw(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	k := call{method: method, path: "/" + strings.TrimLeft(path, "/"), body: body}
	if method == http.MethodGet {
		k.repeat = safely
	}
	return c.read(ctx, k)
}
