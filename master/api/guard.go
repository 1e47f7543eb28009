package api

import (
	"fmt"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

// answerTimeout is how long a request may take that waits for nothing but us.
const answerTimeout = 30 * time.Second

// slowTimeout is how long a request may take that stores a whole context, once that
// has arrived.
const slowTimeout = 10 * time.Minute

// guard stands before every route: it gives the request a context that ends with
// the server, turns a panic into a 500 that is logged with its stack, writes the
// error of whatever failed, reads what nobody read of the body, and counts the
// answer.
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

// sameOrigin refuses a request that a page of another origin made a browser send
// with our cookie. Browsers say where a request comes from; on a plain-HTTP
// address that is not this machine's they leave that header out, and then the
// Origin of whatever changes something has to be ours.
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
	return fault.New(fault.Forbidden, "a signed-in browser may call this from the master's own pages only; programs use the header Authorization: Bearer <token>")
}

// ownOrigin tells whether an Origin is the one that a request went to.
func ownOrigin(c *fiber.Ctx, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == string(c.Request().Host())
}

// fromElsewhere refuses a sign-in that a page of another origin makes a browser
// send: it would leave whoever looks at that page signed in as somebody else. A
// program says nothing of where it comes from, and a browser always does: with
// every POST there is an Origin, where there is no better word.
func fromElsewhere(c *call) error {
	switch c.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		if origin := c.Get(fiber.HeaderOrigin); origin == "" || ownOrigin(c.Ctx, origin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "a browser signs in on the master's own pages only")
}
