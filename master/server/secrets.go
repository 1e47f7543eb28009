package server

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/address"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/master/task"
)

// VaultConfig is the connection to Vault, which issues credentials for checkpoint storage;
// without an address no credentials are issued.
type VaultConfig struct {
	// Address of Vault's API.
	Address string `yaml:"address"`
	// Vault namespace.
	Namespace string `yaml:"namespace"`
	// File with the certificate authority, PEM.
	CAFile string `yaml:"ca_file"`
	// Token. One of `token`, `token_file` and `jwt_file` is required.
	Token string `yaml:"token"`
	// File with the token.
	TokenFile string `yaml:"token_file"`
	// File with the master's workload identity, with which the master signs in.
	JWTFile string `yaml:"jwt_file"`
	// Path of the auth method for Nomad's workload identities.
	AuthPath string `yaml:"auth_path"`
	// Vault role with which the master signs in.
	AuthRole string `yaml:"auth_role"`
	// Vault role with which tasks sign in.
	TaskRole string `yaml:"task_role"`
	// Path of the AWS secrets engine.
	AWSPath string `yaml:"aws_path"`
	// AWS role that Vault assumes for tasks.
	RoleARN string `yaml:"role_arn"`
	// Role of the AWS secrets engine with which the master reads checkpoints for downloads.
	ReaderRole string `yaml:"reader_role"`
	// Lifetime of credentials, 15m to 12h.
	TTL Duration `yaml:"ttl"`
	// Path of the secret in version 2 of the kv engine whose fields are a credentials file for Google Cloud Storage, such as `secret/data/detent/gcs`.
	GCSSecret string `yaml:"gcs_path"`
	// Path of the secret in version 2 of the kv engine with a `credential` or a `connection_string` for Azure, such as `secret/data/detent/azure`.
	AzureSecret string `yaml:"azure_path"`
	// Remove the Vault entities of jobs that have ended.
	RemoveEntities bool `yaml:"remove_entities"`
	// Secrets that users may mount in their tasks ([secrets](../secrets.md)): a list of
	// `{name, path, keys, workspaces, users}`. The path is that of a secret in version 2 of the kv
	// engine, such as `secret/data/vision/tracker`. Who may mount it: in `workspaces` (names, or
	// `*` for all) those who may start tasks there, or the `users`; with both, these users in these
	// workspaces. Without `keys` all keys may be mounted.
	Secrets []UserSecretConfig `yaml:"secrets"`
}

// UserSecretConfig is a secret that users may mount.
type UserSecretConfig struct {
	// Name by which users mount the secret. Required and unique.
	Name string `yaml:"name"`
	// Path of the secret in version 2 of the kv engine.
	Path string `yaml:"path"`
	// Keys that may be mounted. By default all.
	Keys []string `yaml:"keys"`
	// Names of workspaces, or `*` for all.
	Workspaces []string `yaml:"workspaces"`
	// Names of users.
	Users []string `yaml:"users"`
}

// Limits of the secrets that users may mount.
const (
	maxUserSecrets = 1000
	maxSecretNames = 1000 // of keys, workspaces or users of one secret
)

