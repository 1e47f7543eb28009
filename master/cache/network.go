package cache

import "net/netip"

// NetworkOf is the key under which masters and runners count what comes from an address: the address or, because an owner of an IPv6 network can
// use any number of its addresses, that network (/64).
func NetworkOf(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if n, err := address.Prefix(64); err == nil && address.Is6() {
		return n.String()
	}
	return address.String()
}
