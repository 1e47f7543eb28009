package rest

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/cache"
)

// Address is the address of a caller under which calls are counted. An IPv6 address is
// replaced by its network, because an owner of a network can use any of its addresses.
func (q *Request) Address() string {
	from, ok := q.Client()
	if !ok {
		return q.RemoteIP().String()
	}
	return cache.NetworkOf(from)
}

// Client is the address of a caller: that of its connection or, if the connection is from a
// trusted proxy, the address that the proxy reports.
func (q *Request) Client() (from netip.Addr, ok bool) {
	if from, ok = netip.AddrFromSlice(q.RemoteIP()); !ok {
		return from, false
	}
	from = from.Unmap()
	hops := q.hops()
	for i := len(hops) - 1; i >= 0 && q.router.trusts(from); i-- {
		hop := strings.TrimSpace(hops[i])
		if host, _, err := net.SplitHostPort(hop); err == nil {
			hop = host
		}
		seen, err := netip.ParseAddr(strings.Trim(hop, "[]"))
		if err != nil {
			break
		}
		from = seen.Unmap()
	}
	return from, true
}

// hops lists the addresses in X-Forwarded-For. A proxy appends the address that it has seen
// to those that the client claims: to the same line, or in a later line.
func (q *Request) hops() []string {
	lines := q.ctx.Request().Header.PeekAll(fiber.HeaderXForwardedFor)
	return strings.Split(string(bytes.Join(lines, []byte(","))), ",")
}

// Proxied reports whether a proxy has forwarded a call. An empty header counts too: a client may send an empty one,
// before which or behind which the proxy adds its own.
func (q *Request) Proxied() bool {
	h := &q.ctx.Request().Header
	return len(h.PeekAll(fiber.HeaderXForwardedFor)) > 0 || len(h.PeekAll(fiber.HeaderForwarded)) > 0
}

func (r *Router) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(r.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Stranger is the proxy that has forwarded a call although the master does not trust it; ok: there is one.
func (q *Request) Stranger() (at netip.Addr, ok bool) {
	at, ok = netip.AddrFromSlice(q.RemoteIP())
	at = at.Unmap()
	return at, ok && !q.router.trusts(at) && q.Proxied()
}

// Owner names the owner of a call's shares: a user, including the user's tasks, or an
// address.
func (c *Call) Owner() string {
	if c.who.Username != "" {
		return "user " + c.who.Username
	}
	return "address " + c.Address()
}
