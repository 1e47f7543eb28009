package proxy

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/v1"
)

func TestServiceOfATask(t *testing.T) {
	yes := true
	ports := expconf.ProxyPorts{{ProxyPort: 80}, {ProxyPort: 81, ProxyTCP: &yes}, {ProxyPort: 82, Unauthenticated: &yes}, {ProxyPort: 83, DefaultServiceID: &yes, Unauthenticated: &yes}}
	for _, c := range []struct {
		kind   string
		port   int
		rules  Rules
		offers v1.GatewayKind
		open   bool
		raw    bool // takes det's tunnel
	}{
		{"COMMAND", 80, Rules{OpenPorts: true}, v1.GatewayOfHTTP, false, true},
		{"TRIAL", 81, Rules{OpenPorts: true}, v1.GatewayOfTCP, false, true},
		{"TRIAL", 82, Rules{OpenPorts: true}, v1.GatewayOfHTTP, true, true},
		{"TRIAL", 82, Rules{}, v1.GatewayOfHTTP, false, true},
		{"TRIAL", 84, Rules{OpenPorts: true}, v1.GatewayOfNone, false, false},
		{"TRIAL", 0, Rules{OpenPorts: true}, v1.GatewayOfHTTP, true, false},
		{"NOTEBOOK", 0, Rules{OpenPorts: true}, v1.GatewayOfHTTP, false, false},
		{"SHELL", 0, Rules{OpenPorts: true}, v1.GatewayOfSSH, false, true},
		{"SHELL", 80, Rules{OpenPorts: true}, v1.GatewayOfHTTP, false, true},
	} {
		v := c.rules.service(Task{ID: "t", Type: c.kind, Ports: ports}, service{task: "t", port: c.port})
		if v.offers != c.offers || v.open != c.open || v.bytes(v1.GatewayTunnel) != c.raw || v.bytes("") {
			t.Errorf("%+v: %q open=%v bytes=%v", c, v.offers, v.open, v.bytes(v1.GatewayTunnel))
		}
	}
	if v := (Rules{OpenPorts: true}).service(Task{Type: "COMMAND"}, service{}); v.offers != v1.GatewayOfNone {
		t.Errorf("a command without ports offers %q", v.offers)
	}
}
