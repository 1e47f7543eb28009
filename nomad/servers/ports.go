package servers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Ports are chosen below the range of source ports of outgoing connections (32768 and up on Linux), so
// that the port of a stopped cluster is not taken by chance, and outside of the range that Nomad gives
// to its tasks (20000 to 32000).
const (
	firstPort = 12000
	lastPort  = 19999
)

// FreePort returns an unused port, and reserves it for a few minutes against other processes of this
// user.
func FreePort() (int, error) {
	const tries = 200
	for range tries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if PortFree(port) && reserve(fmt.Sprint("port ", port), reservation{Until: time.Now().Add(reservedFor)}) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("found no free port on 127.0.0.1 in %d tries between %d and %d", tries, firstPort, lastPort)
}

// PortFree reports whether a server can listen on this port of 127.0.0.1, for TCP and for UDP (Consul
// and Nomad gossip over both).
func PortFree(port int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	tcp, err := net.Listen("tcp4", addr) //nolint:noctx // listening does not block
	if err != nil {
		return false
	}
	tcp.Close()
	udp, err := net.ListenPacket("udp4", addr) //nolint:noctx // the same
	if err != nil {
		return false
	}
	udp.Close()
	return true
}

// PortTaken is the error for a port that is in use.
func PortTaken(server string, port int) error {
	who := cmp.Or(listener(port), "another process")
	return fmt.Errorf("%s: port %d on 127.0.0.1 is in use by %s; end that process, or choose another port for %s", server, port, who, server)
}
