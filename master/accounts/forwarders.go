package accounts

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

const (
	// forwarderLogInterval is the minimum time between two warnings about an address.
	forwarderLogInterval = time.Hour
	// maxForwarders limits the number of remembered addresses, and so the number of warnings:
	// everybody can send such a header.
	maxForwarders = 16
)

// Forwarders are the addresses of proxies that are not trusted: most often an ingress that is
// missing in the configuration. All users behind it share one address, and its limits on
// sign-ins.
type Forwarders struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	seen map[netip.Addr]time.Time
}

// NewForwarders returns Forwarders that warn in a log.
func NewForwarders(log *slog.Logger) *Forwarders {
	return &Forwarders{log: log, now: time.Now, seen: map[netip.Addr]time.Time{}}
}

// Met warns about an address, at most once in an interval.
func (f *Forwarders) Met(address netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if _, known := f.fresh(now)[address]; known || len(f.seen) >= maxForwarders {
		return
	}
	f.seen[address] = now
	f.log.Warn("sign-ins arrive through an address that is not in trusted_proxies: all users behind it share the limits on wrong passwords; if it is one of your proxies, add the address to trusted_proxies in the master's configuration",
		"address", address.String())
}

// fresh removes old entries. It must be called with the lock held.
func (f *Forwarders) fresh(now time.Time) map[netip.Addr]time.Time {
	for address, at := range f.seen {
		if now.Sub(at) >= forwarderLogInterval {
			delete(f.seen, address)
		}
	}
	return f.seen
}

// Count is the number of recent addresses.
func (f *Forwarders) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fresh(f.now()))
}
