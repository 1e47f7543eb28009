package api

import (
	"fmt"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

// answerTimeout is the time limit of a request that does not wait for events.
const answerTimeout = 30 * time.Second

// slowTimeout is the time limit of a request that stores a whole context, after the body was
// received.
const slowTimeout = 10 * time.Minute

// guard wraps every route: it gives the request a context that ends with the server, converts a
// panic to a 500 that is logged with its stack, writes errors, discards the unread part of the
// body, and counts the response.
func (a *API) guard(c *fiber.Ctx) (err error) {
	begin := time.Now()
	c.SetUserContext(a.stopping)
	defer func() {
		if r := recover(); r != nil {
			a.log.Error("a request panicked", "method", c.Method(), "path", c.Path(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			a.meters.panicked()
			err = a.writeError(c, fmt.Errorf("panic: %v", r))
		}
		releaseHeld(c)
		a.discard(c, reportBody)
		a.meters.answered(c.Method(), c.Route().Path, c.Response().StatusCode(), time.Since(begin))
	}()
	err = a.checkHost(c)
	if err == nil {
		err = c.Next()
	}
	if err != nil {
		return a.writeError(c, err)
	}
	return nil
}

// sameOrigin rejects a request that a page of another origin made a browser send with the
// master's cookie. Browsers send the origin's relation in Sec-Fetch-Site; they omit this header
// for plain HTTP to another machine, and then the Origin of a request that changes something
// must be the master's.
func sameOrigin(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return nil
	case "":
		origin := c.Get(fiber.HeaderOrigin)
		if origin == "" && (c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead) || ownOrigin(c, origin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "a signed-in browser may call this endpoint from the master's own pages only; programs use the header Authorization: Bearer <token>")
}

// ownOrigin reports whether an Origin is the one to which a request was sent.
func ownOrigin(c *fiber.Ctx, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == string(c.Request().Host())
}

// fromElsewhere rejects a sign-in that a page of another origin makes a browser send: it would
// sign the reader of that page in as another user. Programs send no origin, but browsers always
// do: every POST has at least an Origin header.
func fromElsewhere(c *call) error {
	switch c.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		if origin := c.Get(fiber.HeaderOrigin); origin == "" || ownOrigin(c.Ctx, origin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "a browser can sign in only on the master's own pages")
}
