package rest

import (
	"fmt"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// AnswerTimeout is the time limit of a request that does not wait for events.
const AnswerTimeout = 30 * time.Second

// slowTimeout is the time limit of a request that stores a whole context, after the body was
// received.
const slowTimeout = 10 * time.Minute

// guard wraps every route: it gives the request a context that ends with the server, converts a
// panic to a 500 that is logged with its stack, writes errors, discards the unread part of the
// body, and counts the response.
func (r *Router) guard(fc *fiber.Ctx) (err error) {
	begin := time.Now()
	c := r.newCall(fc)
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a request panicked", "method", c.Method(), "path", c.Path(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			r.meters.panicked()
			err = r.writeError(fc, fmt.Errorf("panic: %v", p))
		}
		c.releaseHeld()
		c.discard(v1.ReportBody)
		r.meters.answered(c.Method(), fc.Route().Path, fc.Response().StatusCode(), time.Since(begin))
	}()
	err = c.checkHost()
	if err == nil {
		err = fc.Next()
	}
	if err != nil {
		return r.writeError(fc, err)
	}
	return nil
}

// SameOrigin rejects a request that a page of another origin made a browser send with the
// master's cookie. Browsers send the origin's relation in Sec-Fetch-Site; they omit this header
// for plain HTTP to another machine, and then the Origin of a request that changes something
// must be the master's.
func (q *Request) SameOrigin() error {
	switch site := q.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return nil
	case "":
		origin := q.Get(fiber.HeaderOrigin)
		if origin == "" && q.reads() || q.ownOrigin(origin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "a signed-in browser may call this endpoint from the master's own pages only; programs use the header Authorization: Bearer <token>")
}

// ownOrigin reports whether an Origin is the one to which a request was sent.
func (q *Request) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == q.Host()
}

// NotFromElsewhere rejects a sign-in that a page of another origin makes a browser send: it would
// sign the reader of that page in as another user. Programs send no origin, but browsers always
// do: every POST has at least an Origin header.
func (q *Request) NotFromElsewhere() error {
	switch q.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		if origin := q.Get(fiber.HeaderOrigin); origin == "" || q.ownOrigin(origin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "a browser can sign in only on the master's own pages")
}
