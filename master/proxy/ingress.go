package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy/grant"
	"github.com/detent-ml/detent/master/proxy/headers"
	v1 "github.com/detent-ml/detent/master/v1"
)

// IngressPath is the path at which an ingress asks the master about each request that it would
// forward to a task's gateway. The headers X-Forwarded-Method, -Host and -Uri describe the request.
const IngressPath = "/ingress"

// serveIngress decides about a request to the tasks' origin as if the master served it. If the
// request may pass, the answer is 200, with a grant for the gateway and with the cookies that the
// program may see; otherwise it is the answer for the client.
//
// The answer is of use only to clients that could send the request to the tasks' origin, because it
// requires the same cookie or ticket, and the grant is for this request.
func (p *Proxy) serveIngress(w http.ResponseWriter, r *http.Request) {
	if !p.rules.Ingress {
		show(w, r, pageNoPath())
		return
	}
	asked, err := described(r)
	if err != nil {
		show(w, r, pageBadPath(err))
		return
	}
	p.tasksOrigin(&absolute{ResponseWriter: w, origin: p.origins.at(asked.Host)}, asked, p.grant)
}

var (
	errNotDescribed = errors.New("the ingress did not describe the request with the headers X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, once each")
	errNotParsed    = errors.New("the ingress asked about an address that is none")
)

// described returns the request that the headers of an ingress describe.
func described(r *http.Request) (*http.Request, error) {
	var of [3]string
	for i, field := range []string{"X-Forwarded-Method", "X-Forwarded-Host", "X-Forwarded-Uri"} {
		lines := r.Header.Values(field)
		if len(lines) != 1 || lines[0] == "" {
			return nil, errNotDescribed
		}
		of[i] = lines[0]
	}
	at, err := url.ParseRequestURI(of[2])
	if err != nil || at.Host != "" || at.Scheme != "" || !strings.HasPrefix(at.Path, "/") {
		return nil, errNotParsed
	}
	asked := r.Clone(r.Context())
	asked.Method, asked.Host, asked.URL, asked.RequestURI, asked.Body, asked.ContentLength = of[0], of[1], at, of[2], http.NoBody, 0
	if asked.Header.Get("Sec-Websocket-Key") != "" { // an ingress does not pass on the headers that ask for a WebSocket
		asked.Header.Set("Connection", "Upgrade")
		asked.Header.Set("Upgrade", webSocket)
	}
	return asked, nil
}

// grant lets an ingress forward a request.
func (p *Proxy) grant(w http.ResponseWriter, r *http.Request, t taskService, who access) {
	if t.at.port == 0 && t.kind() == v1.GatewayOfHTTP && !t.Ready {
		show(w, r, pageStarting(t))
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set(v1.GatewayHeader, grant.New(t.Secret, r.Method, r.URL.EscapedPath(), who.session, time.Now()))
	if kept := headers.Cookies(r.Header); len(kept) > 0 {
		h["Cookie"] = kept
	}
	w.WriteHeader(http.StatusOK)
}

// An absolute response names the origin in a redirect: an ingress would complete a path with the
// master's own address.
type absolute struct {
	http.ResponseWriter
	origin string
}

// WriteHeader completes the address of a redirect.
func (a *absolute) WriteHeader(status int) {
	if to := a.Header().Get("Location"); strings.HasPrefix(to, "/") {
		a.Header().Set("Location", a.origin+to)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Gone returns the visitors who may no longer be connected to an attempt through an ingress: their
// session has ended, or its user may no longer open the task.
func (p *Proxy) Gone(ctx context.Context, task, attempt string, visitors []string) ([]string, error) {
	t, err := p.dir.Task(ctx, task, "")
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	now := accessState{tasks: map[string]Task{}}
	if err == nil {
		now.tasks[task] = t
	}
	sessions := map[string]int64{}
	var ids []int64
	for _, v := range visitors {
		if id, ok := grant.Session(t.Secret, v); ok {
			sessions[v] = id
			if id != 0 {
				ids = append(ids, id)
			}
		}
	}
	if now.sessions, err = p.dir.Sessions(ctx, ids); err != nil {
		return nil, err
	}
	var gone []string
	for _, v := range visitors {
		id, ok := sessions[v]
		if !ok || (access{task: task, attempt: attempt, session: id}).valid(now) != nil {
			gone = append(gone, v)
		}
	}
	return gone, nil
}
