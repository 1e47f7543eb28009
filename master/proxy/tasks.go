package proxy

import (
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// Tasks answers on the tasks' origin. There is no API on it, no sign-in, and
// nothing that a token in a header would open.
func (p *Proxy) Tasks() http.Handler { return http.HandlerFunc(p.serveTasks) }

func (p *Proxy) serveTasks(w http.ResponseWriter, r *http.Request) {
	id, slash, err := taskOf(r.URL.EscapedPath())
	switch {
	case err != nil:
		show(w, r, refusal(err))
		return
	case !p.origins.fits(r.Host, id):
		show(w, r, pageNoPath())
		return
	}
	ticket, query, carried := takeTicket(r.URL.RawQuery)
	if carried && readOnly(r.Method) {
		p.redeem(w, r, id, ticket, query)
		return
	}
	r.URL.RawQuery = query
	cookie, err := r.Cookie(cookieName(id))
	if err != nil {
		show(w, r, pageNoCookie(p.origins.Master, id))
		return
	}
	who, err := p.cookieWho(r.Context(), cookie.Value, id)
	switch {
	case fault.Is(err, fault.NotFound):
		show(w, r, pageNoCookie(p.origins.Master, id))
		return
	case err != nil:
		p.fail(w, r, err)
		return
	case p.origins.foreign(r, id):
		show(w, r, pageForeign())
		return
	}
	t, ok := p.find(w, r)
	switch {
	case !ok:
	case !mayEnter(who, t):
		show(w, r, pageNotYours(t, who.Username))
	case t.kind() == v1.GatewayOfSSH:
		show(w, r, pageShell(t))
	case !slash:
		http.Redirect(w, r, withQuery(base(id), query), http.StatusPermanentRedirect)
	case absent(w, r, t):
	default:
		p.serveSession(w, r, t, who.SessionID, p.forward(false))
	}
}

// takeTicket takes our parameter out of a query and leaves the rest as it is
// written.
func takeTicket(raw string) (ticket, rest string, carried bool) {
	if !strings.Contains(raw, ticketField) {
		return "", raw, false
	}
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		if value, ok := strings.CutPrefix(part, ticketField+"="); ok {
			ticket, carried = value, true
			continue
		}
		kept = append(kept, part)
	}
	return ticket, strings.Join(kept, "&"), carried
}

// redeem turns a ticket into a cookie, and sends the browser to the address
// without it: the ticket stays out of the history and of what pages see. A ticket
// that is used up opens nothing, but somebody who is in already stays in.
func (p *Proxy) redeem(w http.ResponseWriter, r *http.Request, id, ticket, query string) {
	token, hash := auth.NewToken()
	err := p.dir.RedeemTicket(r.Context(), auth.HashToken(ticket), id, hash)
	switch {
	case err == nil:
		http.SetCookie(w, &http.Cookie{Name: cookieName(id), Value: token, Path: base(id), HttpOnly: true,
			Secure: p.origins.secure(id), SameSite: http.SameSiteLaxMode})
	case !fault.Is(err, fault.NotFound):
		p.fail(w, r, err)
		return
	case !p.inside(r, id):
		show(w, r, pageTicket(p.origins.Master, id))
		return
	}
	redirect(w, withQuery(r.URL.EscapedPath(), query))
}

// inside tells whether a request has a cookie that opens the task.
func (p *Proxy) inside(r *http.Request, id string) bool {
	cookie, err := r.Cookie(cookieName(id))
	if err != nil {
		return false
	}
	_, err = p.cookieWho(r.Context(), cookie.Value, id)
	return err == nil
}
