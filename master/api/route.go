package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A route is one line of the table, with its handler.
type route struct {
	v1.Line
	handler fiber.Handler
	check   func(c *call) error // whether the caller may call it, without its handler; nil if its path names no object
	loads   bool                // its path names an object
	large   bool                // … with texts of any length
	message bool                // it answers with a message, so HEAD can have its headers
	within  time.Duration       // time limit after the body was received; streams have none
}

// newRoute completes a line.
func newRoute(l v1.Line) route {
	r := route{Line: l, within: answerTimeout}
	switch {
	case r.Stream:
		r.within = 0
	case r.Waits:
		r.within = maxPoll + answerTimeout
	case r.Slow || r.Files != "":
		r.within = slowTimeout
	}
	return r
}

// serve adds an endpoint whose path names no object, and whose bodies are messages of the API.
func serve[Req, Resp any](a *API, e v1.Endpoint[Req, Resp], fn func(ctx context.Context, c *call, req *Req) (*Resp, error)) {
	r := newRoute(e.Line())
	r.message = true
	r.handler = func(fc *fiber.Ctx) error {
		return respond(a, &r, a.callOf(fc, &r), fn)
	}
	a.routes = append(a.routes, r)
}

// serveOn adds an endpoint whose path names an object: fn receives the object after auth has
// allowed the endpoint's verb on it.
func serveOn[T, Req, Resp any](a *API, e v1.Endpoint[Req, Resp], on object[T], fn func(ctx context.Context, c *call, it T, req *Req) (*Resp, error)) {
	addOn(a, e.Line(), true, on, func(r *route, c *call, it T) error {
		if on.large && r.Req != nil { // a client that sends its body slowly must not hold the object in memory
			return respond(a, r, c, func(ctx context.Context, c *call, req *Req) (*Resp, error) {
				it, err := on.load(ctx, c)
				if err == nil {
					err = on.allow(c, r.Verb, it)
				}
				if err != nil {
					return nil, err
				}
				return fn(ctx, c, it, req)
			})
		}
		return respond(a, r, c, func(ctx context.Context, c *call, req *Req) (*Resp, error) { return fn(ctx, c, it, req) })
	})
}

// rawQuery is raw for an endpoint with parameters.
func rawQuery[Req, Resp any](a *API, e v1.Endpoint[Req, Resp], fn func(ctx context.Context, c *call, req *Req) error) {
	raw(a, e, func(ctx context.Context, c *call) error {
		var req Req
		if err := v1.ParseQuery(&req, c.values); err != nil {
			return err
		}
		return fn(ctx, c, &req)
	})
}

// rawQueryOn is rawOn for an endpoint with parameters.
func rawQueryOn[T, Req, Resp any](a *API, e v1.Endpoint[Req, Resp], on object[T], fn func(ctx context.Context, c *call, it T, req *Req) error) {
	rawOn(a, e, on, func(ctx context.Context, c *call, it T) error {
		var req Req
		if err := v1.ParseQuery(&req, c.values); err != nil {
			return err
		}
		return fn(ctx, c, it, &req)
	})
}

// raw is serve for an endpoint that reads its own body or writes its own response: a stream, a
// file, a page.
func raw[Req, Resp any](a *API, e v1.Endpoint[Req, Resp], fn func(ctx context.Context, c *call) error) {
	r := newRoute(e.Line())
	r.handler = func(fc *fiber.Ctx) error {
		c := a.callOf(fc, &r) // which sets the context
		return fn(c.UserContext(), c)
	}
	a.routes = append(a.routes, r)
}

// rawOn is serveOn for such an endpoint.
func rawOn[T, Req, Resp any](a *API, e v1.Endpoint[Req, Resp], on object[T], fn func(ctx context.Context, c *call, it T) error) {
	addOn(a, e.Line(), false, on, func(_ *route, c *call, it T) error { return fn(c.UserContext(), c, it) })
}

// addOn adds a route whose path names an object; fn receives the object that the caller may use.
func addOn[T any](a *API, line v1.Line, message bool, on object[T], fn func(r *route, c *call, it T) error) {
	r := newRoute(line)
	r.loads, r.large, r.message = true, on.large, message
	r.check = func(c *call) error {
		_, err := allowed(a, &r, c, on)
		return err
	}
	r.handler = func(fc *fiber.Ctx) error {
		c := a.callOf(fc, &r)
		if r.Req == nil { // also of downloads and streams, until they begin
			if err := a.reading(c, &r); err != nil {
				return err
			}
			defer c.endReading()
		}
		if r.message {
			if err := a.changing(c, &r); err != nil {
				return err
			}
			defer func() { c.change.end() }()
		}
		it, err := allowed(a, &r, c, on)
		if err != nil {
			return err
		}
		if r.Req != nil { // no turn is held while a body arrives; respond takes one again
			c.change.end()
			c.change = nil
		}
		return fn(&r, c, it)
	}
	a.routes = append(a.routes, r)
}

