package api

import (
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// sendFrom answers with what from holds, of a length, or -1 when its end is the end.
// It is read and closed after the handler, where guard no longer catches panics: such
// a panic breaks this answer off alone. The HTTP server would not close a reader that
// panicked before the next request, would forget the stack, and would end the master
// when Close panics.
func (a *API) sendFrom(c *fiber.Ctx, from io.Reader, length int) {
	c.Context().SetBodyStream(&caughtBody{api: a, path: strings.Clone(c.Path()), from: from}, length) //nolint:forbidigo // here it is caught
}

// caughtBody is an answer whose panics are errors.
type caughtBody struct {
	api    *API
	path   string
	from   io.Reader
	err    error // of a panic
	closed bool
}

func (g *caughtBody) Read(p []byte) (n int, err error) {
	if g.err != nil {
		return 0, g.err
	}
	g.err = g.api.caught("an answer panicked while it was sent", g.path, func() error {
		n, err = g.from.Read(p)
		return nil
	})
	if g.err != nil {
		return 0, g.err
	}
	return n, err
}

// Close closes what was read, once.
func (g *caughtBody) Close() (err error) {
	c, ok := g.from.(io.Closer)
	if g.closed || !ok {
		return nil
	}
	g.closed = true
	return g.api.caught("an answer panicked when it was closed", g.path, c.Close)
}
