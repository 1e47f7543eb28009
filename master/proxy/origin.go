package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/tunnel"
)

// Origins has the origins of the API and of tasks' pages.
type Origins struct {
	// Master is the API's origin: http://host:port.
	Master string
	// URL is the one origin of all tasks; "" for none.
	URL string
	// Domain gives each task its own origin, <task>.<domain>; it may have a port. If set, URL is
	// not used.
	Domain string
}

// check returns an error if the origins are invalid.
func (o Origins) check() error {
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
		return fmt.Errorf("the tasks' address %q: it must be of the form http://host:port", o.URL)
	}
	m, err := url.Parse(o.Master)
	if err == nil && m.Scheme == u.Scheme && strings.EqualFold(m.Host, u.Host) {
		return fmt.Errorf("the tasks' address %s is the API's address: a notebook's page could call the API as the user who opens it", o.URL)
	}
	return nil
}

// of returns the origin of a task; "" if tasks have no origin for browsers.
func (o Origins) of(task string) string {
	if o.Domain != "" {
		return o.at(label(task) + "." + o.Domain)
	}
	return strings.TrimRight(o.URL, "/")
}

// at is the origin of a host within Domain.
func (o Origins) at(host string) string {
	scheme, _, _ := strings.Cut(o.Master, "://")
	return scheme + "://" + host
}

// secure reports whether browsers use HTTPS.
func (o Origins) secure(task string) bool { return strings.HasPrefix(o.of(task), "https://") }

// Host is the name of a task's host, without a port; "" if tasks have no hosts of their own.
func (o Origins) Host(task string) string {
	if o.Domain == "" {
		return ""
	}
	return label(task) + "." + hostname(o.Domain)
}

// label is the name of a task's host within the domain.
func label(task string) string {
	return strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(task))
}

// TasksHost reports whether a request for this host, at the API's listener, is for a task: the
// host is within Domain.
func (o Origins) TasksHost(host string) bool {
	return o.Domain != "" && strings.HasSuffix(hostname(host), "."+hostname(o.Domain))
}

// fits reports whether a request for a task may use this host: with Domain only the task's own
// host, so that no task's page is served at another task's origin.
func (o Origins) fits(host, task string) bool {
	return o.Domain == "" || hostname(host) == o.Host(task)
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// foreign reports whether a page of another origin made a browser send this request, with the
// cookie of a task. A link that the user follows does not count.
//
// Browsers state the origin of a request in headers. Over plain HTTP, except to localhost,
// they omit these; but requests that change something, and WebSockets, always have an Origin.
func (o Origins) foreign(r *http.Request, task string) bool {
	origin, upgrade := r.Header.Get("Origin"), tunnel.Asked(r.Header) != ""
	if origin != "" && !o.same(origin, r.Host, task) {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return false
	case "none":
		return upgrade && origin == ""
	case "":
		return origin == "" && (upgrade || !readOnly(r.Method))
	}
	opened := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !opened || !readOnly(r.Method)
}

// same reports whether an Origin header names the origin of the request's host.
func (o Origins) same(origin, host, task string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" among others
	}
	return strings.EqualFold(u.Host, host) || strings.EqualFold(origin, o.of(task))
}

func readOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }
