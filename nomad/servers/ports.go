package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Ports that are handed out lie below the range from which systems take the source ports of outgoing
// connections (32768 and up on Linux), so that one which a stopped cluster remembers is not taken by
// chance, and outside the range that Nomad gives to its tasks (20000 to 32000).
const (
	firstPort = 12000
	lastPort  = 19999
)

// FreePort returns a port that nobody listens on, and keeps it from other processes of this user that
// ask for one in the next minutes.
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

// PortFree says whether a server could listen on this port of 127.0.0.1, for TCP and for UDP (Consul
// and Nomad gossip over both).
func PortFree(port int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	tcp, err := net.Listen("tcp4", addr) //nolint:noctx // taking a port of this machine does not wait
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

// PortTaken is the error for a port that another process listens on.
func PortTaken(server string, port int) error {
	who := listener(port)
	if who == "" {
		who = "another process"
	}
	return fmt.Errorf("%s: port %d on 127.0.0.1 is in use by %s; end that process, or choose another port for %s", server, port, who, server)
}
