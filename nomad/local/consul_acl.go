package local

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	files "github.com/detent-ml/detent/nomad"
)

// consulTokens are the tokens of Consul's clients. They are chosen once: Consul accepts a token with a
// given secret.
type consulTokens struct {
	Management string `json:"management"`
	Agent      string `json:"agent"`
	Nomad      string `json:"nomad"`
	Master     string `json:"master"`
}

func newConsulTokens() *consulTokens {
	return &consulTokens{Management: uuid.NewString(), Agent: uuid.NewString(), Nomad: uuid.NewString(), Master: uuid.NewString()}
}

// nomad is the token of Nomad's agents; empty without access control.
func (t *consulTokens) nomad() string {
	if t == nil {
		return ""
	}
	return t.Nomad
}

// access adds access control to the configuration of a Consul agent.
func (c consulServer) access(config map[string]any) {
	tokens := c.state.ConsulACL
	if tokens == nil {
		return
	}
	config["primary_datacenter"] = config["datacenter"]
	config["acl"] = map[string]any{
		"enabled": true, "default_policy": "deny", "down_policy": "extend-cache",
		"tokens": map[string]string{"initial_management": tokens.Management, "agent": tokens.Agent},
	}
}

// bootstrap creates the policies and tokens, from the files that operators use. Existing ones
// stay.
func (c consulServer) bootstrap(ctx context.Context) error {
	tokens := c.state.ConsulACL
	for _, p := range []struct{ name, rules, secret string }{
		{"det-master", files.ConsulMasterPolicy, tokens.Master},
		{"nomad-agent", files.ConsulNomadPolicy, tokens.Nomad},
		{"consul-agent", files.ConsulAgentPolicy, tokens.Agent},
	} {
		policy := map[string]any{"Name": p.name, "Rules": p.rules}
		if err := c.put(ctx, "/v1/acl/policy", policy, "already exists"); err != nil {
			return err
		}
		token := map[string]any{"SecretID": p.secret, "Description": p.name, "Policies": []map[string]string{{"Name": p.name}}}
		if err := c.put(ctx, "/v1/acl/token", token, "already in use"); err != nil {
			return err
		}
	}
	return nil
}

// put writes to Consul with all rights. An answer that the object exists is no error.
func (c consulServer) put(ctx context.Context, path string, body any, fine string) error {
	got, err := c.exchange(ctx, http.MethodPut, c.url()+path, "X-Consul-Token", c.state.ConsulACL.Management, body)
	if err != nil || got.code == http.StatusOK || strings.Contains(strings.ToLower(got.body), fine) {
		return err
	}
	return fmt.Errorf("%s: %s: %s", path, got.status, strings.TrimSpace(got.body))
}

// ConsulTokens are the tokens of Consul's management and of the master; empty without access control.
func (c *Cluster) ConsulTokens() (management, master string) {
	if t := c.state.ConsulACL; t != nil {
		return t.Management, t.Master
	}
	return "", ""
}
