package rest

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Route is one line of the table, with its handler.
type Route struct {
	v1.Line
	Loads   bool // its path names an object
	large   bool // … with texts of any length
	message bool // it answers with a message, so HEAD can have its headers
	head    bool // HEAD has its headers although it writes its own answer
	handler func(c *Call) error
	check   func(c *Call) error // whether the caller may call it, without its handler; nil if its path names no object
	within  time.Duration       // time limit after the body was received; streams have none
}

// newRoute completes a line.
func newRoute(l v1.Line) *Route {
	r := &Route{Line: l, within: AnswerTimeout}
	switch {
	case r.Stream:
		r.within = 0
	case r.Waits:
		r.within = MaxPoll + AnswerTimeout
	case r.Slow || r.Files != "":
		r.within = slowTimeout
	}
	return r
}

// A Handler answers a call: it receives the parameters or the body, and returns the answer. If the answer is nil, the
// handler has written it. A HandlerOn receives in addition the object that the path names.
type (
	Handler[In, Out any]      func(ctx context.Context, c *Call, in *In) (*Out, error)
	HandlerOn[T, In, Out any] func(ctx context.Context, c *Call, it T, in *In) (*Out, error)
)

// Serve adds an endpoint whose path names no object, and whose bodies are messages of the API.
func Serve[In, Out any](r *Router, e v1.Endpoint[In, Out], fn Handler[In, Out]) {
	x := newRoute(e.Line())
	x.message = true
	x.handler = func(c *Call) error { return respond(c, fn) }
	r.routes = append(r.routes, x)
}

// ServeOn adds an endpoint whose path names an object: fn receives the object after auth has
// allowed the endpoint's verb on it.
func ServeOn[T, In, Out any](r *Router, e v1.Endpoint[In, Out], on Object[T], fn HandlerOn[T, In, Out]) {
	addOn(r, e.Line(), true, on, func(c *Call, it T) error {
		if on.Large && c.route.Req != nil { // a client that sends its body slowly must not hold the object in memory
			return respond(c, func(ctx context.Context, c *Call, in *In) (*Out, error) {
				it, err := on.Load(ctx, c)
				if err == nil {
					err = on.Allow(c, c.route.Verb, it)
				}
				if err != nil {
					return nil, err
				}
				return fn(ctx, c, it, in)
			})
		}
		return respond(c, func(ctx context.Context, c *Call, in *In) (*Out, error) { return fn(ctx, c, it, in) })
	})
}

// Raw is Serve for an endpoint that reads its own body or writes its own response: a stream, a
// file, a page.
func Raw[In, Out any](r *Router, e v1.Endpoint[In, Out], fn func(ctx context.Context, c *Call) error) {
	x := newRoute(e.Line())
	x.handler = func(c *Call) error { return fn(c.base, c) }
	r.routes = append(r.routes, x)
}

// RawOn is ServeOn for such an endpoint.
func RawOn[T, In, Out any](r *Router, e v1.Endpoint[In, Out], on Object[T], fn func(ctx context.Context, c *Call, it T) error) {
	addOn(r, e.Line(), false, on, func(c *Call, it T) error { return fn(c.base, c, it) })
}

// RawQuery is Raw for an endpoint with parameters.
func RawQuery[In, Out any](r *Router, e v1.Endpoint[In, Out], fn func(ctx context.Context, c *Call, in *In) error) {
	Raw(r, e, func(ctx context.Context, c *Call) error {
		var in In
		if err := v1.ParseQuery(&in, c.values); err != nil {
			return err
		}
		return fn(ctx, c, &in)
	})
}

// RawQueryOn is RawOn for an endpoint with parameters.
func RawQueryOn[T, In, Out any](r *Router, e v1.Endpoint[In, Out], on Object[T], fn func(ctx context.Context, c *Call, it T, in *In) error) {
	RawOn(r, e, on, func(ctx context.Context, c *Call, it T) error {
		var in In
		if err := v1.ParseQuery(&in, c.values); err != nil {
			return err
		}
		return fn(ctx, c, it, &in)
	})
}

// addOn adds a route whose path names an object; fn receives the object that the caller may use.
func addOn[T any](r *Router, line v1.Line, message bool, on Object[T], fn func(c *Call, it T) error) {
	x := newRoute(line)
	x.Loads, x.large, x.message = true, on.Large, message
	x.check = func(c *Call) error {
		_, err := allowed(c, on)
		return err
	}
	x.handler = func(c *Call) error {
		if x.Req == nil { // also of downloads and streams, until they begin
			if err := c.reading(); err != nil {
				return err
			}
			defer c.EndReading()
		}
		if x.message {
			if err := c.changing(); err != nil {
				return err
			}
			defer func() { c.change.End() }()
		}
		it, err := allowed(c, on)
		if err != nil {
			return err
		}
		if x.Req != nil { // no turn is held while a body arrives; respond takes one again
			c.change.End()
			c.change = nil
		}
		return fn(c, it)
	}
	r.routes = append(r.routes, x)
}

// allowed loads the object of a call and asks auth. An open response ends when the caller loses
// the permission for the object.
func allowed[T any](c *Call, on Object[T]) (T, error) {
	ctx, cancel := c.Within()
	defer cancel()
	it, err := on.Load(ctx, c)
	if err != nil {
		return it, err
	}
	r, is := c.route, on.Of(it)
	err = on.Allow(c, r.Verb, it)
	if noted := c.router.cfg.Trail.Object(c, is, err); noted != nil {
		return it, noted
	}
	if err != nil {
		return it, err
	}
	access := c.router.cfg.Access
	c.allowed = func(who auth.Who) error {
		if err := access(r, who); err != nil {
			return err
		}
		return auth.May(who, r.Verb, is)
	}
	on.recheck(c)
	return it, nil
}

// respond parses the parameters or the body, calls fn and writes its result.
func respond[In, Out any](c *Call, fn Handler[In, Out]) error {
	var in In
	r := c.route
	if r.Query != nil {
		if err := v1.ParseQuery(&in, c.values); err != nil {
			return err
		}
	}
	if r.Req != nil {
		body, err := c.body()
		if err != nil {
			return err
		}
		defer c.files.Close()
		if err := c.changing(); err != nil {
			return err
		}
		defer c.change.End()
		if err := v1.Unmarshal(body, &in); err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		c.router.cfg.Trail.Body(c, body)
		c.Decoded()
	}
	ctx, cancel := context.WithTimeout(c.work(c.router.stopping), r.within)
	defer cancel()
	if r.Waits {
		end, err := c.router.polls.begin(c.router.cfg.Poller(c))
		if err != nil {
			return err
		}
		defer end()
		var done func()
		ctx, done = c.router.open.follow(ctx, c)
		defer done()
	}
	if err := c.reading(); err != nil {
		return err
	}
	defer c.EndReading()
	if c.turn != nil {
		ctx = c.router.LimitReads(ctx)
	}
	out, err := fn(ctx, c, &in)
	if why := Refused(ctx); why != nil {
		return why
	}
	if err != nil || out == nil { // nil: fn has written the response
		return err
	}
	return c.Answer(out)
}

// body receives the body of a call, with its files on disk.
func (c *Call) body() (body []byte, err error) {
	r := c.route
	if r.Files == "" {
		return c.ReadBody(r.BodyLimit)
	}
	if c.files, err = c.receiveFiles(r.Files, r.BodyLimit); err != nil {
		return nil, err
	}
	body, err = c.intoMemory(&c.files.rest)
	if err != nil {
		c.files.Close()
	}
	return body, err
}
