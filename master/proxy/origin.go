package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/tunnel"
)

// Origins says where pages of tasks are.
type Origins struct {
	// Master is the API's origin: http://host:port.
	Master string
	// URL is the one origin of all tasks; "" when there is none.
	URL string
	// Domain gives each task an origin of its own, <task>.<domain>; it may have a
	// port. It goes before URL.
	Domain string
}

// check finds what is wrong with them.
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

// of is the origin of a task; "" when browsers cannot be served.
func (o Origins) of(task string) string {
	if o.Domain != "" {
		scheme, _, _ := strings.Cut(o.Master, "://")
		return scheme + "://" + label(task) + "." + o.Domain
	}
	return strings.TrimRight(o.URL, "/")
}

// secure tells whether browsers come by HTTPS.
func (o Origins) secure(task string) bool { return strings.HasPrefix(o.of(task), "https://") }

// label is the name of a task's host within the domain.
func label(task string) string {
	return strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(task))
}

// TasksHost tells whether a request for that host is for tasks: on the listener of
// the API these are the hosts within the domain.
func (o Origins) TasksHost(host string) bool {
	return o.Domain != "" && strings.HasSuffix(hostname(host), "."+hostname(o.Domain))
}

// fits tells whether a host may be asked for a task: with a domain only the
// task's own, so that no task's page is ever on another's origin.
func (o Origins) fits(host, task string) bool {
	return o.Domain == "" || hostname(host) == label(task)+"."+hostname(o.Domain)
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// foreign tells whether a page of another origin made a browser send this
// request, with the cookie of a task. Following a link to a page is no such thing.
//
// Browsers say where a request comes from. Over plain HTTP, unless it is to this
// machine, they leave that out; what changes something has an Origin even then,
// and so has every WebSocket.
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

// same tells whether an Origin is the one that the request went to.
func (o Origins) same(origin, host, task string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false // "null" among others
	}
	return strings.EqualFold(u.Host, host) || strings.EqualFold(origin, o.of(task))
}

func readOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }
