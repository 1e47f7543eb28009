package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	files "github.com/detent-ml/detent/nomad"
	"github.com/detent-ml/detent/nomad/servers"
)

// vaultState is the state of a cluster's Vault. Only the owner may read the file that contains it.
type vaultState struct {
	UnsealKey string `json:"unseal_key,omitempty"`
	Token     string `json:"token,omitempty"` // the root token
	S3Admin   S3Keys `json:"s3_admin"`
	S3Vault   S3Keys `json:"s3_vault"` // Vault signs in to the object store with these
	S3Signing string `json:"s3_signing"`
	Bucket    bool   `json:"bucket,omitempty"` // the bucket exists
}

func newVaultState() *vaultState {
	return &vaultState{S3Admin: newS3Keys(), S3Vault: newS3Keys(), S3Signing: rand.Text() + rand.Text()}
}

// vaultAuth is the path of Vault's JWT method, as nomad/vault/setup.sh makes it by default.
const vaultAuth = "jwt-nomad"

func (c vaultServer) url() string { return c.localURL(c.state.Ports[portVault]) }

// block is the vault block of Nomad's agents.
func (c vaultServer) block() string {
	if c.state.Vault == nil {
		return ""
	}
	_, _, tls := c.nomad().tls()
	return fmt.Sprintf(`
vault {
  enabled               = true
  address               = %q
  jwt_auth_backend_path = %q
%s
  default_identity {
    aud = ["vault.io"]
    ttl = "1h"
  }
}
`, c.url(), vaultAuth, tls)
}

// agent is a single Vault server with its data in files. It is not a development server, which
// loses all data when it ends. vaultReady initializes and unseals it.
func (c vaultServer) agent(ctx context.Context, report *servers.Reporter) (agent, error) {
	binary, err := c.program(ctx, "vault", report)
	if err != nil {
		return agent{}, err
	}
	if err := c.giveFreePorts(portVault, portVault+"-cluster"); err != nil {
		return agent{}, err
	}
	listener := map[string]any{"address": fmt.Sprintf("127.0.0.1:%d", c.state.Ports[portVault]),
		"cluster_address": fmt.Sprintf("127.0.0.1:%d", c.state.Ports[portVault+"-cluster"]), "tls_disable": true}
	c.tls(listener)
	config, err := json.MarshalIndent(map[string]any{
		"storage":       map[string]any{"file": map[string]string{"path": c.path(partVault, "data")}},
		"api_addr":      c.url(),
		"disable_mlock": true,
		"log_level":     "info",
		"listener":      map[string]any{"tcp": listener},
	}, "", "  ")
	return agent{name: partVault, title: "Vault", binary: binary, configFile: "vault.json", config: config, ports: []string{portVault},
		args:  func(file string) []string { return []string{"server", "-config=" + file} },
		ready: c.ready}, err
}

// ready reports whether Vault is ready. It initializes Vault the first time, and unseals it after
// each start, with the key in the state file.
func (c vaultServer) ready(ctx context.Context) error {
	var status struct {
		Initialized, Sealed bool
	}
	if err := c.call(ctx, http.MethodGet, "sys/seal-status", nil, &status); err != nil {
		return err
	}
	if !status.Initialized {
		var made struct {
			Keys  []string `json:"keys_base64"`
			Token string   `json:"root_token"`
		}
		if err := c.call(ctx, http.MethodPut, "sys/init", map[string]int{"secret_shares": 1, "secret_threshold": 1}, &made); err != nil {
			return err
		}
		if len(made.Keys) != 1 {
			return errors.New("the initialization of Vault returned no key")
		}
		c.state.Vault.UnsealKey, c.state.Vault.Token = made.Keys[0], made.Token
		if err := c.save(); err != nil {
			return err
		}
		status.Sealed = true
	}
	if status.Sealed {
		if err := c.call(ctx, http.MethodPut, "sys/unseal", map[string]string{"key": c.state.Vault.UnsealKey}, nil); err != nil {
			return err
		}
	}
	return c.call(ctx, http.MethodGet, "sys/health", nil, nil) // an error until Vault is active
}

// call makes a call with the token in the state.
func (c vaultServer) call(ctx context.Context, method, path string, in, out any) error {
	got, err := c.exchange(ctx, method, c.url()+"/v1/"+path, "X-Vault-Token", c.state.Vault.Token, in)
	if err != nil {
		return err
	}
	if got.code/100 != 2 {
		return fmt.Errorf("%s %s: Vault rejected the request: %s: %s", method, path, got.status, strings.TrimSpace(got.body))
	}
	if out == nil || got.body == "" {
		return nil
	}
	return json.Unmarshal([]byte(got.body), out)
}

// setUp runs the script that operators run, when Nomad's keys are available.
func (c vaultServer) setUp(ctx context.Context, report *servers.Reporter) error {
	task := report.Task("Vault's policies and roles")
	if err := c.runSetup(ctx); err != nil {
		task.Fail()
		return err
	}
	task.Done("set up")
	return nil
}

func (c vaultServer) runSetup(ctx context.Context) error {
	binary, err := c.program(ctx, "vault", nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.path(partVault), 0o755); err != nil {
		return err
	}
	err = fs.WalkDir(files.Vault, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.Vault.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(c.path(partVault, filepath.Base(path)), text, 0o644)
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", c.path(partVault, "setup.sh"))
	cmd.Env = append(agentEnv(), "PATH="+filepath.Dir(binary.Path)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+c.path(partVault), // the vault command must not write to the user's home
		"VAULT_ADDR="+c.url(), "VAULT_TOKEN="+c.state.Vault.Token,
		"DETENT_JWKS_URL="+c.nomad().url()+"/.well-known/jwks.json", "DETENT_ROLE_ARN="+s3RoleARN, "DETENT_BUCKETS="+s3Bucket,
		"DETENT_STS_ENDPOINT="+cmp.Or(c.state.STSEndpoint, localURL(c.state.Ports[portS3])), // a test's proxy, or the object store
		"DETENT_AWS_ACCESS_KEY="+c.state.Vault.S3Vault.AccessKey,
		"DETENT_AWS_SECRET_KEY="+c.state.Vault.S3Vault.SecretKey, "DETENT_REMOVE_ENTITIES=true")
	cmd.Env = append(cmd.Env, c.trust()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set up Vault: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// VaultToken is Vault's root token; "" for a cluster without Vault.
func (c *Cluster) VaultToken() string {
	if c.state.Vault == nil {
		return ""
	}
	return c.state.Vault.Token
}

// VaultURL is Vault's address; "" for a cluster without Vault.
func (c *Cluster) VaultURL() string {
	if c.state.Vault == nil {
		return ""
	}
	return c.vault().url()
}

// vars are the Vault variables of the master's job file, and its settings.
func (c vaultServer) vars(vars, env map[string]string) {
	if c.state.Vault == nil {
		return
	}
	vars["vault_addr"] = c.url()
	env["DETENT_VAULT_ROLE_ARN"] = s3RoleARN
	env["DETENT_VAULT_REMOVE_ENTITIES"] = "true"
}
