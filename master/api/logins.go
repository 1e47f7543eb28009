package api

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

// Limits on guessing passwords. Other addresses cannot lock a user out: tries are counted for
// an address, and for a username at an address, but never for a username alone. The number of
// passwords that are compared at the same time limits what many addresses together, or one
// address with many usernames, can try.
const (
	LoginWindow           = time.Minute // period in which tries are counted
	maxTriesPerName       = 10          // for one name at one address
	maxTriesPerAddress    = 60          // for all names at one address; beyond it each name has one
	maxCompares           = 4           // passwords that are compared at the same time
	maxComparesPerAddress = 32          // of one address, including those that wait
	compareTimeout        = 10 * time.Second
)

// logins limits the work of sign-ins: comparing a password takes a processor for a twentieth of
// a second on purpose.
type logins struct {
	slots chan struct{}

	mu   sync.Mutex
	from map[string]int // by address: number of comparisons, including those that wait
}

func newLogins() *logins {
	return &logins{slots: make(chan struct{}, min(maxCompares, max(1, runtime.GOMAXPROCS(0)/2))), from: map[string]int{}}
}

// compare runs fn when a processor is free.
func (l *logins) compare(ctx context.Context, address string, fn func() error) error {
	if !l.enter(address) {
		return fault.New(fault.TooMany, "too many sign-ins from your address at once; try again")
	}
	defer l.leave(address)
	wait := time.NewTimer(compareTimeout)
	defer wait.Stop()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return fn()
	case <-wait.C:
	case <-ctx.Done():
	}
	return fault.New(fault.Unavailable, "too many sign-ins at the moment; try again")
}

func (l *logins) enter(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[address] >= maxComparesPerAddress {
		return false
	}
	l.from[address]++
	return true
}

func (l *logins) leave(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[address]--; l.from[address] <= 0 {
		delete(l.from, address)
	}
}

// loginKeys are the keys under which a try is counted.
func loginKeys(address, name string) (ofName, ofAddress string) {
	return "name " + address + " " + name, "address " + address
}

// countLogin counts a try, and fails after too many. The first try of a username is always
// compared, however many others came from its address: behind an untrusted proxy, users may
// share the address with somebody who guesses passwords.
func (a *API) countLogin(ctx context.Context, address, name string) error {
	ofName, ofAddress := loginKeys(address, name)
	tallies, err := a.db.CountLogin(ctx, []string{ofName, ofAddress}, LoginWindow)
	if err != nil {
		return err
	}
	of, all := tallies[ofName], tallies[ofAddress]
	switch {
	case of.Tries > maxTriesPerName:
		return tooManyWrong("for "+name+" from your address", of.Wait)
	case all.Tries > maxTriesPerAddress && of.Tries > 1:
		return tooManyWrong("from your address", min(of.Wait, all.Wait))
	}
	return nil
}

func tooManyWrong(what string, wait float64) error {
	return fault.New(fault.TooMany, "too many wrong passwords %s; try again in %d seconds", what, max(0, int(wait))+1)
}

// addressOf is the address of a caller under which calls are counted. An IPv6 address is
// replaced by its network, because an owner of a network can use any of its addresses.
func (a *API) addressOf(c *fiber.Ctx) string {
	from, ok := a.clientOf(c)
	if !ok {
		return c.Context().RemoteIP().String()
	}
	return networkOf(from)
}

func networkOf(of netip.Addr) string {
	if of.Is6() {
		if n, err := of.WithZone("").Prefix(64); err == nil {
			return n.String()
		}
	}
	return of.String()
}

// clientOf is the address of a caller: that of its connection or, if the connection is from a
// trusted proxy, the address that the proxy reports.
func (a *API) clientOf(c *fiber.Ctx) (from netip.Addr, ok bool) {
	if from, ok = netip.AddrFromSlice(c.Context().RemoteIP()); !ok {
		return from, false
	}
	from = from.Unmap()
	hops := hopsOf(c)
	for i := len(hops) - 1; i >= 0 && a.trusted(from); i-- {
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

// hopsOf lists the addresses in X-Forwarded-For. A proxy appends the address that it has seen
// to those that the client claims: to the same line, or in a later line.
func hopsOf(c *fiber.Ctx) []string {
	lines := c.Request().Header.PeekAll(fiber.HeaderXForwardedFor)
	return strings.Split(string(bytes.Join(lines, []byte(","))), ",")
}

// isProxied reports whether a proxy has forwarded a call. Any line counts, even an empty one: a
// client may send an empty one before the proxy's.
func isProxied(c *fiber.Ctx) bool {
	h := &c.Request().Header
	return len(h.PeekAll(fiber.HeaderXForwardedFor)) > 0 || len(h.PeekAll(fiber.HeaderForwarded)) > 0
}

func (a *API) trusted(address netip.Addr) bool {
	for _, p := range a.cfg.TrustedProxies {
		if p.Contains(address) {
			return true
		}
	}
	return false
}
