package rest

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy/headers"
)

// A Credential is a token in a header or a cookie of a request.
type Credential struct {
	Token  string
	Task   bool // in the header for tasks
	Cookie bool
}

// Credential finds the token, in the same order as Determined's master.
func (q *Request) Credential() Credential {
	if t := withoutScheme(q.Get("x-user-token")); t != "" {
		return Credential{Token: t}
	}
	if t := withoutScheme(q.Get(fiber.HeaderAuthorization)); t != "" {
		return Credential{Token: t}
	}
	if t := withoutScheme(q.Get("Grpc-Metadata-x-allocation-token")); t != "" {
		return Credential{Token: t, Task: true}
	}
	return Credential{Token: q.OnlyCookie(q.SessionCookie()), Cookie: true}
}

// SessionCookie is the name of the session cookie. With HTTPS its prefix guarantees that no script
// and no page of another host has set it; a task's page may be on another port of this host.
func (q *Request) SessionCookie() string {
	if q.Secure() {
		return headers.SecureSessionCookie
	}
	return headers.SessionCookie
}

// OnlyCookie is the value of a cookie of ours. A page of a task, which may be on another port of
// the same host, can set a cookie of the same name for a path, and so sign its reader in as another
// user: therefore two such cookies count as none.
func (q *Request) OnlyCookie(wanted string) string {
	found, n := "", 0
	for part := range strings.SplitSeq(q.Get(fiber.HeaderCookie), ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && name == wanted {
			found, n = value, n+1
		}
	}
	if n > 1 {
		return ""
	}
	return found
}

// withoutScheme removes the scheme (Bearer) from a header's value.
func withoutScheme(header string) string {
	if scheme, token, ok := strings.Cut(strings.TrimSpace(header), " "); ok {
		if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
			return ""
		}
		return strings.TrimSpace(token)
	}
	return strings.TrimSpace(header)
}

// Identify identifies the caller.
func (q *Request) Identify(ctx context.Context) (auth.Who, error) {
	s := q.Credential()
	if s.Token == "" {
		return auth.Who{}, fault.New(fault.Unauthenticated, "not signed in: sign in with det user login")
	}
	if s.Cookie {
		if err := q.SameOrigin(); err != nil {
			return auth.Who{}, err
		}
	}
	return q.router.cfg.Identify(ctx, s)
}
