package proxy

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/detent-ml/detent/master/v1"
)

// SessionCookie is the name of the cookie that a signed-in browser has for the API.
const SessionCookie = "auth"

// SecureSessionCookie is its name by HTTPS: browsers take it from this host alone, and
// newer ones from answers only and from no script.
const SecureSessionCookie = "__Host-Http-auth"

// cookiePrefix starts the names of the cookies that open tasks.
const cookiePrefix = "det-task-"

func cookieName(task string) string { return cookiePrefix + task }

// ours are fields by which our programs know each other, or somebody. A task sees
// none of them, whoever set them.
var ours = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "X-User-Token": true,
	"X-Allocation-Token": true, "Grpcgateway-Authorization": true, "Forwarded": true, "X-Real-Ip": true, "X-Scheme": true,
}

// oursBy are how the names of more such fields begin.
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

// strip takes what is ours out of a request: fields, and cookies among others.
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

// stripCookies drops our cookies from a line of them, and leaves the rest as it
// is written.
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

// ourCookie is lenient about case: whatever some reader takes for ours is ours.
func ourCookie(name string) bool {
	name = strings.ToLower(strings.Trim(name, `" `))
	return name == SessionCookie || name == strings.ToLower(SecureSessionCookie) || strings.HasPrefix(name, cookiePrefix)
}

// confine keeps an answer of a task from reaching beyond the task: its cookies are
// for its own path and none of ours, and it says nothing about the whole origin,
// which other tasks may share. A cookie that cannot be read is dropped.
func confine(h http.Header, task string) {
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
		if c.Path != strings.TrimSuffix(base(task), "/") && !strings.HasPrefix(c.Path, base(task)) {
			c.Path = base(task)
		}
		if s := c.String(); s != "" {
			h.Add("Set-Cookie", s)
		}
	}
}

// frames says which pages may show a task's page within them: its own origin's
// and the master's.
func frames(master string) string { return "frame-ancestors 'self' " + master }

// splitList splits the words of a field that is a list.
func splitList(line string) []string {
	words := strings.Split(line, ",")
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words
}
