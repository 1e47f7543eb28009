package api

import (
	"context"
	"io/fs"
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerProxy adds the routes that open tasks. The paths of tasks themselves are not in the
// table of routes: see mountProxy.
func (a *API) registerProxy() {
	rest.ServeOn(a.router, v1.LinkTask, a.onOpenedTask(), a.taskLink)
	rest.ServeOn(a.router, v1.AddressTask, a.onOpenedTask(), a.taskAddress)
}

// onOpenedTask loads a task that a user opens in a browser.
func (a *API) onOpenedTask() rest.Object[store.Task] {
	o := a.onTask()
	find := o.Load
	o.Load = func(ctx context.Context, c *rest.Call) (store.Task, error) {
		if a.cfg.Proxy == nil {
			return store.Task{}, fault.New(fault.Unavailable, "the task proxy is disabled on this master")
		}
		return find(ctx, c)
	}
	o.Refusal = func(_ *rest.Call, _ auth.Verb, k store.Task) error { return proxy.Refusal(k.Type, k.Owner) }
	return o
}

// mountProxy forwards requests for tasks: /proxy/ on this origin, and all requests for a host
// of the tasks' domain. It also answers an ingress that forwards such requests itself.
func (a *API) mountProxy() {
	if a.cfg.Proxy == nil {
		return
	}
	tasks := a.cfg.Proxy.Tasks()
	a.router.Host(a.cfg.Proxy.TasksHost, func(c *rest.Call) error { return c.Hijack(tasks) })
	a.router.Handle(http.MethodGet, proxy.IngressPath, func(c *rest.Call) error { return c.Hijack(tasks) })
	a.router.Handle("", proxy.Prefix+"*", func(c *rest.Call) error {
		v := a.proxyCaller(c)
		return c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.cfg.Proxy.Direct(w, r, v) }))
	})
	if a.cfg.Pages != nil {
		if _, err := fs.Stat(a.cfg.Pages, "index.html"); err == nil {
			return // the web pages have these paths
		}
	}
	// Determined's clients print addresses of its own pages; they redirect to Detent's.
	a.router.Handle(http.MethodGet, "/det/interactive/:id/*", oldTaskPage)
	a.router.Handle(http.MethodGet, "/det/wait/:type/:id", oldTaskPage)
}

// oldTaskPage redirects from Determined's address of a task to Detent's.
func oldTaskPage(c *rest.Call) error {
	id := c.Param("id")
	if id == "" || strings.ContainsAny(id, "/\\?#%") {
		return fault.New(fault.NotFound, "no such path: %s %s", c.Method(), c.Path())
	}
	return c.Redirect(proxy.Prefix+id+"/", http.StatusSeeOther)
}

// proxyCaller identifies the user who opens a task.
func (a *API) proxyCaller(c *rest.Call) proxy.Caller {
	s := c.Credential()
	if s.Token == "" {
		return proxy.Caller{Err: fault.New(fault.Unauthenticated, "not signed in"), Address: c.Address()}
	}
	ctx, cancel := c.Within()
	defer cancel()
	who, err := a.auth.ByToken(ctx, s)
	if err == nil && who.Within != "" {
		who, err = auth.Who{}, fault.New(fault.Forbidden, "a task's session may not open tasks; sign in as a user with det user login")
	}
	v := proxy.Caller{Who: who, Cookie: s.Cookie, Err: err, Address: c.Address(),
		Proof: func(task string) string {
			proof, _ := auth.DerivedToken(s.Token, "open "+task)
			return proof
		}}
	v.Note = a.noteOpened(c, who)
	if s.Cookie {
		v.Foreign = c.SameOrigin() // such a request gets a page that asks the user
	}
	return v
}

// noteOpened records users who open tasks of other users under the tasks' paths. It copies
// what it needs from the request, because the proxy calls it after the handler.
func (a *API) noteOpened(c *rest.Call, who auth.Who) func(t proxy.Task, refusal error) error {
	e := audit.Entry{Username: who.Username, UserID: &who.UserID, Credential: audit.CredentialName(who), Address: c.Address(), Method: c.Method(),
		Path: "/" + proxy.Prefix + "*", Verb: string(v1.Enter), Kind: string(v1.KindTask)}
	if from, ok := c.Client(); ok {
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
		return a.trail.Add(&opened)
	}
}

func (a *API) taskLink(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.TaskLinkResponse, error) {
	link, err := a.cfg.Proxy.Link(ctx, c.Who(), k.ID)
	return &v1.TaskLinkResponse{URL: link}, err
}

func (a *API) taskAddress(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.TaskAddressResponse, error) {
	address, token, err := a.cfg.Proxy.ProgramAddress(ctx, c.Who(), k.ID)
	return &v1.TaskAddressResponse{URL: address, Token: token}, err
}
