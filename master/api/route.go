package api

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Access says whose calls a route takes.
type access int

const (
	public access = iota
	person        // a user's session
	task          // an attempt's token
	both          // either
	admin         // a user's session with the admin mark
)

// A route is one line of the table: everything about a path but its code.
type route struct {
	method  string
	path    string // fiber's form: /experiments/:id
	access  access
	limit   int
	req     reflect.Type // nil: no body
	resp    reflect.Type // nil: no body, or raw
	stream  bool
	summary string
	handler fiber.Handler
	waits   bool          // the answer may wait for something to happen
	after   bool          // an ended attempt's token is still good for it
	query   []string      // names of its parameters
	within  time.Duration // how long the answer may take once the body is there; a raw route has no such limit
	files   string        // the field of its body that has files, which are received to disk
	page    bool          // a page of the browser has the same path
}

// none is the request or response of a route that has none.
type none struct{}

// An option changes a route's line.
type option func(*route)

func bodyLimit(n int) option { return func(r *route) { r.limit = n } }
func evenWhenEnded(r *route) { r.after = true }

// besidePage is for a path that a page has too: a browser that goes there gets the page.
func besidePage(r *route) { r.page = true }

// query names the parameters of a route, for its documentation.
func query(names string) option {
	return func(r *route) { r.query = append(r.query, strings.Fields(names)...) }
}

// longPoll allows an answer to wait for something to happen.
func longPoll(r *route) { r.within, r.waits = longestPoll+answerWithin, true }

// slow is for answers that read or write a whole context.
func slow(r *route) { r.within = slowWithin }

// withFiles is for a body with code in that field.
func withFiles(field string) option {
	return func(r *route) { r.files, r.limit, r.within = field, contextBody, slowWithin }
}

// takes documents the body of a raw route.
func takes[Req any](r *route) { r.req = reflect.TypeFor[Req]() }

// handle adds a route whose body and answer are messages of the wire.
func handle[Req, Resp any](a *API, method, path string, who access, summary string,
	fn func(ctx context.Context, c *call, req *Req) (*Resp, error), opts ...option) {
	r := route{method: method, path: path, access: who, limit: smallBody, summary: summary, within: answerWithin,
		req: messageType[Req](), resp: messageType[Resp]()}
	if who == public {
		r.limit = publicBody
	}
	for _, o := range opts {
		o(&r)
	}
	r.handler = func(fc *fiber.Ctx) error {
		c := &call{Ctx: fc, who: whoOf(fc), takes: r.takes}
		var req Req
		if r.req != nil {
			body, err := a.bodyOf(c, &r)
			if err != nil {
				return err
			}
			defer c.files.Close()
			if err := v1.Unmarshal(body, &req); err != nil {
				return fault.New(fault.Invalid, "%w", err)
			}
			decoded(fc)
		}
		ctx, cancel := context.WithTimeout(a.stopping, r.within)
		defer cancel()
		if r.waits {
			var done func()
			ctx, done = a.followings.follow(ctx, c)
			defer done()
		}
		resp, err := fn(ctx, c, &req)
		if why := refused(ctx); why != nil {
			return why
		}
		if err != nil || resp == nil { // nothing: fn has written the answer
			return err
		}
		return c.send(resp)
	}
	a.routes = append(a.routes, r)
}

// bodyOf receives the body of a call; its files are on disk then.
func (a *API) bodyOf(c *call, r *route) (body []byte, err error) {
	if r.files == "" {
		return a.readBody(c.Ctx, r.limit)
	}
	if c.files, err = a.receiveFiles(c.Ctx, r.files, r.limit); err != nil {
		return nil, err
	}
	body, err = a.intoMemory(c.Ctx, &c.files.rest)
	if err != nil {
		c.files.Close()
	}
	return body, err
}

// raw adds a route that writes its own answer: a stream, a file, a page.
func (a *API) raw(method, path string, who access, summary string, fn func(ctx context.Context, c *call) error, opts ...option) {
	r := route{method: method, path: path, access: who, limit: smallBody, summary: summary, stream: true}
	for _, o := range opts {
		o(&r)
	}
	r.handler = func(fc *fiber.Ctx) error {
		return fn(fc.UserContext(), &call{Ctx: fc, who: whoOf(fc), takes: r.takes})
	}
	a.routes = append(a.routes, r)
}

func messageType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[none]() {
		return nil
	}
	return t
}

// mount gives the table to fiber. /api/v1 is prefixed to paths that begin with a
// noun; paths that begin with // stand outside it and lose one slash.
func (a *API) mount() {
	a.app.Use(a.guard)
	a.mountVisits()
	pages := sendPages(newPages(a.cfg.Pages))
	for _, r := range a.routes {
		path := "/api/v1" + r.path
		if outside, ok := strings.CutPrefix(r.path, "//"); ok {
			path = "/" + outside
		}
		if r.page {
			a.app.Get(path, func(c *fiber.Ctx) error {
				if wantsPage(c) {
					return pages(c)
				}
				return c.Next()
			})
		}
		a.app.Add(r.method, path, a.admit(r), r.handler)
	}
	a.app.Use(pages)
}

// admit checks who calls before anything of the body is read. The context of a raw
// route ends with the server alone, because its stream outlives its handler; that
// of others has the route's time limit, from when the body is there.
func (a *API) admit(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		who, err := a.signedIn(c)
		if r.access == public {
			if err == nil {
				c.Locals(whoKey{}, who)
			}
			return c.Next()
		}
		if err != nil {
			return err
		}
		if err := r.takes(who); err != nil {
			return err
		}
		c.Locals(whoKey{}, who)
		return c.Next()
	}
}

// takes says why a route does not take somebody's calls.
func (r route) takes(who auth.Who) error {
	switch {
	case r.access == public:
	case r.access == person && who.IsTask(), r.access == admin && who.IsTask():
		return fault.New(fault.Forbidden, "a task's token does not do for this; sign in as a user")
	case r.access == task && !who.IsTask():
		return fault.New(fault.Forbidden, "only the task itself may call this")
	case who.Within != "" && !r.forPrograms():
		return fault.New(fault.Forbidden, "the session of a task may not do this; sign in as a user with det user login")
	case who.OwnerGone && !r.aboutItself():
		return fault.New(fault.Unauthenticated, "user %s is deactivated; attempt %s may report about itself and do nothing else", who.Username, who.AllocationID)
	case r.access == admin && !auth.Can(who, auth.Administer, auth.Object{Kind: "cluster"}):
		return fault.New(fault.Forbidden, "only an admin may do this")
	case who.Ended && !r.after:
		return fault.New(fault.Unauthenticated, "attempt %s is over; its token takes nothing but logs and its exit", who.AllocationID)
	}
	return nil
}

// signedIn says who calls; the look-up has its own time limit, because what comes
// after it may last as long as a stream.
func (a *API) signedIn(c *fiber.Ctx) (auth.Who, error) {
	ctx, cancel := context.WithTimeout(a.stopping, answerWithin)
	defer cancel()
	return a.auth.who(ctx, c)
}

type whoKey struct{}

func whoOf(c *fiber.Ctx) auth.Who {
	who, _ := c.Locals(whoKey{}).(auth.Who)
	return who
}
