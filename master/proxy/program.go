package proxy

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/master/v1"
)

const (
	// tokenField is the parameter in which Jupyter's clients send a token.
	tokenField = "token"
	// xsrfCookie and xsrfHeader are where Tornado expects the same value.
	xsrfCookie = "_xsrf"
	xsrfHeader = "X-Xsrftoken"
)

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

// tokenIn finds the token of a task where Jupyter's clients send theirs: in the header
// Authorization, or, for a WebSocket, in the parameter token of the address. A parameter is not enough for other
// requests, because any page can cause them: the page of one user could show the notebook of
// another one at the master's origin.
func tokenIn(r *http.Request, inAddress string) string {
	scheme, value, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case ok && auth.IsToken(value) && (strings.EqualFold(scheme, "token") || strings.EqualFold(scheme, "bearer")):
		return value
	case tunnel.Asked(r.Header) == webSocket:
		return inAddress
	}
	return ""
}

// byTaskToken identifies a program that has the token of a task in place of a session. It removes the header Origin,
// because Jupyter compares it with its own origin, which editors do not know. The audit trail names the user who
// requested the token. There are no such tokens for ports.
func (p *Proxy) byTaskToken(r *http.Request, at service, inAddress string, v Caller) Caller {
	token := tokenIn(r, inAddress)
	if token == "" || at.port != 0 || v.Err == nil && !v.Cookie {
		return v
	}
	who, err := p.cookieWho(r.Context(), token, at.task)
	switch {
	case fault.Is(err, fault.NotFound):
		return v
	case err != nil:
		return Caller{Err: err, Address: v.Address}
	}
	r.Header.Del("Origin")
	return Caller{Who: who, Address: v.Address}
}

// asTornado gives a request of a program what Jupyter's server, Tornado, requires of browsers: a cookie and a
// header with the same value. The caller has shown a token, which no other page knows.
func asTornado(h http.Header) {
	if h.Get(xsrfHeader) != "" {
		return
	}
	value := "program"
	if c, err := (&http.Request{Header: h}).Cookie(xsrfCookie); err == nil {
		value = c.Value
	} else {
		h["Cookie"] = []string{strings.Join(append(h["Cookie"], xsrfCookie+"="+value), "; ")} // Tornado misreads a second line
	}
	h.Set(xsrfHeader, value)
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
	return takeParameters(raw, func(part string) (string, bool) { return strings.CutPrefix(part, field+"=") })
}

// takeToken removes our tokens from a query, in every encoding: a task must not see them. It leaves a parameter of the same
// name with another value, because that belongs to the task's program.
func takeToken(raw string) (token, rest string, carried bool) {
	return takeParameters(raw, func(part string) (string, bool) {
		field, value, _ := strings.Cut(part, "=")
		field, badField := url.QueryUnescape(field)
		value, badValue := url.QueryUnescape(value)
		return value, badField == nil && badValue == nil && field == tokenField && auth.IsToken(value)
	})
}

func takeParameters(raw string, taken func(part string) (value string, is bool)) (value, rest string, carried bool) {
	if raw == "" {
		return "", raw, false
	}
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		if v, is := taken(part); is {
			value, carried = v, true
			continue
		}
		kept = append(kept, part)
	}
	return value, strings.Join(kept, "&"), carried
}
