package rest

import (
	"io"
	"strings"
)

// SendFrom sends the content of from with a length, or -1 for an unknown one. from is read and
// closed after the handler, where guard no longer catches panics: here a panic ends only this
// response. Otherwise, the HTTP server would not close a reader that panicked before the next
// request, would lose the stack, and would end the master when Close panics.
func (c *Call) SendFrom(from io.Reader, length int) {
	c.ctx.Context().SetBodyStream(&caughtBody{router: c.router, path: strings.Clone(c.Path()), from: from}, length) //nolint:forbidigo // caughtBody catches panics
}

// caughtBody is a response whose panics become errors.
type caughtBody struct {
	router *Router
	path   string
	from   io.Reader
	err    error // from a panic
	closed bool
}

func (g *caughtBody) Read(p []byte) (n int, err error) {
	if g.err != nil {
		return 0, g.err
	}
	g.err = g.router.Caught("sending a response panicked", g.path, func() error {
		n, err = g.from.Read(p)
		return nil
	})
	if g.err != nil {
		return 0, g.err
	}
	return n, err
}

// Close closes from, once.
func (g *caughtBody) Close() (err error) {
	c, ok := g.from.(io.Closer)
	if g.closed || !ok {
		return nil
	}
	g.closed = true
	return g.router.Caught("closing a response panicked", g.path, c.Close)
}
