//go:build linux

package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/proxy/grant"
	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	// checkEvery is the interval of requests to the master about visitors.
	checkEvery = 3 * time.Second
	// maxVisits and maxAnonymousVisits limit the open requests and connections of an ingress; the
	// second those of visitors without a session.
	maxVisits          = 1024
	maxAnonymousVisits = 256
)

// A passage is a request that an ingress has forwarded, with a grant of the master. The gateway
// treats it as the master treats the requests that it forwards.
type passage struct {
	base   string // of the task's paths
	master string // origin of the master's pages
}

type passageKey struct{}

// passageOf is the passage of a request; nil for a request of the master.
func passageOf(r *http.Request) *passage {
	p, _ := r.Context().Value(passageKey{}).(*passage)
	return p
}

// leave limits the headers of an answer to the task.
func (p *passage) leave(h http.Header) {
	if p == nil {
		return
	}
	headers.Confine(h, p.base+"/")
	h.Add("Content-Security-Policy", headers.Frames(p.master))
}

// enter removes our headers from a request, and adds headers about the client with the values that the
// ingress sent. A visitor who forges these values deceives only a task that the visitor may use.
func enter(r *http.Request, base string) {
	address, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"), ",")
	scheme := r.Header.Get("X-Forwarded-Proto")
	headers.Strip(r.Header)
	if net.ParseIP(address) != nil {
		r.Header.Set("X-Forwarded-For", address)
		r.Header.Set("X-Real-Ip", address)
	}
	switch scheme { // Traefik names that of WebSockets
	case "https", "wss":
		r.Header.Set("X-Forwarded-Proto", "https")
	default:
		r.Header.Set("X-Forwarded-Proto", "http")
	}
	r.Header.Set("X-Forwarded-Host", r.Host)
	r.Header.Set("X-Forwarded-Prefix", base)
}

// visits are the open requests and connections of an ingress, by visitor.
type visits struct {
	mu        sync.Mutex
	open      map[string]map[*context.CancelCauseFunc]struct{}
	count     int
	anonymous int
}

func newVisits() *visits { return &visits{open: map[string]map[*context.CancelCauseFunc]struct{}{}} }

var (
	errTooMany = errors.New("too many open connections to this task")
	errGone    = errors.New("the visitor may not enter the task any more")
)

// begin adds a visit. Its context ends when the visitor may not enter any more; the caller calls
// the returned function at the end.
func (v *visits) begin(ctx context.Context, visitor string) (context.Context, func(), error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	anonymous := grant.Anonymous(visitor)
	if v.count >= maxVisits || anonymous && v.anonymous >= maxAnonymousVisits {
		return nil, nil, errTooMany
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := &cancel
	if v.open[visitor] == nil {
		v.open[visitor] = map[*context.CancelCauseFunc]struct{}{}
	}
	v.open[visitor][key] = struct{}{}
	v.count++
	if anonymous {
		v.anonymous++
	}
	return ctx, sync.OnceFunc(func() {
		cancel(nil)
		v.mu.Lock()
		defer v.mu.Unlock()
		if delete(v.open[visitor], key); len(v.open[visitor]) == 0 {
			delete(v.open, visitor)
		}
		v.count--
		if anonymous {
			v.anonymous--
		}
	}), nil
}

// visitors are those who have open connections.
func (v *visits) visitors() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]string, 0, len(v.open))
	for visitor := range v.open {
		list = append(list, visitor)
	}
	return list
}

// end closes the connections of a visitor.
func (v *visits) end(visitor string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for cancel := range v.open[visitor] {
		(*cancel)(errGone)
	}
}

// Visitors asks a master every few seconds which visitors of the ingress may no longer use the task, and
// closes their connections, until ctx ends. If no master answers, the connections stay open.
func (s *Server) Visitors(ctx context.Context, ask func(ctx context.Context, visitors []string) (gone []string, err error)) {
	b := s.backend.Load()
	if b == nil || b.spec.Ingress == nil {
		return
	}
	for sleep.For(ctx, checkEvery) == nil {
		list := b.visits.visitors()
		if len(list) == 0 {
			continue
		}
		gone, err := ask(ctx, list)
		if err != nil {
			continue
		}
		for _, visitor := range gone {
			b.visits.end(visitor)
		}
	}
}

// admit identifies the sender of a request: a master, or an ingress with a grant, which names the
// visitor.
func (b *backend) admit(r *http.Request, shown string) (visitor string, ok bool) {
	if b.knows(shown) {
		return "", true
	}
	if b.spec.Ingress == nil {
		return "", false
	}
	return grant.Check(b.spec.Secret, shown, r.Method, r.URL.EscapedPath(), time.Now())
}

// visit prepares a request of an ingress. The returned context, and that of the request, end with
// open and with the visitor's right to enter; the function ends the visit.
func (b *backend) visit(r *http.Request, open context.Context, to *way, visitor string) (*http.Request, context.Context, func(), error) {
	until, end, err := b.visits.begin(open, visitor)
	if err != nil {
		return nil, nil, nil, err
	}
	enter(r, to.base)
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), passageKey{}, &passage{base: to.base, master: b.spec.Ingress.Master}))
	stop := context.AfterFunc(until, cancel)
	return r.WithContext(ctx), until, func() { stop(); cancel(); end() }, nil
}
