package event

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// maxURL is the maximum length of a webhook's address.
const maxURL = 2048

// ParseURL checks the address of a webhook. The hosts of names are checked when the master
// connects, because a name may lead to another address then.
func ParseURL(text string, allow []netip.Prefix) error {
	if len(text) > maxURL {
		return fmt.Errorf("the address has %d characters, and %d are allowed", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("expected an absolute address such as https://example.com/hook")
	}
	if u.User != nil {
		return fmt.Errorf("the address has a username or a password; receivers verify the signature instead")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !Allowed(ip, allow) {
		return Refused(ip)
	}
	return nil
}

// Shown is a webhook's address for people who may not change the webhook: the path may be
// a secret.
func Shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "…"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// Refused is the error for an address that is not allowed.
func Refused(ip netip.Addr) error {
	return fmt.Errorf("the address %s is loopback, private, link-local or reserved; an administrator can allow it with webhooks.allow in the master's configuration", ip)
}

// Allowed reports whether the master may send events to an address: to public ones, and to
// those that the configuration allows.
func Allowed(ip netip.Addr, allow []netip.Prefix) bool {
	ip = ip.Unmap().WithZone("")
	if slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return true
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || within(ip, reserved()) {
		return false
	}
	if inner, ok := translated(ip); ok {
		return Allowed(inner, allow)
	}
	return true
}

func within(ip netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// reserved are networks that are neither private nor public.
func reserved() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"168.63.129.16/32", // Azure's own services, for each of its machines
		"64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// translated returns the IPv4 address to which a gateway would pass a packet for an IPv6
// address.
func translated(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return ip, false
	}
	b := ip.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip), netip.MustParsePrefix("::/96").Contains(ip): // NAT64; IPv4-compatible
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(ip): // 6to4
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return ip, false
}
