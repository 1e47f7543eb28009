package proxy

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy/headers"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Tasks serves the tasks' origin. It has no API and no sign-in, and it ignores tokens in headers: only
// the cookie of a task opens that task.
func (p *Proxy) Tasks() http.Handler { return http.HandlerFunc(p.serveTasks) }

func (p *Proxy) serveTasks(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == IngressPath {
		p.serveIngress(w, r)
		return
	}
	p.tasksOrigin(w, r, func(w http.ResponseWriter, r *http.Request, t taskService, who access) {
		p.admitted(w, r, t, who, p.forward(false))
	})
}

// tasksOrigin checks a request to the tasks' origin, and serves it if it may pass.
func (p *Proxy) tasksOrigin(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter, *http.Request, taskService, access)) {
	at, slash, err := serviceOf(r.URL.EscapedPath())
	id := at.task
	switch {
	case err != nil:
		show(w, r, refusal(err))
		return
	case !p.origins.fits(r.Host, id):
		show(w, r, pageNoPath())
		return
	}
	ticket, query, carried := takeParameter(r.URL.RawQuery, ticketField)
	if carried && readOnly(r.Method) {
		p.redeem(w, r, at, ticket, query)
		return
	}
	_, r.URL.RawQuery, _ = takeToken(query)
	who, err := p.visitor(r, id)
	switch {
	case fault.Is(err, fault.NotFound):
		p.serveAnybody(w, r, at, slash, serve)
		return
	case err != nil:
		p.fail(w, r, err)
		return
	case p.origins.foreign(r, id):
		show(w, r, pageForeign())
		return
	}
	t, ok := p.find(w, r, at)
	switch {
	case !ok:
	case !mayEnter(who, t.Task):
		show(w, r, pageRefused(t.Task, who))
	case t.offers == v1.GatewayOfSSH:
		show(w, r, pageShell(t.Task))
	case t.offers == v1.GatewayOfTCP:
		show(w, r, pageStream(t))
	case !slash:
		http.Redirect(w, r, withQuery(at.base(), query), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		serve(w, r, t, access{task: t.ID, attempt: t.AllocationID, session: who.SessionID})
	}
}

// serveAnybody serves what is open to everybody, to a client without a cookie of the task.
func (p *Proxy) serveAnybody(w http.ResponseWriter, r *http.Request, at service, slash bool, serve func(http.ResponseWriter, *http.Request, taskService, access)) {
	t := p.openAt(r.Context(), at)
	switch {
	case !t.open:
		show(w, r, pageNoCookie(p.origins.Master, at))
	case t.OwnerGone:
		show(w, r, pageOwnerGone(t.Task))
	case t.offers == v1.GatewayOfTCP:
		show(w, r, pageStream(t))
	case !slash:
		http.Redirect(w, r, withQuery(at.base(), r.URL.RawQuery), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		serve(w, r, t, access{task: t.ID, attempt: t.AllocationID, address: network(r.RemoteAddr)})
	}
}

// openAt finds a service for a client without a session. If the service is not open to everybody,
// the result is empty, so that such a client does not learn which tasks exist.
func (p *Proxy) openAt(ctx context.Context, at service) taskService {
	if !p.rules.OpenPorts {
		return taskService{}
	}
	t, err := p.task(ctx, at.task)
	if err != nil {
		return taskService{}
	}
	if v := p.rules.service(t, at); v.open {
		return v
	}
	return taskService{}
}

// network identifies a client without a session for the limits of connections: by its IPv4 address,
// or by its IPv6 network (/64).
func network(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	return cache.NetworkOf(at.Addr())
}

// visitor finds the user whose cookie for the task a request has; fault.NotFound for none.
func (p *Proxy) visitor(r *http.Request, task string) (auth.Who, error) {
	cookie, err := r.Cookie(headers.TaskCookie(task))
	if err != nil {
		return auth.Who{}, fault.New(fault.NotFound, "no cookie of task %s", task)
	}
	return p.cookieWho(r.Context(), cookie.Value, task)
}

// redeem trades a ticket for a cookie, and redirects the browser to the address without the ticket,
// so that neither the history nor the task's pages contain it. A ticket works once; a browser that
// presents a used ticket and has a valid cookie is redirected too.
func (p *Proxy) redeem(w http.ResponseWriter, r *http.Request, at service, ticket, query string) {
	id := at.task
	token, hash := auth.NewToken()
	err := p.dir.RedeemTicket(r.Context(), auth.HashToken(ticket), id, hash)
	switch {
	case err == nil:
		http.SetCookie(w, &http.Cookie{Name: headers.TaskCookie(id), Value: token, Path: at.base(), HttpOnly: true,
			Secure: p.origins.secure(id), SameSite: http.SameSiteLaxMode})
	case !fault.Is(err, fault.NotFound):
		p.fail(w, r, err)
		return
	case !p.inside(r, id):
		show(w, r, pageTicket(p.origins.Master, at))
		return
	}
	redirect(w, withQuery(r.URL.EscapedPath(), query))
}

// inside reports whether a request has a cookie that opens the task.
func (p *Proxy) inside(r *http.Request, id string) bool {
	_, err := p.visitor(r, id)
	return err == nil
}
