package discovery_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/discovery/consultest"
)

// defaultToken gives each caller of an agent that sends no token all rights.
const defaultToken = "acl { tokens { default = \"" + consultest.Management + "\" } }"

// TestUnguardedConsul: a Consul without access control is recognized, one whose callers without a token may change what the master
// reads, and one that does not answer. A token of the master's makes no difference.
func TestUnguardedConsul(t *testing.T) {
	t.Setenv("CONSUL_HTTP_TOKEN", consultest.Management)
	ask := func(cfg discovery.ConsulConfig) (string, error) {
		t.Helper()
		c, err := discovery.NewConsul(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c.Unguarded(t.Context())
	}
	for _, c := range []struct {
		further []string
		want    string
	}{
		{nil, "its access control is off"},
		{[]string{consultest.WithACL("allow")}, "callers without a token have the right service:write"},
		{[]string{consultest.WithACL("deny")}, ""},
		{[]string{consultest.WithACL("deny"), defaultToken}, "callers without a token have the right service:write"},
	} {
		consul := consultest.Start(t, c.further...)
		for _, cfg := range []discovery.ConsulConfig{{}, {Token: consultest.Management}, {Token: "00000000-1111-4222-8333-444444444444"}} {
			cfg.Address = consul.Address
			if why, err := ask(cfg); err != nil || why != c.want {
				t.Errorf("%q with the master's token %q: %q %v, want %q", c.further, cfg.Token, why, err, c.want)
			}
		}
		if keys, _, err := consul.API.KV().List("", nil); err != nil || len(keys) > 0 {
			t.Errorf("the questions left keys behind: %v %v", keys, err)
		}
	}
	t.Run("what callers without a token may do", anonymous)
	t.Run("without servers", withoutServers)
}

// anonymous changes the policy of callers without a token.
func anonymous(t *testing.T) {
	consul := consultest.Start(t, consultest.WithACL("deny"))
	c, err := discovery.NewConsul(discovery.ConsulConfig{Address: consul.Address})
	if err != nil {
		t.Fatal(err)
	}
	policy, _, err := consul.API.ACL().PolicyCreate(&api.ACLPolicy{Name: "anonymous"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const anonymousToken = "00000000-0000-0000-0000-000000000002"
	if _, _, err := consul.API.ACL().TokenUpdate(&api.ACLToken{AccessorID: anonymousToken, Policies: []*api.ACLTokenPolicyLink{{ID: policy.ID}}}, nil); err != nil {
		t.Fatal(err)
	}
	for rules, want := range map[string]string{
		`service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }`: "",
		`service_prefix "web-" { policy = "write" }`:                               "",
		`service_prefix "det-" { policy = "write" }`:                               "callers without a token have the right service:write",
		`node_prefix "" { policy = "write" }`:                                      "callers without a token have the right node:write",
		`key_prefix "" { policy = "write" }`:                                       "callers without a token have the right key:write",
		`acl = "write"`:                                                            "callers without a token have the right acl:write",
		`acl = "read"`:                                                             "",
	} {
		policy.Rules = rules
		if _, _, err := consul.API.ACL().PolicyUpdate(policy, nil); err != nil {
			t.Fatal(err)
		}
		if why, err := c.Unguarded(t.Context()); err != nil || why != want {
			t.Errorf("%s: %q %v, want %q", rules, why, err, want)
		}
	}
}

// withoutServers asks agents that do not know the rights of anybody.
func withoutServers(t *testing.T) {
	consul := consultest.Start(t, consultest.WithACL("deny"))
	// So answered an agent of Consul 1.22.5 whose servers had no leader.
	leaderless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(w, r.Body) // the questions, and no Allow: its default
			return
		}
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
	}))
	defer leaderless.Close()
	gone := consultest.Start(t)
	gone.Stop()
	for name, cfg := range map[string]discovery.ConsulConfig{"a datacenter that does not exist": {Address: consul.Address, Datacenter: "nowhere"},
		"servers without a leader": {Address: leaderless.URL}, "no Consul": {Address: gone.Address}} {
		c, err := discovery.NewConsul(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if why, err := c.Unguarded(t.Context()); err == nil || !strings.Contains(err.Error(), "consul at "+cfg.Address) {
			t.Errorf("%s: %q %v", name, why, err)
		}
	}
}