// checkSecrets validates the secrets that users may mount.
func (v *VaultConfig) checkSecrets(k *checker) {
	if len(v.Secrets) > 0 && v.Address == "" {
		k.fail("vault.secrets", "requires vault.address: the secrets are in Vault")
	}
	if len(v.Secrets) > maxUserSecrets {
		k.fail("vault.secrets", "expected at most %d secrets, found %d", maxUserSecrets, len(v.Secrets))
		return
	}
	seen := map[string]bool{}
	for i, s := range v.Secrets {
		at := fmt.Sprintf("vault.secrets[%d]", i)
		switch {
		case !expconf.IsSecretName(s.Name):
			k.fail(at+".name", "expected letters, digits, dots, dashes and underscores, up to 128, found %q", s.Name)
		case seen[s.Name]:
			k.fail(at+".name", "every secret needs a name of its own, found %q twice", s.Name)
		}
		seen[s.Name] = true
		if !kvPath.MatchString(s.Path) {
			k.fail(at+".path", "expected the path of a secret in version 2 of the kv engine, such as secret/data/vision/tracker, found %q", s.Path)
		}
		if len(s.Workspaces)+len(s.Users) == 0 {
			k.fail(at, "nobody may mount it: name workspaces (* for all), users, or both")
		}
		for _, list := range []struct {
			key   string
			names []string
			bad   func(string) bool
		}{
			{"keys", s.Keys, func(n string) bool { return !expconf.IsSecretName(n) }},
			{"workspaces", s.Workspaces, func(n string) bool { return n == "" }},
			{"users", s.Users, func(n string) bool { return n == "" || n == task.EveryWorkspace }},
		} {
			if len(list.names) > maxSecretNames {
				k.fail(at+"."+list.key, "expected at most %d names, found %d", maxSecretNames, len(list.names))
			} else if j := slices.IndexFunc(list.names, list.bad); j >= 0 {
				k.fail(fmt.Sprintf("%s.%s[%d]", at, list.key, j), "expected a name, found %q", list.names[j])
			}
		}
	}
}

// userSecrets are the secrets that users may mount.
func (v *VaultConfig) userSecrets() task.Secrets {
	return each.Of(v.Secrets, func(s UserSecretConfig) task.Secret { return task.Secret(s) })
}

// WebIdentityConfig lets tasks sign in to S3 with their Nomad workload identities, if the store
// trusts Nomad.
type WebIdentityConfig struct {
	// AWS role that tasks assume.
	RoleARN string `yaml:"role_arn"`
	// Audience of the workload identities.
	Audience string `yaml:"audience"`
	// Address of the store's STS, if the store is not AWS.
	STSEndpoint string `yaml:"sts_endpoint"`
}

// The limits of STS for the lifetime of credentials.
const (
	minTTL = 15 * time.Minute
	maxTTL = 12 * time.Hour
)

