package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/fault"
)

// install makes programs that can be run, and returns their folder.
func install(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOptions(t *testing.T) {
	dir := install(t, "det-master", "det-runner")
	t.Setenv("PATH", dir)
	harness := t.TempDir()
	if err := os.Mkdir(filepath.Join(harness, "determined"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "master.yaml")
	if err := os.WriteFile(config, []byte("log_level: debug\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := upOptions{where: where{name: "x"}, agents: 1, masterPort: 9, masterConfig: config, harness: harness,
		masterEnv: []string{"A=b=c"}, slots: 3}
	got, err := o.options(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "x" || got.Ports.Master != 9 || got.Slots != 3 || got.Master.Config != "log_level: debug\n" ||
		got.Master.Binary != filepath.Join(dir, "det-master") || got.Master.Runner != filepath.Join(dir, "det-runner") ||
		got.Master.Env["A"] != "b=c" || got.Master.Env["DETENT_HARNESS_PATH"] != harness {
		t.Errorf("%+v", got)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	dir := install(t, "det-master", "det-runner")
	t.Setenv("PATH", dir)
	good := upOptions{agents: 1}
	for name, c := range map[string]struct {
		change  func(*upOptions)
		problem string
	}{
		"no nodes":       {func(o *upOptions) { o.agents = 0 }, "--agents"},
		"no such binary": {func(o *upOptions) { o.binary = "/does/not/exist" }, "--master-binary /does/not/exist cannot be executed"},
		"no such config": {func(o *upOptions) { o.masterConfig = "/does/not/exist" }, "cannot read the master's configuration"},
		"no harness":     {func(o *upOptions) { o.harness = dir }, "has no folder determined in it"},
		"no value":       {func(o *upOptions) { o.masterEnv = []string{"A"} }, "not of the form NAME=VALUE"},
	} {
		o := good
		c.change(&o)
		if _, err := o.options(t.Context()); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := good.options(t.Context()); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "det-master is neither beside det nor on PATH") {
		t.Errorf("nothing installed: %v", err)
	}
}

func TestNoClusterYet(t *testing.T) {
	t.Setenv("DETENT_STATE", t.TempDir())
	for _, line := range []string{"status", "cluster-down", "logs", "reset"} {
		io, _, _ := term.Buffers("")
		cmd := New(&app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"local", line})
		err := cmd.ExecuteContext(t.Context())
		if exit.Code(err) != exit.NotFound || !strings.Contains(err.Error(), "start it with `det deploy local cluster-up`") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
