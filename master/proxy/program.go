package proxy

import (
	"context"
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/master/v1"
)

// tokenField is the parameter in which Jupyter's clients send a token.
const tokenField = "token"

// ProgramAddress returns an address with which programs, such as an editor, use a notebook or a
// TensorBoard, and its token. The token is for this task alone and ends with the user's session,
// as the cookie of a browser does.
func (p *Proxy) ProgramAddress(ctx context.Context, who auth.Who, id string) (address, token string, err error) {
	t, err := p.enterable(ctx, who, id)
	switch {
	case err != nil:
		return "", "", err
	case t.kind() != v1.GatewayOfHTTP:
		return "", "", fault.New(fault.Invalid, "only notebooks and TensorBoards have an address for programs; %s is a %s", id, t.word())
	}
	ticket, err := p.issue(ctx, who, id)
	if err != nil {
		return "", "", err
	}
	token, hash := auth.NewToken()
	if err := p.dir.RedeemTicket(ctx, auth.HashToken(ticket), id, hash); err != nil {
		return "", "", err
	}
	return p.origins.Master + base(id) + "?" + tokenField + "=" + token, token, nil
}

// A taskToken is the token of a task in a request.
type taskToken struct {
	value string
	// query is the query without the token.
	query string
}

// tokenIn finds the token of a task where Jupyter's clients send theirs: in the header
// Authorization, or in the parameter token of the address. A parameter with another value belongs
// to the task's program.
func tokenIn(r *http.Request) (taskToken, bool) {
	t := taskToken{query: r.URL.RawQuery}
	if value, rest, carried := takeParameter(r.URL.RawQuery, tokenField); carried && auth.IsToken(value) {
		t = taskToken{value, rest}
	}
	scheme, value, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && auth.IsToken(value) && (strings.EqualFold(scheme, "token") || strings.EqualFold(scheme, "bearer")) {
		t.value = value
	}
	return t, t.value != ""
}

// byTaskToken identifies a program that has the token of a task in place of a session. It removes
// the token from the address, and the header Origin, because Jupyter compares it with its own
// origin, which editors do not know. The audit trail has who requested the token.
func (p *Proxy) byTaskToken(r *http.Request, at service, v Caller) Caller {
	t, ok := tokenIn(r)
	if !ok || v.Err == nil && !v.Cookie {
		return v
	}
	who, err := p.cookieWho(r.Context(), t.value, at.task)
	switch {
	case fault.Is(err, fault.NotFound):
		return v
	case err != nil:
		return Caller{Err: err, Address: v.Address}
	}
	r.URL.RawQuery = t.query
	r.Header.Del("Origin")
	return Caller{Who: who, Address: v.Address}
}

// inBrowser reports whether a browser opens an address as a page.
func inBrowser(r *http.Request) bool {
	if !readOnly(r.Method) || tunnel.Asked(r.Header) != "" {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html") // browsers omit the other header over plain HTTP
}

// takeParameter removes a parameter from a query, and leaves the others as they are written.
func takeParameter(raw, field string) (value, rest string, carried bool) {
	if !strings.Contains(raw, field) {
		return "", raw, false
	}
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		if v, ok := strings.CutPrefix(part, field+"="); ok {
			value, carried = v, true
			continue
		}
		kept = append(kept, part)
	}
	return value, strings.Join(kept, "&"), carried
}
