package rest

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Router has the routes of a master, and serves them. First each noun adds its routes, then Mount sorts them, then Listen serves.
type Router struct {
	Limits *Limits

	cfg       Config
	log       *slog.Logger
	stopping  context.Context // ends with the server
	app       *fiber.App
	routes    []*Route
	outside   []outside
	hosted    []hosted
	dialects  []Dialect
	admission map[v1.Access]func(c *Call, run func(who auth.Who) error) error
	hosts     hosts
	polls     *polls
	open      *openAnswers
	meters    *meters
	docs      docs
	pages     *pages
}

// An outside path is not in the table of endpoints. Its callers are not identified.
type outside struct {
	method, path string
	handler      func(c *Call) error
}

// A hosted handler answers all requests that name its hosts.
type hosted struct {
	match   func(host string) bool
	handler func(c *Call) error
}

// A Dialect is how a protocol that is not ours writes errors, for paths with a prefix.
type Dialect struct {
	Prefix string
	// Error writes an error, whose text for the client is message.
	Error func(c *Call, status int, err error, message string) error
	// OtherMethod answers a request for a path of the table with a method that it does not have.
	OtherMethod func(c *Call) error
}

// New returns a router without routes. Its requests and streams end when ctx does.
func New(ctx context.Context, cfg Config) *Router {
	if cfg.Trail == nil {
		cfg.Trail = noTrail{}
	}
	cfg.MaxConnections = cmp.Or(cfg.MaxConnections, DefaultMaxConnections)
	r := &Router{cfg: cfg, log: cfg.Log, stopping: ctx, Limits: newLimits(cfg.Receiving), hosts: newHosts(cfg.Hosts), meters: newMeters(), polls: &polls{}, pages: newPages(cfg.Pages),
		admission: map[v1.Access]func(c *Call, run func(who auth.Who) error) error{}}
	r.open, r.docs = newOpenAnswers(&r.cfg), r.newDocs()
	r.app = r.newApp()
	go r.open.run(ctx)
	return r
}

func (r *Router) newApp() *fiber.App {
	return fiber.New(fiber.Config{
		AppName:               "det-master",
		DisableStartupMessage: true,
		Immutable:             true, // values outlive their handler: streams and queues keep them
		StreamRequestBody:     true,
		// Otherwise fasthttp would store the files of a form before a route checks its
		// limit.
		DisablePreParseMultipartForm: true,
		BodyLimit:                    v1.FilesBody,         // of any route; each has its own, which is checked before a body is read
		Concurrency:                  r.cfg.MaxConnections, // each connection has buffers, and anonymous callers can open one
		ErrorHandler:                 r.writeError,
		ReadTimeout:                  2 * time.Minute,
		IdleTimeout:                  2 * time.Minute,
		ReadBufferSize:               maxHead,
		WriteBufferSize:              8 << 10, // a piece of a stream (4 KiB) and its length in one packet
		UnescapePath:                 true,
		CaseSensitive:                true,
	})
}

// Handle adds a path that is not in the table, for GET and HEAD, or for all methods if method is "". The handler
// identifies its caller itself.
func (r *Router) Handle(method, path string, handler func(c *Call) error) {
	r.outside = append(r.outside, outside{method, path, handler})
}

// Head lets HEAD have the headers of an endpoint that writes its own answer.
func (r *Router) Head(l v1.Line) {
	for _, x := range r.routes {
		x.head = x.head || x.Method == l.Method && x.Path == l.Path
	}
}

// Host adds a handler for all requests that name certain hosts.
func (r *Router) Host(match func(host string) bool, handler func(c *Call) error) {
	r.hosted = append(r.hosted, hosted{match, handler})
}

// AdmitBy lets admit check the callers of all endpoints with an access: it calls run with the caller whom it admits, or returns
// what Reject returns.
func (r *Router) AdmitBy(access v1.Access, admit func(c *Call, run func(who auth.Who) error) error) {
	r.admission[access] = admit
}

