package client

import (
	"net"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// DefaultMaster is the default address of the master.
const DefaultMaster = "localhost:8080"

// MasterFromEnv is the address in the environment: DET_MASTER, else DET_MASTER_ADDR, else
// DefaultMaster. Unlike Determined's client, it ignores a variable that is set but empty.
func MasterFromEnv(getenv func(string) string) string {
	for _, name := range []string{"DET_MASTER", "DET_MASTER_ADDR"} {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return DefaultMaster
}

// Canonical returns the canonical form of a master's address: scheme, host in lower case, port,
// and a path without a slash at its end. An address without a scheme means http on port 8080;
// http:// without a port means 80, https:// 443.
//
// Sessions are stored under this form, in a file that Determined's client reads too, so the
// rules are those of Determined's client.
func Canonical(address string) (string, error) {
	var port string
	switch {
	case strings.HasPrefix(address, "https://"):
		port = "443"
	case strings.HasPrefix(address, "http://"):
		port = "80"
	default:
		address, port = "http://"+address, "8080"
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fault.New(fault.Invalid, "%q is not the address of a master; write it as host:port or https://host", address)
	}
	if u.Hostname() == "" {
		return "", fault.New(fault.Invalid, "the master's address %q has no host; write it as host:port or https://host", address)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.Invalid, "the master's address %q may only have a scheme, a host, a port and a path", u.Redacted())
	}
	if p := u.Port(); p != "" {
		port = p
	}
	host := net.JoinHostPort(strings.ToLower(u.Hostname()), port)
	return strings.TrimRight(u.Scheme+"://"+host+u.EscapedPath(), "/"), nil
}