func (a *API) callOf(fc *fiber.Ctx, r *route) *call {
	who := whoOf(fc)
	fc.SetUserContext(database.ForOwner(fc.UserContext(), a.storeOwner(fc)))
	c := &call{Ctx: fc, who: who, scope: auth.ScopeOf(who, r.Verb, r.Object)}
	if r.AuditedReport() && !who.IsTask() {
		c.reports = func(is auth.Object, refusal error) error { return a.noteReport(c, r, is, refusal) }
	}
	c.allowed = func(now auth.Who) error {
		if err := r.checkAccess(now); err != nil {
			return err
		}
		if !now.Grants.Equal(who.Grants) { // the response contains what the roles allowed at its beginning
			return fault.New(fault.Forbidden, "the roles of %s have changed; send the request again", who.Username)
		}
		return nil
	}
	return c
}

// allowed loads the object of a call and asks auth. An open response ends when the caller loses
// the permission for the object.
func allowed[T any](a *API, r *route, c *call, on object[T]) (T, error) {
	ctx, cancel := context.WithTimeout(database.ForOwner(a.stopping, a.storeOwner(c.Ctx)), answerTimeout)
	defer cancel()
	it, err := on.load(ctx, c)
	if err != nil {
		return it, err
	}
	is := on.of(it)
	err = on.allow(c, r.Verb, it)
	if noted := a.noteObject(c, r, is, err); noted != nil {
		return it, noted
	}
	if err != nil {
		return it, err
	}
	c.allowed = func(who auth.Who) error {
		if err := r.checkAccess(who); err != nil {
			return err
		}
		return auth.May(who, r.Verb, is)
	}
	return it, nil
}

// respond parses the parameters or the body, calls fn and writes its result.
func respond[Req, Resp any](a *API, r *route, c *call, fn func(ctx context.Context, c *call, req *Req) (*Resp, error)) error {
	var req Req
	if r.Query != nil {
		if err := v1.ParseQuery(&req, c.values); err != nil {
			return err
		}
	}
	if r.Req != nil {
		body, err := a.bodyOf(c, r)
		if err != nil {
			return err
		}
		defer c.files.Close()
		if err := a.changing(c, r); err != nil {
			return err
		}
		defer c.change.end()
		if err := v1.Unmarshal(body, &req); err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		noteNames(c, body)
		decoded(c.Ctx)
	}
	ctx, cancel := context.WithTimeout(database.ForOwner(a.stopping, a.storeOwner(c.Ctx)), r.within)
	defer cancel()
	if r.Waits {
		end, err := a.polls.begin(c, r)
		if err != nil {
			return err
		}
		defer end()
		var done func()
		ctx, done = a.openAnswers.follow(ctx, c)
		defer done()
	}
	if err := a.reading(c, r); err != nil {
		return err
	}
	defer c.endReading()
	if c.turn != nil {
		ctx = database.LimitReads(ctx, a.receiver.readLimit)
	}
	resp, err := fn(ctx, c, &req)
	if why := refused(ctx); why != nil {
		return why
	}
	if err != nil || resp == nil { // nil: fn has written the response
		return err
	}
	return a.answer(c, resp)
}

// bodyOf receives the body of a call, with its files on disk.
func (a *API) bodyOf(c *call, r *route) (body []byte, err error) {
	if r.Files == "" {
		return a.readBody(c.Ctx, r.BodyLimit)
	}
	if c.files, err = a.receiveFiles(c.Ctx, r.Files, r.BodyLimit); err != nil {
		return nil, err
	}
	body, err = a.intoMemory(c.Ctx, &c.files.rest)
	if err != nil {
		c.files.Close()
	}
	return body, err
}

// mount registers the table in fiber.
func (a *API) mount() {
	a.app.Use(a.guard)
	a.mountProxy()
	pages := sendPages(newPages(a.cfg.Pages))
	for _, r := range sortedRoutes(a.routes) {
		path := r.Pattern()
		if r.Page {
			a.app.Get(path, func(c *fiber.Ctx) error {
				if wantsPage(c) {
					return pages(c)
				}
				return c.Next()
			})
		}
		a.app.Add(r.Method, path, a.admit(r), r.handler)
		if r.Method == fiber.MethodGet && (r.message || r.Path == v1.GetHealth.Path) {
			a.app.Add(fiber.MethodHead, path, a.admit(r), r.handler)
		}
	}
	for _, l := range v1.Absent {
		why := fault.New(fault.Unimplemented, "%s", l.Why)
		a.app.Add(l.Method, l.Pattern(), func(c *fiber.Ctx) error {
			if _, err := a.signedIn(c); err != nil {
				return err
			}
			return why
		})
	}
	a.app.Use(scimPath, a.otherMethodOfSCIM)
	a.otherMethods()
	a.app.Use(pages)
}

