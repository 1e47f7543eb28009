package api

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
)

const (
	// forwarderLogInterval is how long nothing is said again about an address.
	forwarderLogInterval = time.Hour
	// maxForwarders bounds how many addresses are remembered, and so how often in that
	// time something is said: anybody can send such a header.
	maxForwarders = 16
)

// forwarders are the addresses that say for whom they call and are not trusted: most
// often an ingress that the operators have not named. All users behind it share one
// address, and with it the limits on sign-ins.
type forwarders struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[netip.Addr]time.Time
}

func newForwarders(log *slog.Logger) *forwarders {
	return &forwarders{log: log, now: time.Now, seen: map[netip.Addr]time.Time{}}
}

// met warns about an address, once in a while.
func (f *forwarders) met(address netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if _, known := f.fresh(now)[address]; known || len(f.seen) >= maxForwarders {
		return
	}
	f.seen[address] = now
	f.log.Warn("sign-ins arrive through an address that is not in trusted_proxies: all people behind it share the limits on wrong passwords; if it is a proxy of yours, add the address to trusted_proxies in the master's configuration",
		"address", address.String())
}

// fresh forgets what was seen long ago. It needs the lock.
func (f *forwarders) fresh(now time.Time) map[netip.Addr]time.Time {
	for address, at := range f.seen {
		if now.Sub(at) >= forwarderLogInterval {
			delete(f.seen, address)
		}
	}
	return f.seen
}

// count is how many addresses were seen lately.
func (f *forwarders) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fresh(f.now()))
}

// noteForwarder looks at who passes a sign-in on.
func (a *API) noteForwarder(c *fiber.Ctx) {
	from, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if from = from.Unmap(); !ok || a.trusted(from) {
		return
	}
	if isProxied(c) {
		a.forwarders.met(from)
	}
}
