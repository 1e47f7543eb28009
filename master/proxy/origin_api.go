package proxy

import (
	"crypto/subtle"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Direct handles a request for a task at the API's origin.
func (p *Proxy) Direct(w http.ResponseWriter, r *http.Request, v Caller) {
	at, slash, err := serviceOf(r.URL.EscapedPath())
	if err != nil {
		show(w, r, refusal(err))
		return
	}
	at = p.whole(r, at)
	_, query, ask := takeParameter(r.URL.RawQuery, askField)
	token, query, carried := takeToken(query)
	r.URL.RawQuery = query
	if carried && r.Header.Get("Authorization") == "" && inBrowser(r) { // a browser needs a cookie, and so its user's session
		redirect(w, withQuery(r.URL.EscapedPath(), query))
		return
	}
	v = p.byTaskToken(r, at, token, v)
	asked := tunnel.Asked(r.Header)
	isTunnel := asked == v1.GatewayTunnel || asked == webSocket
	if v.Err != nil && !isTunnel && !p.openAt(r.Context(), at).open {
		p.refuseAnonymous(w, r, at, v.Err)
		return
	}
	t, ok := p.find(w, r, at)
	switch {
	case !ok:
	case t.offers == v1.GatewayOfSSH:
		p.stream(w, r, t, v, asked)
	case v.Err != nil && !t.open:
		p.refuseAnonymous(w, r, at, v.Err)
	case !t.open && !mayEnter(v.Who, t.Task):
		if err := v.note(t.Task, Refusal(t.Type, t.Owner)); err != nil {
			p.fail(w, r, err)
			return
		}
		show(w, r, pageRefused(t.Task, v.Who))
	case t.offers == v1.GatewayOfTCP || t.bytes(asked):
		p.stream(w, r, t, v, asked)
	case t.open && p.toOpenPort(w, r, t, v):
	case v.Cookie:
		p.send(w, r, t, v, ask)
	case !slash:
		http.Redirect(w, r, withQuery(at.base(), r.URL.RawQuery), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		p.enter(w, r, t, v, p.forward(true))
	}
}

// enter records that a session opens the task, and serves the request.
func (p *Proxy) enter(w http.ResponseWriter, r *http.Request, t taskService, v Caller, serve func(http.ResponseWriter, *http.Request, taskService)) {
	who := t.access(v)
	if who.session != 0 {
		if err := v.note(t.Task, nil); err != nil {
			p.fail(w, r, err)
			return
		}
	}
	p.admitted(w, r, t, who, serve)
}

// access returns what allows a caller's connection: the caller's session, if it may use the task.
// Otherwise the caller is anonymous, at a port that is open to everybody.
func (t taskService) access(v Caller) access {
	a := access{task: t.ID, attempt: t.AllocationID, address: v.Address}
	if v.Err == nil && mayEnter(v.Who, t.Task) {
		a.session = v.Who.SessionID
	}
	return a
}

// toOpenPort sends a browser to the tasks' origin, where a port that is open to everybody needs
// no ticket, and refuses a port whose owner is deactivated.
func (p *Proxy) toOpenPort(w http.ResponseWriter, r *http.Request, t taskService, v Caller) bool {
	to := p.origins.of(t.ID)
	switch {
	case t.OwnerGone && t.access(v).session == 0:
		show(w, r, pageOwnerGone(t.Task))
	case to != "" && readOnly(r.Method) && tunnel.Asked(r.Header) == "" && (v.Cookie || r.Header.Get("Sec-Fetch-Mode") == "navigate"):
		redirect(w, withQuery(to+r.URL.EscapedPath(), r.URL.RawQuery))
	case v.Cookie || r.Header.Get("Sec-Fetch-Site") != "":
		show(w, r, pageBrowser(p.origins.Master+t.at.base()))
	default:
		return false
	}
	return true
}

// refuseAnonymous answers a request without a valid session. An unavailable database is reported as such.
func (p *Proxy) refuseAnonymous(w http.ResponseWriter, r *http.Request, at service, err error) {
	if fault.Is(err, fault.Unauthenticated) {
		show(w, r, pageSignIn(at))
		return
	}
	p.fail(w, r, err)
}

// send redirects a signed-in browser to the tasks' origin, with a ticket. If another page may
// have caused the request, or if ask is set, the user must confirm it first.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, t taskService, v Caller, ask bool) {
	confirmed := r.Method == http.MethodPost
	switch {
	case p.origins.of(t.ID) == "":
		show(w, r, pageNoOrigin(t.Task))
		return
	case tunnel.Asked(r.Header) != "" || !confirmed && !readOnly(r.Method) || confirmed && !agreed(w, r, t.Task, v):
		show(w, r, pageBrowser(p.origins.Master+t.at.base()))
		return
	case t.offers == v1.GatewayOfNone:
		show(w, r, pageNothing(t))
		return
	case !confirmed && (ask || !openedByUser(r.Header)):
		show(w, r, pageConfirm(t.Task, withQuery(r.URL.EscapedPath(), r.URL.RawQuery), v.Proof(t.ID), p.origins.of(t.ID)))
		return
	}
	path := r.URL.EscapedPath()
	if _, slash, _ := serviceOf(path); !slash {
		path += "/"
	}
	if err := v.note(t.Task, nil); err != nil {
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
// it, or with a click on one of our pages, in a window and not in a frame. Otherwise another page
// (for example of a task) may have caused the request, to which the browser adds the session's
// cookie. The origin alone is not enough: any page can open one of our pages, which then continues
// by itself, as a sign-in does. Over plain HTTP, browsers do not send these headers, except to
// localhost.
func openedByUser(h http.Header) bool {
	site := h.Get("Sec-Fetch-Site")
	return (site == "same-origin" || site == "none") && h.Get("Sec-Fetch-User") == "?1" &&
		h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
}

const (
	// askField is a parameter with which our pages lead to an address that somebody else chose:
	// the user's click was for something else, such as the sign-in, so the user must confirm.
	askField = "det-ask"
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
