package server

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/about/risks"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// TestAMasterWarnsOfItsSettings: each of the ten reaches the log from the configuration and the pools of a master.
func TestAMasterWarnsOfItsSettings(t *testing.T) {
	said := &bytes.Buffer{}
	m := &master{cfg: Defaults(), log: slog.New(slog.NewTextHandler(said, nil))}
	m.cfg.Listen, m.cfg.PublicURL, m.cfg.BlankPasswords, m.cfg.Database = "0.0.0.0:8080", "http://10.0.0.1:8080", "always", "postgres://u:secret@10.0.0.2/detent"
	m.cfg.Nomad.WithoutACL, m.cfg.CheckpointStorage = true, map[string]any{"type": "s3", "bucket": "b", "access_key": "a", "secret_key": "the secret key"}
	m.pools = pool.Set{{Name: "raw", Driver: pool.RawExec}, {Name: "images", Driver: pool.Docker, Limits: &expconf.ContainerLimits{HostPaths: []string{"/"}}}}
	found, err := m.risks()
	if err != nil {
		t.Fatal(err)
	}
	m.warnOfRisks(found)
	want := []string{"without_acl", "blank_passwords", "resource_pools.driver", "resource_pools.docker", "database", "public_url", "checkpoint_storage", "security.authz.type", "tasks_domain", "resource_pools.network_mode"}
	if got := namesOf(found); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for _, name := range want {
		if strings.Count(said.String(), "setting="+name+"\n") != 1 {
			t.Errorf("the log has no warning about %s:\n%s", name, said)
		}
	}
	if strings.Contains(said.String(), "the secret key") || strings.Contains(said.String(), "u:secret") {
		t.Errorf("a warning contains a secret:\n%s", said)
	}
	m.cfg.Nomad.WithoutACL, m.cfg.BlankPasswords, m.cfg.Database = false, "never", "postgres://u@10.0.0.2/detent?sslmode=verify-full"
	m.cfg.PublicURL, m.cfg.WebIdentity.RoleARN, m.cfg.Security.Authz.Type, m.cfg.TasksDomain, m.pools = "https://detent.example.com", "arn:aws:iam::1:role/x", authzRoles, "tasks.example.com", nil
	if found, err = m.risks(); err != nil || len(found) != 0 {
		t.Errorf("a safe installation: %v, %v", found, err)
	}
}

// TestWarningsOfConsulAndSeveralNodes: Consul's setting counts where Consul is configured, and a network of the pool's own does not
// cover trials on several nodes.
func TestWarningsOfConsulAndSeveralNodes(t *testing.T) {
	m := &master{cfg: Defaults(), log: slog.New(slog.DiscardHandler)}
	m.cfg.Listen, m.cfg.Database, m.cfg.Consul.WithoutACL = "0.0.0.0:8080", "postgres://u@/detent", true
	m.pools = pool.Set{{Name: "images", Driver: pool.Docker, Network: "detent", SingleNode: true}}
	warned := func(setting string) bool {
		t.Helper()
		found, err := m.risks()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(namesOf(found), setting)
	}
	if m.cfg.Consul.Address = ""; warned("without_acl") {
		t.Error("a warning of Consul without Consul")
	}
	if m.cfg.Consul.Address = "http://127.0.0.1:8500"; !warned("without_acl") {
		t.Error("no warning of consul.without_acl")
	}
	if warned("resource_pools.network_mode") {
		t.Error("a warning of networks for a pool of single nodes with a network of its own")
	}
	if m.pools[0].SingleNode = false; !warned("resource_pools.network_mode") {
		t.Error("no warning of trials on several nodes")
	}
}

func namesOf(found []risks.Risk) (names []string) {
	for _, r := range found {
		names = append(names, r.Setting)
	}
	return names
}
