package proxy

import (
	"context"
	"net/http"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/master/v1"
)

// Direct answers on the API's origin.
func (p *Proxy) Direct(w http.ResponseWriter, r *http.Request, v Visitor) {
	id, slash, err := taskOf(r.URL.EscapedPath())
	if err != nil {
		show(w, r, refusal(err))
		return
	}
	asked := tunnel.Asked(r.Header)
	isTunnel := asked == v1.GatewayTunnel || asked == webSocket
	if v.Err != nil && !isTunnel {
		p.stranger(w, r, id, v.Err)
		return
	}
	t, ok := p.find(w, r)
	switch {
	case !ok:
	case t.kind() == v1.GatewayOfSSH:
		p.shell(w, r, t, isTunnel)
	case v.Err != nil:
		p.stranger(w, r, id, v.Err)
	case !mayEnter(v.Who, t):
		show(w, r, pageNotYours(t, v.Who.Username))
	case v.Cookie:
		p.send(w, r, t, v.Who)
	case !slash:
		http.Redirect(w, r, withQuery(base(id), r.URL.RawQuery), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		p.visit(w, r, t, func(ctx context.Context) (auth.Who, error) { return v.Again(ctx) }, p.forward(true))
	}
}

// stranger answers somebody who is nobody here. What is away is away for all.
func (p *Proxy) stranger(w http.ResponseWriter, r *http.Request, id string, err error) {
	if fault.Is(err, fault.Unauthenticated) {
		show(w, r, pageSignIn(id))
		return
	}
	p.fail(w, r, err)
}

// send sends a signed-in browser to the tasks' origin, with a ticket.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, t Task, who auth.Who) {
	switch {
	case p.origins.of(t.ID) == "":
		show(w, r, pageNoOrigin(t))
		return
	case !readOnly(r.Method) || tunnel.Asked(r.Header) != "":
		show(w, r, pageBrowser(p.origins.Master+base(t.ID)))
		return
	case t.kind() == v1.GatewayOfNone:
		show(w, r, pageNothing(t))
		return
	}
	path := r.URL.EscapedPath()
	if _, slash, _ := taskOf(path); !slash {
		path += "/"
	}
	link, err := p.ticket(r.Context(), who, t.ID, path, r.URL.RawQuery)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", link)
	w.WriteHeader(http.StatusSeeOther)
}

func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}
