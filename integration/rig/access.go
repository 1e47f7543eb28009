package rig

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// TryVault sends a request with this token to Vault.
func (r *Rig) TryVault(t *testing.T, token, method, path, body string) (status int, answer string) {
	t.Helper()
	return ask(t.Context(), t, method, r.Description.VaultURL+"/v1/"+path, "X-Vault-Token", token, body)
}

// ask sends a request to a server, with a token in a header unless the token is empty.
func ask(ctx context.Context, t *testing.T, method, url, header, token, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set(header, token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// Guarded reports whether all clusters run with access control in Consul too, with
// the policies that the documentation gives to operators. All tests must pass both ways. In Nomad access control is always on.
func Guarded() bool { return os.Getenv("DETENT_INTEGRATION_ACL") == "1" }

// authorize adds the token of the cluster's server to a request of a test.
func (r *Rig) authorize(req *http.Request) {
	if management, _ := r.ConsulTokens(); management != "" {
		req.Header.Set("X-Consul-Token", management)
	}
	if r.NomadToken != "" {
		req.Header.Set("X-Nomad-Token", r.NomadToken)
	}
}

// PolicyToken returns a Nomad token with the master's policy, for a master that does not run
// as a Nomad job.
func (r *Rig) PolicyToken(t testing.TB) string {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := nomad.ACLTokens().Create(&api.ACLToken{Name: "a master outside", Type: "client", Policies: []string{"det-master"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token.SecretID
}

// Consul sends a request to Consul.
func (r *Rig) Consul(t *testing.T, method, path, token, body string) (status int, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return ask(ctx, t, method, r.ConsulURL+path, "X-Consul-Token", token, body)
}
