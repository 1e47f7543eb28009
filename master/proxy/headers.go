package proxy

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/detent-ml/detent/master/v1"
)

// SessionCookie is the name of the cookie that a signed-in browser has for the API.
const SessionCookie = "auth"

// SecureSessionCookie is its name over HTTPS: because of the prefix, browsers accept it only
// from this host, and newer ones only from answers and not from scripts.
const SecureSessionCookie = "__Host-Http-auth"

// cookiePrefix is the prefix of the names of tasks' cookies.
const cookiePrefix = "det-task-"

func cookieName(task string) string { return cookiePrefix + task }

// ours are the headers with which our programs authenticate each other or users. A task never
// sees them, whoever has set them.
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
	for _, p := range oursBy {
		if strings.HasPrefix(field, p) {
			return true
		}
	}
	return false
}

// strip removes our headers and cookies from a request.
func strip(h http.Header) {
	for field := range h {
		if isOurs(field) {
			delete(h, field)
		}
	}
	lines := h.Values("Cookie")
	if len(lines) == 0 {
		return
	}
	h.Del("Cookie")
	for _, line := range lines {
		if kept := stripCookies(line); kept != "" {
			h.Add("Cookie", kept)
		}
	}
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
	return name == SessionCookie || name == strings.ToLower(SecureSessionCookie) || strings.HasPrefix(name, cookiePrefix)
}

// confine limits the effects of a task's answer to the task: its cookies get the task's path and
// cannot be ours, and headers about the whole origin, which other tasks may share, are
// removed. Invalid cookies are removed.
func confine(h http.Header, at service) {
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
		if base := at.base(); c.Path != strings.TrimSuffix(base, "/") && !strings.HasPrefix(c.Path, base) {
			c.Path = base
		}
		if s := c.String(); s != "" {
			h.Add("Set-Cookie", s)
		}
	}
}

// frames returns the policy that only pages of the task's own origin and of the master may show
// a task's page in a frame.
func frames(master string) string { return "frame-ancestors 'self' " + master }

// splitList splits a header with a list.
func splitList(line string) []string {
	words := strings.Split(line, ",")
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words
}