// otherMethods answers a request whose path exists with other methods only. Like the other routes that
// a method lacks, it is 501: Determined's clients know this status. It compares paths itself, because a
// route of the router for each path and method takes a megabyte.
func (a *API) otherMethods() {
	var known []*pathMethods
	for _, r := range a.routes {
		pattern := strings.Split(r.Pattern()[1:], "/")
		i := slices.IndexFunc(known, func(k *pathMethods) bool { return slices.Equal(k.pattern, pattern) })
		if i < 0 {
			i, known = len(known), append(known, &pathMethods{pattern: pattern})
		}
		known[i].methods = append(known[i].methods, r.Method)
	}
	a.app.Use("/api/", func(c *fiber.Ctx) error {
		path := strings.TrimRight(c.Path(), "/")
		i := slices.IndexFunc(known, func(k *pathMethods) bool { return k.matches(path) })
		if i < 0 {
			return c.Next()
		}
		allow := strings.Join(known[i].methods, ", ")
		c.Set(fiber.HeaderAllow, allow)
		return fault.New(fault.Unimplemented, "Method Not Allowed: %s has no method %s; it has %s", c.Path(), c.Method(), allow)
	})
}

// pathMethods has the methods of a path. A part of the pattern with a colon is any text, and the
// last part * any parts.
type pathMethods struct{ pattern, methods []string }

func (k *pathMethods) matches(path string) bool {
	for _, part := range k.pattern {
		rest, ok := strings.CutPrefix(path, "/")
		if !ok || rest == "" {
			return false
		}
		if part == "*" {
			return true
		}
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		if part[0] != ':' && part != rest[:end] || end == 0 {
			return false
		}
		path = rest[end:]
	}
	return path == ""
}

// admit checks the caller before the body is read. The context of a raw route ends only with
// the server, because its stream continues after its handler; other routes have a time limit,
// which starts after the body was received.
func (a *API) admit(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if r.Access == v1.BySCIM {
			return a.admitSCIM(c, &r)
		}
		who, err := a.signedIn(c)
		if r.Access == v1.Public {
			if err == nil {
				c.Locals(whoKey{}, who)
			}
			return a.recorded(c, &r, auth.Who{})
		}
		if err != nil {
			return err
		}
		if err := r.checkAccess(who); err != nil {
			return a.rejected(c, &r, who, err)
		}
		c.Locals(whoKey{}, who)
		return a.recorded(c, &r, who)
	}
}

// readsByPost are the endpoints that only read although their method is POST: an access token that may only read may call them.
var readsByPost = map[string]bool{
	v1.SearchRuns.Path: true, v1.SearchExperiments.Path: true, v1.GetModelDefFile.Path: true, v1.ListGroups.Path: true,
	v1.ListRoles.Path: true, v1.GetRolesByID.Path: true, v1.SearchRolesAssignableToScope.Path: true,
}

// checkAccess fails if a caller may not call a route.
func (r route) checkAccess(who auth.Who) error {
	switch {
	case r.Access == v1.Public:
	case (r.Access == v1.BySCIM) != (who.Service == serviceSCIM):
		return fault.New(fault.Forbidden, "only a SCIM client with its own secret may call this endpoint")
	case r.Access == v1.BySCIM:
	case r.Access == v1.ByUsers && who.IsTask(), r.Access == v1.ByAdmins && who.IsTask():
		return fault.New(fault.Forbidden, "a task's token may not call this; sign in as a user")
	case r.Access == v1.ByTasks && !who.IsTask():
		return fault.New(fault.Forbidden, "only the task itself may call this endpoint")
	case who.Within != "" && !r.openToTasks():
		return fault.New(fault.Forbidden, "a task's session may not do this; sign in as a user with det user login")
	case who.ReadOnly && (r.Verb == v1.Enter || r.Method != fiber.MethodGet && !readsByPost[r.Path]):
		return fault.New(fault.Forbidden, "this access token may only read; sign in, or use a token that was created without --read-only")
	case who.OwnerGone && !r.openToDeactivated():
		return fault.New(fault.Unauthenticated, "user %s is deactivated; attempt %s may only report about itself", who.Username, who.AllocationID)
	case r.Access == v1.ByAdmins && !auth.Can(who, auth.Administer, auth.Object{Kind: r.Object}):
		return fault.New(fault.Forbidden, "only an admin may do this")
	case r.Verb == v1.Create && !auth.Can(who, auth.Create, auth.Object{Kind: r.Object}):
		return auth.May(who, auth.Create, auth.Object{Kind: r.Object})
	case r.Verb == v1.View && !r.loads && !r.List && auth.Global(r.Object) && !auth.Can(who, auth.View, auth.Object{Kind: r.Object}):
		return fault.New(fault.Forbidden, "%s may not %s the %s", who.Username, r.Verb, r.Object)
	case who.Ended && !r.After:
		return fault.New(fault.Unauthenticated, "attempt %s has ended; its token may send only logs and its exit", who.AllocationID)
	}
	return nil
}

// signedIn identifies the caller; the query has its own time limit, because the rest may last
// as long as a stream.
func (a *API) signedIn(c *fiber.Ctx) (auth.Who, error) {
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	return a.auth.who(ctx, c)
}

type whoKey struct{}

func whoOf(c *fiber.Ctx) auth.Who {
	who, _ := c.Locals(whoKey{}).(auth.Who)
	return who
}
