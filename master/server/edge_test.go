package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/task"
)

// The master checks a configuration against its pool again when it creates the job.
func TestASubmissionIsHeldAgainstItsPoolAgain(t *testing.T) {
	m := configured(t, `
database: postgres://x
resource_pools:
  - {name: open, driver: raw_exec}
  - {name: shared, driver: exec}
`)
	config := json.RawMessage(`{"description":"d","entrypoint":["true"],"bind_mounts":[{"host_path":"/","container_path":"/x"}],"resources":{"slots":0},"environment":{}}`)
	a := read(t, task.Row{ID: "t.1", TaskID: "t", Type: "COMMAND", TaskConfig: config, Pool: "open"})
	if _, err := m.site.Job(a, nil, m.pools.Named("open")); err != nil {
		t.Errorf("in the pool it was submitted to: %v", err)
	}
	if _, err := m.site.Job(a, nil, m.pools.Named("shared")); err == nil || !strings.Contains(err.Error(), "cannot run in pool shared") || !strings.Contains(err.Error(), "bind_mounts") {
		t.Errorf("in a pool without mounts: %v", err)
	}
}

func TestWhatAMasterAcceptsFromOutside(t *testing.T) {
	cfg := Defaults()
	cfg.Database, cfg.Listen, cfg.SharedRawExec = "postgres://x", "0.0.0.0:8080", true
	cfg.PublicURL, cfg.TasksDomain = "https://detent.example", "tasks.example"
	cfg.Hosts, cfg.TrustedProxies = []string{"*.team.example"}, []string{"10.0.0.0/8", "192.0.2.1"}
	cfg.CheckpointStorage = map[string]any{"type": "shared_fs", "host_path": "/mnt/checkpoints"}
	cfg.fill()
	if problems := cfg.check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := strings.Join(cfg.hosts(), " "); !strings.Contains(got, "detent.example") || !strings.Contains(got, "*.team.example") || !strings.Contains(got, "*.tasks.example") {
		t.Errorf("hosts: %s", got)
	}
	if roots, err := cfg.checkpointRoots(); err != nil || strings.Join(roots, " ") != "/mnt/checkpoints" {
		t.Errorf("roots: %v %v", roots, err)
	}
	cfg.CheckpointRoots = []string{"/a"}
	if roots, err := cfg.checkpointRoots(); err != nil || strings.Join(roots, " ") != "/a" {
		t.Errorf("roots: %v %v", roots, err)
	}
	if got := cfg.trusted(); len(got) != 2 || got[1].Bits() != 32 {
		t.Errorf("trusted: %v", got)
	}
	cfg.InitialPassword, cfg.Spool.MaxMB, cfg.CheckpointRoots = "short", 5, []string{"relative"}
	cfg.TrustedProxies, cfg.Hosts = []string{"proxy.example"}, []string{"a*b"}
	cfg.CheckpointEndpoints = []string{"store.example"}
	problems := strings.Join(cfg.check(), "\n")
	for _, key := range []string{"initial_password", "spool.max_mb", "checkpoint_roots", "checkpoint_endpoints", "trusted_proxies", "hosts"} {
		if !strings.Contains(problems, key+":") {
			t.Errorf("%s is not refused: %s", key, problems)
		}
	}
	m := &master{cfg: cfg, shape: newLogShape(cfg.LogLevel)}
	m.cfg.InitialPassword = "a secret of ours"
	if shown := fmt.Sprintf("%+v", m.redacted()); strings.Contains(shown, "a secret of ours") {
		t.Errorf("the initial password is shown: %s", shown)
	}
	for c, want := range map[[2]string]bool{{"127.0.0.1", "localhost"}: true, {"127.0.0.1", "127.0.0.1"}: true, {"::1", "::1"}: true,
		{"127.0.0.1", "evil.example"}: false, {"127.0.0.1", "192.0.2.7"}: false, {"192.0.2.7", "localhost"}: false} {
		if got := m.blankLogin(c[0], c[1]); got != want {
			t.Errorf("a blank password from %s for %s: %v", c[0], c[1], got)
		}
	}
}

// TestASpoolInMemoryIsWarnedAbout: a tmpfs is the master's memory, and a disk is not.
func TestASpoolInMemoryIsWarnedAbout(t *testing.T) {
	said := func(folder string) string {
		var out bytes.Buffer
		m := &master{cfg: Defaults(), log: slog.New(slog.NewTextHandler(&out, nil))}
		m.cfg.Spool.Folder = folder
		m.checkSpool()
		return out.String()
	}
	if got := said(t.TempDir() + "/none"); !strings.Contains(got, "spool.folder") || !strings.Contains(got, "no such file") {
		t.Errorf("a folder that is missing: %s", got)
	}
	tried := 0
	for _, folder := range []string{t.TempDir(), "/dev/shm"} {
		memory, err := spool.InMemory(folder)
		if err != nil {
			continue
		}
		tried++
		if got := said(folder); strings.Contains(got, "tmpfs") != memory || strings.Contains(got, folder) != memory {
			t.Errorf("%s: %s", folder, got)
		}
	}
	if tried == 0 {
		t.Skip("no folder to try")
	}
}
