package server

import (
	"net/netip"
	"testing"

	"github.com/detent-ml/detent/master/webhook/event"
)

// TestWebhooksToLoopback: webhooks reach loopback where only its own machine reaches the master, or where the
// configuration allows it.
func TestWebhooksToLoopback(t *testing.T) {
	for name, x := range map[string]struct {
		cfg  Config
		want bool
	}{
		"a local cluster":         {Config{Listen: "127.0.0.1:8080"}, true},
		"with a local address":    {Config{Listen: "localhost:8080", PublicURL: "http://127.0.0.1:8080"}, true},
		"behind another address":  {Config{Listen: "127.0.0.1:8080", PublicURL: "https://detent.example.com"}, false},
		"behind a proxy":          {Config{Listen: "127.0.0.1:8080", TrustedProxies: []string{"127.0.0.1"}}, false},
		"for the network":         {Config{Listen: ":8080"}, false},
		"for the network, if set": {Config{Listen: ":8080", Webhooks: WebhooksConfig{Allow: []string{"127.0.0.1"}}}, true},
	} {
		allow, err := x.cfg.webhookNetworks()
		if err != nil {
			t.Fatal(err)
		}
		if got := event.Allowed(netip.MustParseAddr("127.0.0.1"), allow); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
		if event.Allowed(netip.MustParseAddr("169.254.169.254"), allow) || event.Allowed(netip.MustParseAddr("10.0.0.1"), allow) {
			t.Errorf("%s: more than loopback is allowed", name)
		}
	}
}
