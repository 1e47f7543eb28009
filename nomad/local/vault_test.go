package local

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestVaultAndItsStore: both start with their configuration, keep their data, and Vault is unsealed at every restart.
func TestVaultAndItsStore(t *testing.T) {
	turn.First(t)
	for _, name := range []string{"vault", "weed"} {
		if _, found, err := servers.Find(t.Context(), name); err != nil || !found {
			t.Skipf("%s is neither on PATH nor built; just test-servers builds it (%v)", name, err)
		}
	}
	ctx, opts := t.Context(), testOptions(t)
	opts.Vault = true
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	before := c.Describe(ctx)
	if !before.Up() || before.VaultURL == "" || before.S3URL == "" {
		t.Fatalf("after Up: %+v", before)
	}
	if info, err := os.Stat(statePath(c.StateDir())); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state, with Vault's keys in it, has mode %v, %v", info.Mode(), err)
	}
	role := map[string]string{"credential_type": "assumed_role", "role_arns": s3RoleARN, "default_sts_ttl": "15m"}
	if err := c.vault().call(ctx, http.MethodPut, "aws/roles/det-1-a-1", role, nil); err != nil {
		t.Fatal(err)
	}
	// Vault gets credentials from the store, and only by its own user.
	var got struct {
		Data struct {
			AccessKey string `json:"access_key"`
		}
	}
	if err := c.vault().call(ctx, http.MethodGet, "aws/sts/det-1-a-1", nil, &got); err != nil || !strings.HasPrefix(got.Data.AccessKey, "ASIA") {
		t.Errorf("credentials %+v, %v", got, err)
	}
	if again, err := Up(ctx, opts, testReport(t)); err != nil || !again.Describe(ctx).Up() {
		t.Fatalf("a second Up, with its set-up: %v", err)
	}
	for _, name := range []string{partVault, partS3} {
		part, err := c.Part(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := part.Kill9(ctx); err != nil {
			t.Fatal(err)
		}
		if err := part.Start(ctx); err != nil {
			t.Fatalf("%s after it was killed: %v", name, err)
		}
	}
	if err := c.Down(ctx, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if c, err = Up(ctx, opts, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if after := c.Describe(ctx); after.VaultURL != before.VaultURL || after.S3URL != before.S3URL || !after.Up() {
		t.Errorf("after Down and Up: %+v", after)
	}
	var kept struct {
		Data map[string]json.RawMessage
	}
	if err := c.vault().call(ctx, http.MethodGet, "aws/roles/det-1-a-1", nil, &kept); err != nil || len(kept.Data) == 0 {
		t.Errorf("the role is gone: %v", err)
	}
	if err := c.s3().makeBucket(ctx); err != nil {
		t.Errorf("making a bucket that exists: %v", err)
	}
	if err := c.Reset(ctx, testReport(t)); err != nil {
		t.Fatal(err)
	}
}

// TestSetupNamesMissingSettings: the script names a missing setting before it changes anything.
func TestSetupNamesMissingSettings(t *testing.T) {
	script := filepath.Join("..", "vault", "setup.sh")
	given := []string{"PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"VAULT_ADDR", "DETENT_JWKS_URL", "DETENT_ROLE_ARN", "DETENT_BUCKETS"} {
		cmd := exec.CommandContext(t.Context(), "sh", script)
		cmd.Env = given
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), name+" is not set") {
			t.Errorf("without %s: %v\n%s", name, err, out)
		}
		given = append(given, name+"=http://127.0.0.1:1")
	}
}
