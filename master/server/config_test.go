package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func load(t *testing.T, file string, env, flags []string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(path, env, flags)
}

// TestEmptyVariables: the job's template writes an empty variable for a secret that nobody has set, and the file has it.
func TestEmptyVariables(t *testing.T) {
	c, err := load(t, "database: postgres://x\nwebhooks: {signing_key: k}\n", []string{"DETENT_WEBHOOKS_SIGNING_KEY="}, nil)
	if err != nil || c.Webhooks.SigningKey != "k" {
		t.Errorf("the key is %q: %v", c.Webhooks.SigningKey, err)
	}
	if c, err = load(t, "database: postgres://x\nwebhooks: {signing_key: k}\n", []string{"DETENT_WEBHOOKS_SIGNING_KEY=other"}, nil); err != nil || c.Webhooks.SigningKey != "other" {
		t.Errorf("the key is %q: %v", c.Webhooks.SigningKey, err)
	}
}

func TestTheLaterWins(t *testing.T) {
	cfg, err := load(t, "cluster_name: file\nlog_level: debug\nnomad: {namespace: ml}\ndatabase: postgres://a/b\nstop_after: 45s\n",
		[]string{"DETENT_CLUSTER_NAME=env", "DETENT_NOMAD_ADDRESS=http://n:4646", "DETENT_BINARY=/x", "PATH=/bin"},
		[]string{"cluster_name=flag", "nomad.region=eu", "nomad.datacenters=a,b"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.ClusterName != "flag" || cfg.LogLevel != "debug" || cfg.Nomad.Namespace != "ml" || cfg.Nomad.Address != "http://n:4646" ||
		cfg.Nomad.Region != "eu" || len(cfg.Nomad.Datacenters) != 2 || cfg.Listen != "127.0.0.1:8080" || time.Duration(cfg.StopAfter) != 45*time.Second {
		t.Errorf("%+v", cfg)
	}
	if len(cfg.Pools) != 1 || cfg.Pools[0].Driver != "raw_exec" || cfg.DefaultAuxPool != "default" || cfg.PublicURL != "http://127.0.0.1:8080" {
		t.Errorf("what follows from the rest: %+v", cfg)
	}
}

func TestRawExecIsForOneMachine(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b", "DETENT_LISTEN=0.0.0.0:8080"}
	if _, err := load(t, "", env, nil); err == nil || !strings.Contains(err.Error(), "raw_exec is for one person's machine") {
		t.Errorf("a shared raw_exec pool: %v", err)
	}
	for _, good := range []string{"shared_raw_exec: true", "resource_pools: [{name: a, driver: exec}]"} {
		if _, err := load(t, good, env, nil); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestCommentsSayNothing(t *testing.T) {
	cfg, err := load(t, "# everything by default\n", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
	if err != nil || cfg.LogLevel != "info" {
		t.Errorf("%+v %v", cfg, err)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(t, `listen: nowhere
log_level: loud
resource_pools:
  - {name: a, driver: qemu}
  - {name: a, slots: device}
default_compute_resource_pool: b
checkpoint_storage: {type: shared_fs}
stop_after: soon
`, []string{"DETENT_NONSENSE=1", "DETENT_DATABASE_CONNS=many"}, []string{"x.y=1"})
	if err == nil {
		t.Fatal("a wrong configuration was accepted")
	}
	for _, want := range []string{"DETENT_NONSENSE: no such key", "DETENT_DATABASE_CONNS: expected a whole number", "--set x.y: no such key",
		"soon"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	_, err = load(t, "listen: nowhere\nlog_level: loud\nresource_pools:\n  - {name: a, driver: qemu}\n  - {name: a, slots: device}\n"+
		"default_compute_resource_pool: b\ncheckpoint_storage: {type: shared_fsx}\n", nil, nil)
	if err == nil {
		t.Fatal("a wrong configuration was accepted")
	}
	for _, want := range []string{"database: is missing", `listen: expected host:port, found "nowhere"`, "log_level: expected one of",
		"resource_pools[0].driver", "resource_pools[1].name", "resource_pools[1].device", `there is no pool "b"`, "checkpoint_storage.type: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}
