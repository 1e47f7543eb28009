package rest

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// hosts are the host names of a master.
//
// A page of another site can make its own host name resolve to the master's address, and then
// call the master from a user's browser, behind firewalls. The browser sends the host name:
// names that are not the master's are rejected. An IP address cannot be used for this attack,
// nor can a name of this machine.
type hosts struct {
	names    map[string]bool
	suffixes []string // .tasks.example.com
}

// newHosts parses names, including the form *.example.com.
func newHosts(names []string) hosts {
	h := hosts{names: map[string]bool{}}
	for _, name := range names {
		name = BareHost(name)
		if suffix, ok := strings.CutPrefix(name, "*"); ok {
			h.suffixes = append(h.suffixes, suffix)
		} else if name != "" {
			h.names[name] = true
		}
	}
	return h
}

// BareHost is a host without its port, brackets and final dot.
func BareHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func (h hosts) allow(host string) bool {
	name := BareHost(host)
	if name == "" || loopbackHost(name) || h.names[name] {
		return true // browsers always send a host
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.ContainsFunc(h.suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// loopbackHost reports whether a bare host always resolves to this machine itself.
func loopbackHost(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// checkHost rejects requests for other host names.
func (q *Request) checkHost() error {
	host := q.Host()
	if q.router.hosts.allow(host) || q.router.cfg.AnyHost != nil && q.router.cfg.AnyHost(host, q.Path()) {
		return nil
	}
	return fault.New(fault.Forbidden, "%q is not a name of this master; to allow it, add it to hosts in the master's configuration", fault.Clip(BareHost(host)))
}
