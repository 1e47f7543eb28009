package tasks

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
	v1 "github.com/detent-ml/detent/master/v1"
)

// onOpened loads a task that a user opens in a browser.
func (d Deps) onOpened() rest.Object[Task] {
	o := refusedByProxy(On(d.DB))
	find := o.Load
	o.Load = func(ctx context.Context, c *rest.Call) (Task, error) {
		if d.Proxy == nil {
			return Task{}, fault.New(fault.Unavailable, "the task proxy is disabled on this master")
		}
		return find(ctx, c)
	}
	return o
}

// refusedByProxy refuses callers who may not open a task, in the words of the proxy.
func refusedByProxy(o rest.Object[Task]) rest.Object[Task] {
	o.Refusal = func(_ *rest.Call, _ auth.Verb, k Task) error { return proxy.Refusal(k.Type, k.Owner) }
	return o
}

// forward forwards requests for tasks: /proxy/ on this origin, and all requests for a host
// of the tasks' domain. It also answers an ingress that forwards such requests itself.
func (d Deps) forward(r *rest.Router) {
	if d.Proxy == nil {
		return
	}
	tasks := d.Proxy.Tasks()
	r.Host(d.Proxy.TasksHost, func(c *rest.Call) error { return c.Hijack(tasks) })
	r.Handle(http.MethodGet, proxy.IngressPath, func(c *rest.Call) error { return c.Hijack(tasks) })
	r.Handle("", proxy.Prefix+"*", func(c *rest.Call) error {
		v := d.caller(c)
		return c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.Proxy.Direct(w, r, v) }))
	})
	if d.Pages != nil {
		if _, err := fs.Stat(d.Pages, "index.html"); err == nil {
			return // the web pages have these paths
		}
	}
	// Determined's clients print addresses of its own pages; they redirect to Detent's.
	r.Handle(http.MethodGet, "/det/interactive/:id/*", oldTaskPage)
	r.Handle(http.MethodGet, "/det/wait/:type/:id", oldTaskPage)
}

// oldTaskPage redirects from Determined's address of a task to Detent's.
func oldTaskPage(c *rest.Call) error {
	id := c.Param("id")
	if id == "" || strings.ContainsAny(id, "/\\?#%") {
		return fault.New(fault.NotFound, "no such path: %s %s", c.Method(), c.Path())
	}
	return c.Redirect(proxy.Prefix+id+"/", http.StatusSeeOther)
}

// caller identifies the user who opens a task.
func (d Deps) caller(c *rest.Call) proxy.Caller {
	s := c.Credential()
	if s.Token == "" {
		return proxy.Caller{Err: fault.New(fault.Unauthenticated, "not signed in"), Address: c.Address()}
	}
	ctx, cancel := c.Within()
	defer cancel()
	who, err := d.Identify(ctx, s)
	if err == nil && who.Within != "" {
		who, err = auth.Who{}, fault.New(fault.Forbidden, "a task's session may not open tasks; sign in as a user with det user login")
	}
	v := proxy.Caller{Who: who, Cookie: s.Cookie, Err: err, Address: c.Address(),
		Proof: func(task string) string {
			proof, _ := auth.DerivedToken(s.Token, "open "+task)
			return proof
		}}
	v.Note = d.noteOpened(c, who)
	if s.Cookie {
		v.Foreign = c.SameOrigin() // such a request gets a page that asks the user
	}
	return v
}

// noteOpened records users who open tasks of other users under the tasks' paths. It copies
// what it needs from the request, because the proxy calls it after the handler.
func (d Deps) noteOpened(c *rest.Call, who auth.Who) func(t proxy.Task, refusal error) error {
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
		return d.Trail.Add(&opened)
	}
}

func (d Deps) link(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*v1.TaskLinkResponse, error) {
	link, err := d.Proxy.Link(ctx, c.Who(), k.ID)
	return &v1.TaskLinkResponse{URL: link}, err
}

func (d Deps) programAddress(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*v1.TaskAddressResponse, error) {
	address, token, err := d.Proxy.ProgramAddress(ctx, c.Who(), k.ID)
	return &v1.TaskAddressResponse{URL: address, Token: token}, err
}
