//go:build linux

package attempt

import (
	"net"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/plugins/runner/gateway"
)

// TestTheGateListensWhereItIsRegistered: a task on its node's network is reached at the
// one address that the catalogue has, on a local cluster loopback, and at no other.
func TestTheGateListensWhereItIsRegistered(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := gateway.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, want string
		env        map[string]string
	}{
		{"a local cluster", "127.0.0.1", map[string]string{"NOMAD_IP_runner": "127.0.0.1"}},
		{"a network of its own", "::", map[string]string{"NOMAD_IP_runner": "127.0.0.1", "NOMAD_ALLOC_IP_runner": "172.26.64.2"}},
		{"an address that is mapped to the node", "::", map[string]string{"NOMAD_IP_runner": "203.0.113.7"}},
		{"no word of an address", "::", nil},
	} {
		gw := serveGateway(t.Context(), &NomadTask{Ports: map[string]int{healthPort: port}, Env: c.env}, certificate, nil)
		if gw == nil {
			t.Errorf("%s: it does not listen", c.what)
			continue
		}
		if want := net.JoinHostPort(c.want, strconv.Itoa(port)); gw.Address() != want && gw.Address() != net.JoinHostPort("0.0.0.0", strconv.Itoa(port)) {
			t.Errorf("%s: it listens at %s, want %s", c.what, gw.Address(), want)
		}
		if c.want == "127.0.0.1" && gw.Address() != net.JoinHostPort(c.want, strconv.Itoa(port)) {
			t.Errorf("%s: it listens at %s", c.what, gw.Address())
		}
		gw.Close()
	}
}
