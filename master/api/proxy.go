package api

import (
	"context"
	"io/fs"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/store"

	v1 "github.com/detent-ml/detent/master/v1"
)

// registerProxy adds what opens tasks. The paths of tasks themselves are no
// routes of the table: see mountProxy.
func (a *API) registerProxy() {
	serveOn(a, v1.LinkTask, a.onOpenedTask(), a.taskLink)
}

// onOpenedTask loads a task that somebody wants to open in a browser.
func (a *API) onOpenedTask() object[store.Task] {
	o := a.onTask()
	find := o.load
	o.load = func(ctx context.Context, c *call) (store.Task, error) {
		if a.cfg.Proxy == nil {
			return store.Task{}, fault.New(fault.Unavailable, "the task proxy is disabled on this master")
		}
		return find(ctx, c)
	}
	o.refusal = func(_ *call, _ auth.Verb, k store.Task) error { return proxy.Refusal(k.Type, k.Owner) }
	return o
}

// mountProxy passes on what is for tasks: /proxy/ on this origin, and everything
// that comes to a host of the tasks' domain, to which nothing else answers.
func (a *API) mountProxy() {
	if a.cfg.Proxy == nil {
		return
	}
	tasks := a.cfg.Proxy.Tasks()
	a.app.Use(func(c *fiber.Ctx) error {
		if !a.cfg.Proxy.TasksHost(string(c.Request().Host())) {
			return c.Next()
		}
		return a.hijack(c, tasks)
	})
	a.app.All(proxy.Prefix+"*", func(c *fiber.Ctx) error {
		v := a.proxyCaller(c)
		return a.hijack(c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.cfg.Proxy.Direct(w, r, v) }))
	})
	if a.cfg.Pages != nil {
		if _, err := fs.Stat(a.cfg.Pages, "index.html"); err == nil {
			return // our pages have these addresses
		}
	}
	// Determined's own clients print addresses of pages that it had; they lead on.
	a.app.Get("/det/interactive/:id/*", a.oldTaskPage)
	a.app.Get("/det/wait/:type/:id", a.oldTaskPage)
}

// oldTaskPage leads from where Determined showed a task to where it is here.
func (a *API) oldTaskPage(c *fiber.Ctx) error {
	id := c.Params("id")
	if id == "" || strings.ContainsAny(id, "/\\?#%") {
		return fault.New(fault.NotFound, "no such path: %s %s", c.Method(), c.Path())
	}
	return c.Redirect(proxy.Prefix+id+"/", fiber.StatusSeeOther)
}

// proxyCaller says who wants to open a task.
func (a *API) proxyCaller(c *fiber.Ctx) proxy.Caller {
	s := tokenOf(c)
	if s.token == "" {
		return proxy.Caller{Err: fault.New(fault.Unauthenticated, "not signed in"), Address: a.addressOf(c)}
	}
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	who, err := a.auth.byToken(ctx, s)
	if err == nil && who.Within != "" {
		who, err = auth.Who{}, fault.New(fault.Forbidden, "a task's session may not open tasks; sign in as a user with det user login")
	}
	v := proxy.Caller{Who: who, Cookie: s.cookie, Err: err, Address: a.addressOf(c),
		Proof: func(task string) string {
			proof, _ := auth.DerivedToken(s.token, "open "+task)
			return proof
		}}
	if s.cookie {
		v.Foreign = sameOrigin(c) // what such a request gets is a page that asks
	}
	return v
}

func (a *API) taskLink(ctx context.Context, c *call, k store.Task, _ *v1.None) (*v1.TaskLinkResponse, error) {
	link, err := a.cfg.Proxy.Link(ctx, c.who, k.ID)
	return &v1.TaskLinkResponse{URL: link}, err
}
