package rest

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// callKey is the key of the call of a request.
type callKey struct{}

// newCall begins the call of a request.
func (r *Router) newCall(fc *fiber.Ctx) *Call {
	c := &Call{Request: Request{ctx: fc, router: r}}
	fc.Locals(callKey{}, c)
	return c
}

// callOf is the call of a request that guard has begun, or a new one for a request that ends before guard.
func (r *Router) callOf(fc *fiber.Ctx) *Call {
	if c, ok := fc.Locals(callKey{}).(*Call); ok {
		return c
	}
	return r.newCall(fc)
}

// admit checks the caller before the body is read, and answers the call. The context of a raw route ends only with
// the server, because its stream continues after its handler; other routes have a time limit,
// which starts after the body was received.
func (r *Router) admit(x *Route, handler func(c *Call) error) fiber.Handler {
	return func(fc *fiber.Ctx) error {
		c := r.callOf(fc)
		c.route = x
		run := func() error {
			c.begin()
			return handler(c)
		}
		if by := r.admission[x.Access]; by != nil {
			return by(c, func(who auth.Who) error {
				c.who = who
				return r.cfg.Trail.Around(c, who, run)
			})
		}
		who, err := c.signedIn()
		if x.Access == v1.Public {
			if err == nil {
				c.who = who
			}
			return r.cfg.Trail.Around(c, auth.Who{}, run)
		}
		if err != nil {
			return err
		}
		if err := r.cfg.Access(x, who); err != nil {
			return r.cfg.Trail.Rejected(c, who, err)
		}
		c.who = who
		return r.cfg.Trail.Around(c, who, run)
	}
}

// begin prepares an admitted call for its handler.
func (c *Call) begin() {
	r, who, access := c.route, c.who, c.router.cfg.Access
	c.base = c.work(c.router.stopping)
	c.scope = auth.ScopeOf(who, r.Verb, r.Object)
	c.reports = r.AuditedReport() && !who.IsTask()
	c.allowed = func(now auth.Who) error {
		if err := access(r, now); err != nil {
			return err
		}
		if !now.Grants.Equal(who.Grants) { // the response contains what the roles allowed at its beginning
			return fault.New(fault.Forbidden, "the roles of %s have changed; send the request again", who.Username)
		}
		return nil
	}
}

// work returns a context for what is done for the call.
func (c *Call) work(ctx context.Context) context.Context {
	if c.router.cfg.Work == nil {
		return ctx
	}
	return c.router.cfg.Work(ctx, c)
}

// signedIn identifies the caller; the query has its own time limit, because the rest may last
// as long as a stream.
func (q *Request) signedIn() (auth.Who, error) {
	ctx, cancel := context.WithTimeout(q.router.stopping, AnswerTimeout)
	defer cancel()
	return q.Identify(ctx)
}
