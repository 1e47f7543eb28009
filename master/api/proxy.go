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

// registerProxy adds the routes that open tasks. The paths of tasks themselves are not in the
// table of routes: see mountProxy.
func (a *API) registerProxy() {
	serveOn(a, v1.LinkTask, a.onOpenedTask(), a.taskLink)
	serveOn(a, v1.AddressTask, a.onOpenedTask(), a.taskAddress)
}

// onOpenedTask loads a task that a user opens in a browser.
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

// mountProxy forwards requests for tasks: /proxy/ on this origin, and all requests for a host
// of the tasks' domain. It also answers an ingress that forwards such requests itself.
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
	a.app.Get(proxy.IngressPath, func(c *fiber.Ctx) error { return a.hijack(c, tasks) })
	a.app.All(proxy.Prefix+"*", func(c *fiber.Ctx) error {
		v := a.proxyCaller(c)
		return a.hijack(c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.cfg.Proxy.Direct(w, r, v) }))
	})
	if a.cfg.Pages != nil {
		if _, err := fs.Stat(a.cfg.Pages, "index.html"); err == nil {
			return // the web pages have these paths
		}
	}
	// Determined's clients print addresses of its own pages; they redirect to Detent's.
	a.app.Get("/det/interactive/:id/*", a.oldTaskPage)
	a.app.Get("/det/wait/:type/:id", a.oldTaskPage)
}

// oldTaskPage redirects from Determined's address of a task to Detent's.
func (a *API) oldTaskPage(c *fiber.Ctx) error {
	id := c.Params("id")
	if id == "" || strings.ContainsAny(id, "/\\?#%") {
		return fault.New(fault.NotFound, "no such path: %s %s", c.Method(), c.Path())
	}
	return c.Redirect(proxy.Prefix+id+"/", fiber.StatusSeeOther)
}

// proxyCaller identifies the user who opens a task.
func (a *API) proxyCaller(c *fiber.Ctx) proxy.Caller {
	s := tokenOf(c)
	if s.token == "" {
		return proxy.Caller{Err: fault.New(fault.Unauthenticated, "not signed in"), Address: a.addressOf(c)}
	}
	ctx, cancel := a.within(c)
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
	v.Note = a.noteOpened(c, who)
	if s.cookie {
		v.Foreign = sameOrigin(c) // such a request gets a page that asks the user
	}
	return v
}

// noteOpened records users who open tasks of other users under the tasks' paths. It copies
// what it needs from the request, because the proxy calls it after the handler.
func (a *API) noteOpened(c *fiber.Ctx, who auth.Who) func(t proxy.Task, refusal error) error {
	e := store.AuditEntry{Username: who.Username, UserID: &who.UserID, Credential: credentialName(who), Address: a.addressOf(c), Method: c.Method(),
		Path: "/" + proxy.Prefix + "*", Verb: string(v1.Enter), Kind: string(v1.KindTask)}
	if from, ok := a.clientOf(c); ok {
		e.Address = from.String()
	}
	return func(t proxy.Task, refusal error) error {
		if t.OwnerID == who.UserID {
			return nil
		}
		opened, status := e, http.StatusOK
		if refusal != nil {
			status, opened.Error = http.StatusForbidden, refusal.Error()
		}
		opened.Object, opened.WorkspaceID, opened.Status = t.ID, &t.WorkspaceID, &status
		return a.addEntry(&opened)
	}
}

func (a *API) taskLink(ctx context.Context, c *call, k store.Task, _ *v1.None) (*v1.TaskLinkResponse, error) {
	link, err := a.cfg.Proxy.Link(ctx, c.who, k.ID)
	return &v1.TaskLinkResponse{URL: link}, err
}

func (a *API) taskAddress(ctx context.Context, c *call, k store.Task, _ *v1.None) (*v1.TaskAddressResponse, error) {
	address, token, err := a.cfg.Proxy.ProgramAddress(ctx, c.who, k.ID)
	return &v1.TaskAddressResponse{URL: address, Token: token}, err
}
