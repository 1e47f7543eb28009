package storage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rightsInVault tests the rights that the documentation promises: the master's identity can write and
// remove the roles of attempts and read the master's own credentials, and can do nothing else.
func (r *s3rig) rightsInVault(t *testing.T) {
	token := r.asMaster(t)
	role := func(kind, arn string) string {
		return fmt.Sprintf(`{"credential_type": %q, "role_arns": %q, "policy_document": "{\"Version\":\"2012-10-17\",\"Statement\":[]}"}`, kind, arn)
	}
	const mine = "aws/roles/det-0-rights"
	fine := role("assumed_role", r.S3().RoleARN)
	for _, try := range []struct{ method, path, body string }{
		{http.MethodPut, mine, fine},
		{http.MethodGet, mine, ""},
		{"LIST", "aws/roles", ""},
		{http.MethodDelete, mine, ""},
		{http.MethodGet, "aws/sts/detent-reader", ""},
		{http.MethodGet, "auth/token/lookup-self", ""},
		{http.MethodPut, "auth/token/renew-self", "{}"},
	} {
		if status, body := r.TryVault(t, token, try.method, try.path, try.body); status/100 != 2 {
			t.Errorf("the master may not %s %s: %d %s", try.method, try.path, status, body)
		}
	}
	forbidden := []struct{ method, path, body string }{
		{http.MethodPut, mine, role("iam_user", r.S3().RoleARN)},
		{http.MethodPut, mine, role("assumed_role", "arn:aws:iam::000000000000:role/admin")},
		{http.MethodPut, mine, strings.TrimSuffix(fine, "}") + `, "iam_groups": "admins"}`},
		{http.MethodPut, "aws/roles/detent-reader", fine},
		{http.MethodPut, "aws/roles/web", fine},
		{http.MethodGet, "aws/sts/det-0-rights", ""}, // what a task gets is the task's alone
		{http.MethodGet, "aws/creds/det-0-rights", ""},
		{http.MethodGet, "aws/config/root", ""},
		{http.MethodPut, "aws/config/root", `{"access_key": "x"}`},
		{http.MethodPut, "auth/token/create", "{}"},
		{http.MethodPut, "auth/token/create-orphan", "{}"},
		{"LIST", "auth/token/accessors", ""},
		{"LIST", "sys/policies/acl", ""},
		{http.MethodPut, "sys/policies/acl/det-task", `{"policy": "path \"*\" { capabilities = [\"sudo\"] }"}`},
		{http.MethodPut, "sys/policies/acl/det-master", `{"policy": "path \"*\" { capabilities = [\"sudo\"] }"}`},
		{http.MethodPut, "auth/jwt-nomad/role/det-task", `{"token_policies": ["root"]}`},
		{http.MethodPut, "auth/jwt-nomad/config", `{"jwks_url": "http://127.0.0.1:1"}`},
		{http.MethodPost, "sys/auth/more", `{"type": "userpass"}`},
		{http.MethodPost, "sys/mounts/more", `{"type": "kv"}`},
		{http.MethodGet, "sys/mounts", ""},
		{"LIST", "identity/entity/id", ""},
		{http.MethodPut, "identity/entity", `{"name": "det", "policies": ["root"]}`},
		{http.MethodPut, "sys/seal", "{}"},
		{http.MethodGet, "secret/data/web", ""},
	}
	for _, try := range forbidden {
		if status, body := r.TryVault(t, token, try.method, try.path, try.body); status != http.StatusForbidden {
			t.Errorf("%s %s with the master's token: %d %s", try.method, try.path, status, body)
		}
	}
}

// asMaster signs in to Vault with the identity of a master.
func (r *s3rig) asMaster(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.Cluster.StateDir(), "alloc", "*", "master", "secrets", "nomad_vault.jwt"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no identity of a master for Vault: %v", err)
	}
	jwt, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	login, err := json.Marshal(map[string]string{"role": "det-master", "jwt": strings.TrimSpace(string(jwt))})
	if err != nil {
		t.Fatal(err)
	}
	status, body := r.TryVault(t, "", http.MethodPut, "auth/jwt-nomad/login", string(login))
	var signed struct {
		Auth struct {
			Token    string   `json:"client_token"`
			Policies []string `json:"token_policies"`
		}
	}
	if err := json.Unmarshal([]byte(body), &signed); err != nil || status != http.StatusOK || signed.Auth.Token == "" {
		t.Fatalf("the master cannot sign in: %d %s %v", status, body, err)
	}
	if slices.Sort(signed.Auth.Policies); !slices.Equal(signed.Auth.Policies, []string{"default", "det-master"}) {
		t.Errorf("the master has the policies %v", signed.Auth.Policies)
	}
	task, err := json.Marshal(map[string]string{"role": "det-task", "jwt": strings.TrimSpace(string(jwt))})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := r.TryVault(t, "", http.MethodPut, "auth/jwt-nomad/login", string(task)); status/100 == 2 {
		t.Errorf("the master signs in as a task: %s", body)
	}
	return signed.Auth.Token
}
