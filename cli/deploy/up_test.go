package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// TestFlagsOfUp: each flag of cluster-up changes the cluster that it starts, or says that it has no effect.
func TestFlagsOfUp(t *testing.T) {
	dir := install(t, "det-master", "det-runner", "det-gpu", "python3", "other")
	t.Setenv("PATH", dir)
	t.Setenv("DETENT_STATE", t.TempDir())
	other, storage, config := filepath.Join(dir, "other"), filepath.Join(dir, "storage"), filepath.Join(dir, "master.yaml")
	if err := errors.Join(os.WriteFile(config, []byte("log_level: debug\n"), 0o600), os.Mkdir(filepath.Join(dir, "determined"), 0o700)); err != nil {
		t.Fatal(err)
	}
	var nodes []local.Client // after the first
	// up is what a line starts, and what it says of flags.
	up := func(line string) (o local.Options, gpus local.GPUs, python, said string) {
		t.Helper()
		io, _, errs := term.Buffers("")
		cmd := newUp(&app.App{IO: io, Now: time.Now}, func(ctx context.Context, _ *app.App, got upOptions) error {
			if got.determined.noGPU {
				got.gpus = 0
			}
			var err error
			report := servers.NewReporter(errs)
			got.determined.say(report)
			if gpus, err = got.findGPUs(ctx, report); err != nil {
				return err
			}
			if got.python != "" {
				if python, err = got.tasksPython(ctx, report); err != nil {
					return err
				}
			}
			nodes = got.further()
			o, err = got.options(ctx)
			return err
		})
		cmd.SetArgs(strings.Fields(line))
		cmd.SetErr(errs)
		cmd.Flags().SetOutput(errs) // what pflag says of --acl
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return o, gpus, python, errs.String()
	}
	for line, see := range map[string]func(o local.Options, gpus local.GPUs, python string) bool{
		"--master-port 9":                       func(o local.Options, _ local.GPUs, _ string) bool { return o.Ports.Master == 9 },
		"--slots 3":                             func(o local.Options, _ local.GPUs, _ string) bool { return o.Slots == 3 },
		"--master-env A=b":                      func(o local.Options, _ local.GPUs, _ string) bool { return o.Master.Env["A"] == "b" },
		"--master-binary " + other:              func(o local.Options, _ local.GPUs, _ string) bool { return o.Master.Binary == other },
		"--runner-binary " + other:              func(o local.Options, _ local.GPUs, _ string) bool { return o.Master.Runner == other },
		"--db postgres://d":                     func(o local.Options, _ local.GPUs, _ string) bool { return o.DSN == "postgres://d" },
		"--master-config-path " + config:        func(o local.Options, _ local.GPUs, _ string) bool { return o.Master.Config == "log_level: debug\n" },
		"--harness " + dir:                      func(o local.Options, _ local.GPUs, _ string) bool { return o.Master.Env["DETENT_HARNESS_PATH"] == dir },
		"--no-consul":                           func(o local.Options, _ local.GPUs, _ string) bool { return o.NoConsul },
		"--vault":                               func(o local.Options, _ local.GPUs, _ string) bool { return o.Vault },
		"--cluster-name lab":                    func(o local.Options, _ local.GPUs, _ string) bool { return o.Name == "lab" },
		"--state-dir /s":                        func(o local.Options, _ local.GPUs, _ string) bool { return o.StateDir == "/s" },
		"--gpus 3":                              func(_ local.Options, g local.GPUs, _ string) bool { return g.Simulated == 3 },
		"--no-gpu":                              func(_ local.Options, g local.GPUs, _ string) bool { return g.None },
		"--gpus 3 --gpu-plugin-binary " + other: func(_ local.Options, g local.GPUs, _ string) bool { return g.Binary == other },
		"--python " + other:                     func(_ local.Options, _ local.GPUs, python string) bool { return python == other },
		"--initial-user-password a-secret-of-ours": func(o local.Options, _ local.GPUs, _ string) bool {
			return o.Master.Env[local.InitialPassword] == "a-secret-of-ours"
		},
		"--storage-host-path " + storage: func(o local.Options, _ local.GPUs, _ string) bool {
			return o.Master.Env["DETENT_CHECKPOINT_STORAGE"] == fmt.Sprintf(`{"host_path":%q,"type":"shared_fs"}`, storage)
		},
	} {
		o, gpus, python, said := up(line)
		plain, none, _, _ := up("")
		if !see(o, gpus, python) || see(plain, none, "") || strings.Contains(said, "no effect") {
			t.Errorf("%s changes nothing, or says so: %+v %+v %q %s", line, o, gpus, python, said)
		}
	}
	for _, line := range []string{"--det-version 1", "--db-password x", "--image-repo-prefix x", "--auto-work-dir x", "--no-autorestart", "--enterprise-edition", "--gpu"} {
		flag, _, _ := strings.Cut(line, " ")
		if _, _, _, said := up(line); !strings.Contains(said, flag+" has no effect: ") {
			t.Errorf("%s says %q", line, said)
		}
	}
	for line, want := range map[string]string{"": "[]", "--agents 1": "[]", "--agents 3": "[agent2 0 agent3 0]", "--agents 2 --slots 5": "[agent2 5]"} {
		up(line)
		got := []any{}
		for _, n := range nodes {
			got = append(got, n.Name, n.Slots)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q starts %v, want %s", line, got, want)
		}
	}
	if _, _, _, said := up("--acl"); !strings.Contains(said, "access control in Nomad is always on") {
		t.Errorf("--acl says %q", said)
	}
}

// TestPyTorchIsInstalled: --pytorch needs a Python with PyTorch, and does not fall back to that of the system.
func TestPyTorchIsInstalled(t *testing.T) {
	file := filepath.Join(install(t, "file"), "file")
	t.Setenv("XDG_CACHE_HOME", file) // nothing can be installed there
	t.Setenv("HOME", file)
	for line, want := range map[string]string{"": "", "--pytorch": "--pytorch: PyTorch could not be installed"} {
		cmd := newUp(&app.App{}, func(ctx context.Context, _ *app.App, o upOptions) error {
			_, err := o.tasksPython(ctx, servers.NewReporter(io.Discard))
			return err
		})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.ExecuteContext(t.Context()); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