// Reject records that a call was rejected, and returns why.
func (c *Call) Reject(why error) error { return c.router.cfg.Trail.Rejected(c, auth.Who{}, why) }

// Speak adds a protocol that is not ours.
func (r *Router) Speak(d Dialect) { r.dialects = append(r.dialects, d) }

// Routes lists the routes, in the order in which they were added.
func (r *Router) Routes() []*Route { return r.routes }

// Mount completes the router: all routes were added.
func (r *Router) Mount() {
	r.app.Use(r.guard)
	r.mountOutside()
	for _, x := range Sorted(r.routes) {
		r.mount(x)
	}
	for _, l := range v1.Absent {
		why := fault.New(fault.Unimplemented, "%s", l.Why)
		r.app.Add(l.Method, l.Pattern(), func(fc *fiber.Ctx) error {
			if _, err := r.callOf(fc).signedIn(); err != nil {
				return err
			}
			return why
		})
	}
	r.mountDialects()
	r.otherMethods()
	r.app.Use(r.sendPage)
}

// mountOutside adds what is not in the table: it comes before all routes.
func (r *Router) mountOutside() {
	for _, h := range r.hosted {
		r.app.Use(func(fc *fiber.Ctx) error {
			if c := r.callOf(fc); h.match(c.Host()) {
				return h.handler(c)
			}
			return fc.Next()
		})
	}
	for _, o := range r.outside {
		handler := func(fc *fiber.Ctx) error { return o.handler(r.callOf(fc)) }
		if o.method == fiber.MethodGet {
			r.app.Get(o.path, handler)
		} else {
			r.app.All(o.path, handler)
		}
	}
}

func (r *Router) mount(x *Route) {
	path := x.Pattern()
	if x.Page {
		r.app.Get(path, func(fc *fiber.Ctx) error {
			if r.callOf(fc).WantsPage() {
				return r.sendPage(fc)
			}
			return fc.Next()
		})
	}
	r.app.Add(x.Method, path, r.admit(x, x.handler))
	if x.Method == fiber.MethodGet && (x.message || x.head) {
		r.app.Add(fiber.MethodHead, path, r.admit(x, x.handler))
	}
}

// Checks returns a router with the same endpoints, which answers 200 if the caller may call an endpoint, and calls no handler. It is
// for tests of rights.
func (r *Router) Checks() *Router {
	checks := *r
	checks.app = fiber.New(fiber.Config{DisableStartupMessage: true, ErrorHandler: r.writeError})
	for _, x := range Sorted(r.routes) {
		checks.app.Add(x.Method, x.Pattern(), r.admit(x, func(c *Call) error {
			if x.check != nil {
				if err := x.check(c); err != nil {
					return err
				}
			}
			return c.SendStatus(fiber.StatusOK)
		}))
	}
	return &checks
}

// Listen serves connections until Shutdown.
func (r *Router) Listen(on net.Listener) error { return r.app.Listener(on) }

// Shutdown stops listening, and waits for requests in progress at most a time.
func (r *Router) Shutdown(within time.Duration) error { return r.app.ShutdownWithTimeout(within) }

// Connections is how many connections are open.
func (r *Router) Connections() int { return int(r.app.Server().GetOpenConnectionsCount()) }

// MaxConnections is how many connections can be open.
func (r *Router) MaxConnections() int { return r.app.Server().Concurrency }

// Waiting is how many long polls each caller has open.
func (r *Router) Waiting() map[string]int { return r.polls.open() }

// Open is how many answers are open: streams and long polls.
func (r *Router) Open() int { return r.open.len() }

// Wait returns when the router does nothing any more: its context has ended.
func (r *Router) Wait() { <-r.open.done }

// WriteMetrics prints the counts of requests in Prometheus' text format.
func (r *Router) WriteMetrics(w io.Writer) { r.meters.write(w) }
