package proxy

import (
	"crypto/subtle"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/master/v1"
)

// Direct handles a request for a task at the API's origin.
func (p *Proxy) Direct(w http.ResponseWriter, r *http.Request, v Caller) {
	id, slash, err := taskOf(r.URL.EscapedPath())
	if err != nil {
		show(w, r, refusal(err))
		return
	}
	asked := tunnel.Asked(r.Header)
	isTunnel := asked == v1.GatewayTunnel || asked == webSocket
	if v.Err != nil && !isTunnel {
		p.refuseAnonymous(w, r, id, v.Err)
		return
	}
	t, ok := p.find(w, r)
	switch {
	case !ok:
	case t.kind() == v1.GatewayOfSSH:
		p.shell(w, r, t, v, isTunnel)
	case v.Err != nil:
		p.refuseAnonymous(w, r, id, v.Err)
	case !mayEnter(v.Who, t):
		if err := v.note(t, Refusal(t.Type, t.Owner)); err != nil {
			p.fail(w, r, err)
			return
		}
		show(w, r, pageNotYours(t, v.Who.Username))
	case v.Cookie:
		p.send(w, r, t, v)
	case !slash:
		http.Redirect(w, r, withQuery(base(id), r.URL.RawQuery), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		if err := v.note(t, nil); err != nil {
			p.fail(w, r, err)
			return
		}
		p.serveSession(w, r, t, v.Who.SessionID, p.forward(true))
	}
}

// refuseAnonymous answers a request without a valid session. An unavailable database is reported as such.
func (p *Proxy) refuseAnonymous(w http.ResponseWriter, r *http.Request, id string, err error) {
	if fault.Is(err, fault.Unauthenticated) {
		show(w, r, pageSignIn(id))
		return
	}
	p.fail(w, r, err)
}

// send redirects a signed-in browser to the tasks' origin, with a ticket. If another page may
// have caused the request, the user must confirm it first.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, t Task, v Caller) {
	confirmed := r.Method == http.MethodPost
	switch {
	case p.origins.of(t.ID) == "":
		show(w, r, pageNoOrigin(t))
		return
	case tunnel.Asked(r.Header) != "" || !confirmed && !readOnly(r.Method) || confirmed && !agreed(w, r, t, v):
		show(w, r, pageBrowser(p.origins.Master+base(t.ID)))
		return
	case t.kind() == v1.GatewayOfNone:
		show(w, r, pageNothing(t))
		return
	case !confirmed && !openedByUser(r.Header):
		show(w, r, pageConfirm(t, withQuery(r.URL.EscapedPath(), r.URL.RawQuery), v.Proof(t.ID), p.origins.of(t.ID)))
		return
	}
	path := r.URL.EscapedPath()
	if _, slash, _ := taskOf(path); !slash {
		path += "/"
	}
	if err := v.note(t, nil); err != nil {
		p.fail(w, r, err)
		return
	}
	link, err := p.ticket(r.Context(), v.Who, t.ID, path, r.URL.RawQuery)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	redirect(w, link)
}

// openedByUser reports whether the browser states that its user opened this address: by typing
// it, or from one of our pages, in a window and not in a frame. Otherwise another page (for
// example of a task) may have caused the request, to which the browser adds the session's
// cookie. Over plain HTTP, browsers do not send these headers, except to localhost.
func openedByUser(h http.Header) bool {
	site := h.Get("Sec-Fetch-Site")
	return (site == "same-origin" || site == "none") && h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
}

const (
	// proofField is a field of the form with which a user confirms to open a task.
	proofField = "det-open"
	// maxForm is the maximum size of that form, in bytes.
	maxForm = 4 << 10
)

// agreed reports whether a request is the form of pageConfirm, sent from our own origin, with
// the session that got the form.
func agreed(w http.ResponseWriter, r *http.Request, t Task, v Caller) bool {
	if v.Foreign != nil {
		return false
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return false
	}
	form, err := url.ParseQuery(string(body))
	return err == nil && subtle.ConstantTimeCompare([]byte(form.Get(proofField)), []byte(v.Proof(t.ID))) == 1
}

// redirect sends a redirect without content, which no page can show in a frame.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}
