// Package headers decides which headers pass between users and tasks. The proxy applies it to
// requests that the master forwards, and a runner's gateway to those that an ingress forwards.
package headers

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// SessionCookie is the name of the cookie that a signed-in browser has for the API.
const SessionCookie = "auth"

// SecureSessionCookie is its name over HTTPS: because of the prefix, browsers accept it only
// from this host, and newer ones only from answers and not from scripts.
const SecureSessionCookie = "__Host-Http-auth"

// SignInCookie is the name of the cookie of a sign-in with an identity provider that has begun, and
// SecureSignInCookie its name over HTTPS.
const (
	SignInCookie       = "det-sign-in"
	SecureSignInCookie = "__Host-Http-det-sign-in"
)

// cookiePrefix is the prefix of the names of tasks' cookies.
const cookiePrefix = "det-task-"

// TaskCookie is the name of the cookie that lets a browser enter a task.
func TaskCookie(task string) string { return cookiePrefix + task }

// ours are the headers with which our programs authenticate each other or users. A task never
// sees them, regardless of who has set them.
var ours = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "X-User-Token": true,
	"X-Allocation-Token": true, "Grpcgateway-Authorization": true, "Forwarded": true, "X-Real-Ip": true, "X-Scheme": true,
}

// oursBy are prefixes of further such headers.
var oursBy = []string{"Grpc-Metadata-", "X-Detent-", "X-Forwarded-"}

func isOurs(field string) bool {
	field = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(field, "_", "-"))
	if ours[field] {
		return true
	}
	return slices.ContainsFunc(oursBy, func(p string) bool { return strings.HasPrefix(field, p) })
}

// Names lists the headers that an ingress must remove from a request or replace: those by which
// users or programs of ours are known, and Cookie, which keeps the program's own cookies.
func Names() []string {
	list := []string{v1.GatewayHeader, "Cookie"}
	for field := range ours {
		if field != "X-Real-Ip" && field != "Forwarded" && field != "X-Scheme" { // the ingress sets these itself
			list = append(list, field)
		}
	}
	slices.Sort(list)
	return list
}

// Strip removes our headers and cookies from a request.
func Strip(h http.Header) {
	for field := range h {
		if isOurs(field) {
			delete(h, field)
		}
	}
	kept := Cookies(h)
	h.Del("Cookie")
	if len(kept) > 0 {
		h["Cookie"] = kept
	}
}

// Cookies are the Cookie headers of a request without our cookies.
func Cookies(h http.Header) []string {
	var lines []string
	for _, line := range h.Values("Cookie") {
		if kept := stripCookies(line); kept != "" {
			lines = append(lines, kept)
		}
	}
	return lines
}

// stripCookies removes our cookies from a Cookie header, and leaves the others unchanged.
func stripCookies(line string) string {
	var kept []string
	for part := range strings.SplitSeq(line, ";") {
		part = strings.TrimSpace(part)
		name, _, _ := strings.Cut(part, "=")
		if part != "" && !ourCookie(strings.TrimSpace(name)) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "; ")
}

// ourCookie ignores case, because some programs that read cookies do.
func ourCookie(name string) bool {
	name = strings.ToLower(strings.Trim(name, `" `))
	for _, own := range []string{SessionCookie, SecureSessionCookie, SignInCookie, SecureSignInCookie} {
		if name == strings.ToLower(own) {
			return true
		}
	}
	return strings.HasPrefix(name, cookiePrefix)
}

// Confine limits the effects of a task's answer to the task: its cookies get the path base, with
// which the task's paths begin, and cannot be ours, and headers about the whole origin, which
// other tasks may share, are removed. Invalid cookies are removed.
func Confine(h http.Header, base string) {
	for _, field := range []string{v1.GatewayHeader, "Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security",
		"Public-Key-Pins", "Alt-Svc", "Origin-Agent-Cluster", "Nel", "Report-To", "Reporting-Endpoints", "Activate-Storage-Access", "Set-Login"} {
		h.Del(field)
	}
	lines := h.Values("Set-Cookie")
	if len(lines) == 0 {
		return
	}
	h.Del("Set-Cookie")
	for _, line := range lines {
		c, err := http.ParseSetCookie(line)
		if err != nil || ourCookie(c.Name) {
			continue
		}
		c.Domain = ""
		if c.Path != strings.TrimSuffix(base, "/") && !strings.HasPrefix(c.Path, base) {
			c.Path = base
		}
		if s := c.String(); s != "" {
			h.Add("Set-Cookie", s)
		}
	}
}

// Frames returns the policy that only pages of the task's own origin and of the master may show
// a task's page in a frame.
func Frames(master string) string { return "frame-ancestors 'self' " + master }