// kvPath matches a path in version 2 of the kv engine, in the form of Vault's API.
var kvPath = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*/data(/[A-Za-z0-9_-]+)+$`)

// fill sets the defaults.
func (v *VaultConfig) fill() {
	v.AuthPath = cmp.Or(v.AuthPath, "jwt-nomad")
	v.AuthRole = cmp.Or(v.AuthRole, "det-master")
	v.TaskRole = cmp.Or(v.TaskRole, "det-task")
	v.AWSPath = cmp.Or(v.AWSPath, "aws")
	v.ReaderRole = cmp.Or(v.ReaderRole, "detent-reader")
	v.TTL = cmp.Or(v.TTL, Duration(time.Hour))
}

func (v *VaultConfig) check(k *checker) {
	v.checkSecrets(k)
	if v.Address == "" {
		return
	}
	k.url("vault.address", v.Address)
	ways := 0
	for _, given := range []string{v.Token, v.TokenFile, v.JWTFile} {
		if given != "" {
			ways++
		}
	}
	if ways != 1 {
		k.fail("vault", "expected exactly one of token, token_file and jwt_file, found %d", ways)
	}
	for name, path := range map[string]string{"vault.gcs_path": v.GCSSecret, "vault.azure_path": v.AzureSecret} {
		if path != "" && !kvPath.MatchString(path) {
			k.fail(name, "expected the path of a secret in version 2 of the kv engine, such as secret/data/detent/storage, found %q", path)
		}
	}
	if v.RoleARN == "" && (v.GCSSecret+v.AzureSecret != "" || len(v.Secrets) > 0) {
		return // Vault issues no credentials for S3
	}
	if !strings.HasPrefix(v.RoleARN, "arn:") {
		k.fail("vault.role_arn", "expected the ARN of the role that tasks assume, such as arn:aws:iam::123456789012:role/det-checkpoints, found %q", v.RoleARN)
	}
	if ttl := time.Duration(v.TTL); ttl < minTTL || ttl > maxTTL {
		k.fail("vault.ttl", "expected %s to %s, the lifetimes that STS supports, found %s", minTTL, maxTTL, ttl)
	}
}

func (w *WebIdentityConfig) check(k *checker) {
	switch {
	case w.RoleARN == "":
		if w.STSEndpoint != "" {
			k.fail("web_identity.role_arn", "is required: the role that tasks assume")
		}
	case w.STSEndpoint != "":
		k.url("web_identity.sts_endpoint", w.STSEndpoint)
	}
}

// newVault makes the client of Vault; nil without Vault.
func (m *master) newVault() (*secrets.Vault, error) {
	if m.cfg.Vault.Address == "" {
		return nil, nil
	}
	return secrets.New(m.vaultConfig())
}

func (m *master) vaultConfig() secrets.Config {
	v := m.cfg.Vault
	return secrets.Config{Address: v.Address, Namespace: v.Namespace, CAFile: v.CAFile, Token: v.Token, TokenFile: v.TokenFile,
		JWTFile: v.JWTFile, AuthPath: v.AuthPath, AuthRole: v.AuthRole, Engine: v.AWSPath, RoleARN: v.RoleARN, ReaderRole: v.ReaderRole,
		TTL: time.Duration(v.TTL), RemoveEntities: v.RemoveEntities, ClusterID: m.clusterID, Log: m.log,
		Processes: func(ctx context.Context, job string) ([]string, error) {
			return attempts.NomadAllocations(ctx, m.db, job)
		},
		Changed: func() { m.bus.Publish(lifecycle.TopicIntent) }}
}

// locationOf is the location of a storage in the form that roles of Vault use.
func locationOf(p task.Location) secrets.Location { return secrets.Location(p) }

func locationsOf(list []task.Location) []secrets.Location {
	return each.Of(list, locationOf)
}

// checkStorage reports whether credentials can be issued for a storage.
func (m *master) checkStorage(s expconf.CheckpointStorage) error {
	if s.Type == expconf.Azure {
		_, err := azureFields(s).Account()
		return err
	}
	if s.Type != expconf.S3 || !m.site.SignIn.Needed(s) {
		return nil
	}
	_, err := secrets.Policy(m.clusterID, secrets.Grant{Write: []secrets.Location{locationOf(task.LocationOf(s))}})
	return err
}

// granter adapts Vault to the control loop's interface.
type granter struct {
	*secrets.Vault
	task.SignIn
	db *database.DB
}

func (g granter) Grant(ctx context.Context, allocationID, role string, grants task.Grants) error {
	return g.Vault.Grant(ctx, jobspecs.JobID(allocationID), role,
		secrets.Grant{Write: locationsOf(grants.Write), Read: locationsOf(grants.Read), Delete: locationsOf(grants.Delete)})
}

func (g granter) Login(ctx context.Context, path string) (username, password string, err error) {
	l, err := g.Vault.Login(ctx, path)
	return l.Username, l.Password, err
}

func (g granter) Granted(allocationID string) bool {
	return g.Vault.Granted(jobspecs.JobID(allocationID))
}

func (g granter) Revoke(ctx context.Context, allocationID string) error {
	return g.Vault.Revoke(ctx, jobspecs.JobID(allocationID))
}

func (g granter) Sweep(ctx context.Context) (int, error) {
	return g.Vault.Sweep(ctx, jobspecs.JobPrefix(), func(ctx context.Context, jobs []string) ([]string, error) {
		return attempts.EndedJobs(ctx, g.db, jobs)
	})
}

// withoutKeys returns a part of a configuration without credentials.
func withoutKeys(part any) any {
	switch v := part.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if slices.Contains([]string{"access_key", "secret_key", "connection_string", "credential", "password", "auth", "identitytoken", "registrytoken"}, key) {
				value = hidden
			}
			if text, isText := value.(string); isText && (key == "account_url" || key == "endpoint_url") {
				value = address.Plain(text)
			}
			out[key] = withoutKeys(value)
		}
		return out
	case []any:
		return each.Of(v, withoutKeys)
	}
	return part
}
